package stories_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// refusal is something that the API server may refuse: how to bring it about, and
// how to end it.
type refusal struct {
	forbid, allow func(w *world)
	// message is a part of what the API server says.
	message string
}

// begin forbids, and waits until the API server knows: its admission plug-ins
// read caches of their own.
func (r refusal) begin(w *world) {
	w.T.Helper()
	r.forbid(w)
	w.Eventually(func() error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: w.Namespace}, Spec: testenv.PodSpec()}
		return w.Cluster.Client.Create(w.T.Context(), pod, client.DryRunAll)
	}).Should(MatchError(ContainSubstring(r.message)))
}

var refusals = map[string]refusal{
	"Pod Security": {
		forbid: func(w *world) {
			w.label(map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
		},
		allow:   func(w *world) { w.label(nil) },
		message: `violates PodSecurity "restricted:latest"`,
	},
	"a quota": {
		forbid: func(w *world) {
			w.Forbid(corev1.ResourcePods)
		},
		allow: func(w *world) {
			w.Delete(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: w.Namespace}})
		},
		message: "exceeded quota: none",
	},
	"a limit range": {
		forbid: func(w *world) {
			w.Create(&corev1.LimitRange{
				ObjectMeta: metav1.ObjectMeta{Name: "limits"},
				Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
					Type: corev1.LimitTypePod, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
				}}},
			})
		},
		allow: func(w *world) {
			w.Delete(&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "limits", Namespace: w.Namespace}})
		},
		message: "maximum memory usage per Pod is 1Gi",
	},
	"an admission webhook that is dead": {
		forbid: func(w *world) {
			w.Expect(w.Cluster.Client.Create(w.T.Context(), deadWebhook(w))).To(Succeed())
			w.T.Cleanup(func() {
				_ = w.Cluster.Client.Delete(context.Background(), deadWebhook(w)) // It may be gone already.
			})
		},
		allow:   func(w *world) { w.Expect(w.Cluster.Client.Delete(w.T.Context(), deadWebhook(w))).To(Succeed()) },
		message: "failed calling webhook",
	},
}

// deadWebhook must be asked about every new Pod of the world, and never answers.
func deadWebhook(w *world) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "dead-" + w.Namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "dead.example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")},
			FailurePolicy:           new(admissionregistrationv1.Fail),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.Namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
}

func (w *world) label(labels map[string]string) {
	w.T.Helper()
	testenv.Update(w.World, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}, func(n *corev1.Namespace) { n.Labels = labels })
}

func TestADeniedFallbackIsReportedOnceAndTriedAgainAfter(t *testing.T) {
	t.Parallel()
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			w := sideBySide(t)
			policy := w.policy("shop")
			refusal.begin(w)
			service := w.down("web")

			w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/CreateDenied"))
			w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("False/CreateDenied"))
			w.Expect(w.detailOf(policy, service).Message).To(And(
				ContainSubstring(refusal.message), Or(ContainSubstring("Allow it"), ContainSubstring("Check the API server")),
				ContainSubstring("the operator retries")))

			// However often the operator looks, it says so once.
			for i := range 3 {
				w.look(service, func() {
					// Another Service, so that there is a status to write.
					w.critical(fmt.Sprintf("other-%d", i), func(s *corev1.Service) { s.Spec.Selector = nil })
				})
			}
			// The status has a controller of its own, for which the test has not waited so far.
			w.Eventually(func() int32 { return w.statusOf(policy).Services.Total }).Should(BeEquivalentTo(4))
			w.Eventually(w.EventsOf(service, "CreateDenied")).Should(HaveLen(1))
			event := w.Events(service, "CreateDenied")[0]
			w.Expect(event.Type).To(Equal(corev1.EventTypeWarning))
			w.Expect(event.Message).To(ContainSubstring(refusal.message))
			w.Expect(event.Series).To(BeNil())

			refusal.allow(w)
			w.answer(service, w.fallback(service))
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
			w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("True/FallbackPrepared"))
		})
	}
}

// The operator asks the API server beforehand, so that a refusal is known before
// it matters.
func TestARefusalIsKnownBeforeTheOutage(t *testing.T) {
	t.Parallel()
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			w := sideBySide(t)
			policy := w.policy("shop")
			service, _ := w.up("web")
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))

			refusal.begin(w)
			// No watch shows the refusal; another Pod to ask about makes it ask at once.
			testenv.Update(w.World, service, func(s *corev1.Service) { s.Spec.Selector["track"] = "stable" })
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/CreateDenied"))
			w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("False/NotProtected"))
			w.Eventually(w.conditionOf(policy, "Outage")).Should(Equal("False/NoOutage"))
			w.Eventually(w.EventsOf(service, "CreateDenied")).Should(HaveLen(1))

			refusal.allow(w)
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
		})
	}
}

