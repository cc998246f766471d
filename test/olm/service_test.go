//go:build e2e

package olm

import (
	"context"
	"maps"
	"net"
	"slices"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/prober"
)

const (
	// fallbackName is what the fallback Pods of all stories answer with.
	fallbackName = "fallback"
	// thePage is who answers with the page of a story, and pageSentence its sentence: a page does not
	// say who sends it.
	thePage      = "page"
	pageSentence = "Closed for a moment, as this story wants it."
	// templateName is where the operator looks for a PodTemplate by default.
	templateName = "critical-service-pod-template"
)

// service is a Service with its application, and what can be expected of it.
type service struct {
	*world
	object     *corev1.Service
	deployment *appsv1.Deployment
	// policy is the name of what protects it: a CriticalService, or, if its team does so, a
	// ServiceFallback.
	policy string
	byTeam bool
}

// service makes a Service with a running application of one Pod, which answers with the Service's name.
func (w *world) service(name string) *service {
	w.t.Helper()
	s := &service{
		world: w, policy: w.shops + "-" + name,
		object: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.shops, Name: name, Labels: labels{"critical": name}},
			Spec: corev1.ServiceSpec{
				Selector: labels{"app": name},
				Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
			},
		},
		deployment: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.shops, Name: name},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(1)),
				Selector: &metav1.LabelSelector{MatchLabels: labels{"app": name}},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels{"app": name}}, Spec: cluster.WebPod(demoImage, name, "--drain=2s")},
			},
		},
	}
	w.Expect(w.Create(w.ctx, s.object)).To(Succeed())
	w.Expect(w.Create(w.ctx, s.deployment)).To(Succeed())
	return s
}

// fallbackTemplate makes the PodTemplate from which fallback Pods are made by default.
func (w *world) fallbackTemplate() {
	w.t.Helper()
	w.Expect(w.Create(w.ctx, &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.operator, Name: templateName},
		Template:   corev1.PodTemplateSpec{Spec: cluster.WebPod(demoImage, fallbackName, "--status=503")},
	})).To(Succeed())
}

// critical declares the Service critical in version 1: its fallback is a Pod made on demand.
func (s *service) critical() *service {
	s.t.Helper()
	s.Expect(s.Create(s.ctx, &criticalv1.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: s.policy},
		Spec: criticalv1.CriticalServiceSpec{
			Namespace: s.object.Namespace, MatchLabels: []criticalv1.LabelMatch{{Key: "critical", Value: s.object.Name}},
		},
	})).To(Succeed())
	return s
}

// withPage declares the Service critical in version 2, with a page.
func (s *service) withPage() *service {
	s.t.Helper()
	s.Expect(s.Create(s.ctx, &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: s.policy},
		Spec: criticalv2.CriticalServiceSpec{
			Namespaces:      []string{s.object.Namespace},
			ServiceSelector: metav1.LabelSelector{MatchLabels: s.object.Labels},
			ProtectionSpec:  criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{Message: pageSentence}}},
		},
	})).To(Succeed())
	return s
}

// withTeam lets an editor of the namespace protect the Service by a ServiceFallback, with a page.
func (s *service) withTeam() *service {
	s.t.Helper()
	s.byTeam = true
	s.Expect(s.editor().Create(s.ctx, &criticalv2.ServiceFallback{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.object.Namespace, Name: s.policy},
		Spec: criticalv2.ServiceFallbackSpec{
			Services:       []string{s.object.Name},
			ProtectionSpec: criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{Message: pageSentence}}},
		},
	})).To(Succeed())
	return s
}

// loses takes all Pods of the application away, and returns gives them back.
func (s *service) loses() *service   { return s.scaled(0) }
func (s *service) returns() *service { return s.scaled(1) }

func (s *service) scaled(replicas int32) *service {
	s.t.Helper()
	s.Expect(s.Scale(s.ctx, s.deployment, replicas)).To(Succeed())
	return s
}

// becomes waits for a state in the status.
func (s *service) becomes(state criticalv2.ServiceState) *service {
	s.t.Helper()
	s.Eventually(func() criticalv2.ServiceStatus {
		var policy criticalv2.Policy = &criticalv2.CriticalService{}
		key := client.ObjectKey{Name: s.policy}
		if s.byTeam {
			policy, key.Namespace = &criticalv2.ServiceFallback{}, s.object.Namespace
		}
		if err := s.Get(s.ctx, key, policy); err != nil {
			return criticalv2.ServiceStatus{Message: err.Error()}
		}
		if detail := policy.Observed().DetailOf(s.object.Namespace, s.object.Name); detail != nil {
			return *detail
		}
		return criticalv2.ServiceStatus{Message: "what protects it does not know of it"}
	}).Should(HaveField("State", state), "status of Service %s", s.object.Name)
	return s
}

// answeredBy waits until all requests of a second are answered by who: one request would not do, since
// they go here and there while proxies follow a change.
func (s *service) answeredBy(who string) *service {
	s.t.Helper()
	s.Eventually(func(g Gomega) {
		second, cancel := context.WithTimeout(s.ctx, time.Second)
		defer cancel()
		seen := map[string]bool{}
		g.Expect(s.prober(20).Run(second, func(r prober.Result) { seen[r.By+string(r.Fault)] = true })).To(Succeed())
		g.Expect(slices.Sorted(maps.Keys(seen))).To(HaveExactElements(who))
	}).Should(Succeed(), "requests to Service %s", s.object.Name)
	return s
}

// isRefused waits until requests are refused.
func (s *service) isRefused() {
	s.t.Helper()
	s.answeredBy(string(prober.Refused))
}

func (s *service) prober(rate int) prober.Prober {
	return prober.Prober{
		URL: "http://" + net.JoinHostPort(s.object.Spec.ClusterIP, "80") + "/", Rate: rate,
		// Long, because on a busy machine an answer may be late, and late is not lost.
		Timeout: 5 * time.Second, Marks: labels{pageSentence: thePage},
	}
}

// standsIn takes the application away, and waits until who answers in its place.
func (s *service) standsIn(who string) *service {
	s.t.Helper()
	return s.loses().becomes(criticalv2.StateCovered).answeredBy(who)
}

// recovers gives the application back, and waits until it answers.
func (s *service) recovers() *service {
	s.t.Helper()
	return s.returns().becomes(criticalv2.StateArmed).answeredBy(s.object.Name)
}

// closes removes the Service and its application.
func (s *service) closes() {
	s.t.Helper()
	s.remove(s.deployment, soon)
	s.remove(s.object, soon)
}

// fallbacks are the Pods that stand in for the Service.
func (s *service) fallbacks(g Gomega) []corev1.Pod {
	var pods corev1.PodList
	g.Expect(s.List(s.ctx, &pods, client.InNamespace(s.object.Namespace),
		client.MatchingLabels{criticalv2.LabelFallbackFor: s.object.Name})).To(Succeed())
	return pods.Items
}