func TestAServiceThatIsDeniedItsFallbackBlocksNoOther(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	refusals["Pod Security"].begin(w)
	denied := w.down("web")
	w.Eventually(w.stateOf(policy, denied)).Should(Equal("Exposed/CreateDenied"))

	other := &world{World: w.Cluster.NewWorld(t), operator: w.operator}
	allowed, _ := other.covered("web", func(s *corev1.Service) { s.Labels["role"] = w.Namespace })
	w.Eventually(w.stateOf(policy, allowed)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.conditionOf(policy, "Outage")).Should(Equal("True/Exposed"))
	w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("False/CreateDenied"))
}

func TestAForeignPodThatHoldsTheNameIsLeftAlone(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "service-watcher-web"}, Spec: testenv.PodSpec()}
	w.Create(foreign)
	service := w.down("web")

	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/NameTaken"))
	w.Expect(w.detailOf(policy, service).Message).To(And(
		ContainSubstring(`"service-watcher-web"`), ContainSubstring("delete or rename it"), ContainSubstring("POD_NAME_PREFIX")))
	w.Eventually(w.EventsOf(service, "NameTaken")).Should(HaveLen(1))
	for range 3 {
		w.look(service, func() {})
	}
	w.Eventually(w.EventsOf(service, "NameTaken")).Should(HaveLen(1))
	w.Expect(w.Cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
	w.Expect(foreign.Labels).To(BeEmpty())

	w.Delete(foreign)
	w.answer(service, w.fallback(service))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("True/FallbackPrepared"))
}

// A user's Pod may have the name and belong to the application. It is the
// Service's own then.
func TestAForeignPodThatHoldsTheNameAndIsReadyIsTheServicesOwn(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service := w.critical("web")
	foreign := w.Pod("service-watcher-web", service)
	w.MakeReady(foreign)
	w.PublishEndpoints(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/NameTaken"))
	w.settle()
	w.Eventually(w.conditionOf(policy, "Outage")).Should(Equal("False/NoOutage"))
	w.Expect(w.Exists(foreign)).To(BeTrue())
}

// The next Pod of that name is looked up as the first one was: no page stays promoted beside it.
func TestTheNextPodThatHoldsTheNameIsTheServicesOwnToo(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service := w.critical("web")
	w.responder("responder-1")
	for range 2 {
		foreign := w.Pod("service-watcher-web", service)
		w.MakeReady(foreign)
		w.PublishEndpoints(service)
		w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
		w.Eventually(w.published(service)).Should(HaveSuffix("standby"))
		w.Delete(foreign)
		w.PublishEndpoints(service)
		w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
	}
}

func TestAPortThatTheTemplateDoesNotServeIsNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		target  intstr.IntOrString
		message string
	}{
		"by number": {intstr.FromInt32(9090), "port 80/TCP (http) dials targetPort 9090, but the template declares only 8080/TCP (http)"},
		"by name":   {intstr.FromString("web"), "port 80/TCP (http) dials targetPort web, but the template declares only 8080/TCP (http)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := sideBySide(t)
			policy := w.policy("shop")
			service := w.down("web", func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = test.target })

			w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/PortMismatch"))
			w.Expect(w.detailOf(policy, service).Message).To(ContainSubstring(test.message))
			w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("False/PortMismatch"))
			w.Eventually(w.EventsOf(service, "PortMismatch")).Should(HaveLen(1))
			w.Expect(w.Events(service, "PortMismatch")[0].Message).To(ContainSubstring(test.message))
			w.settle()
			w.Expect(w.fallbacks(service)).To(BeEmpty(), "a dead endpoint does not help")

			testenv.Update(w.World, service, func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = testenv.TargetPort })
			w.answer(service, w.fallback(service))
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
		})
	}
}

func TestAFallbackThatServesSomePortsCoversAndSaysSo(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service, _ := w.covered("web", func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "admin", Port: 81, TargetPort: intstr.FromInt32(9090)})
	})
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/PortMismatch"))
	w.Expect(w.detailOf(policy, service).Message).To(And(ContainSubstring("targetPort 9090"), ContainSubstring("8080/TCP")))
	w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("False/PortMismatch"))
	w.Eventually(w.conditionOf(policy, "Outage")).Should(Equal("True/Covered"))
}

// The default answer to a namespace that is being deleted is a refusal that
// no user can lift; it is not worth a warning.
func TestANamespaceThatEndsIsNoProblem(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service, _ := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.Expect(w.Cluster.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})).To(Succeed())
	w.look(service, func() {
		w.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-real", Namespace: w.Namespace}})
		w.PublishEndpoints(service)
	})
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/FallbackStarting"))
	w.Expect(w.Events(service, criticalv2.ReasonCreateDenied)).To(BeEmpty())
}
