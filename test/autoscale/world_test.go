//go:build e2e

package autoscale

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/prober"
)

// pageSentence is what the page of the shop begins with. The rest makes it large, so that
// sending it is more work than asking for it, and the machine is not busy with the clients.
const (
	pageSentence = "Closed for a moment, and everyone asks."
	pageSize     = 512 << 10
)

// shop is a critical Service, in a namespace of its own, for which only the responder answers.
type shop struct {
	*WithT
	t       *testing.T
	ctx     context.Context
	began   time.Time
	service *corev1.Service
	seen    sight
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{WithT: NewWithT(t), t: t, ctx: context.WithoutCancel(t.Context()), began: time.Now()}
	namespace := "autoscale-" + utilrand.String(5)
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	s.service = &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop", Labels: map[string]string{"critical": "shop"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "shop"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	s.create(s.service)
	s.create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "page", Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderContent},
		},
		Data: map[string]string{"index.html": pageSentence + strings.Repeat(" ", pageSize)},
	})
	s.create(&criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: criticalv2.CriticalServiceSpec{
			Namespaces: []string{namespace}, ServiceSelector: metav1.LabelSelector{MatchLabels: s.service.Labels},
			ProtectionSpec: criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{
				Page: &criticalv2.PageFallback{ConfigMapName: "page", Replicas: new(int32(floor))},
			}},
		},
	})
	s.Eventually(func() error { return ask(s.address()) }).Should(Succeed(), "the page")
	return s
}

// create creates an object, and deletes it when the test ends.
func (s *shop) create(object client.Object) {
	s.t.Helper()
	s.Expect(shared.Create(s.ctx, object)).To(Succeed())
	s.t.Cleanup(func() { s.Expect(client.IgnoreNotFound(shared.Delete(s.ctx, object))).To(Succeed()) })
}

func (s *shop) address() string { return s.service.Spec.ClusterIP + ":80" }

// sight is how many Pods there are to be, how many are there and ready, and how many of them the Service has.
type sight struct{ Wanted, Running, Ready, Published int }

// all is a sight where this many are all there is.
func all(pods int) sight { return sight{pods, pods, pods, pods} }

// look sees how far it has scaled, and logs what has changed.
func (s *shop) look(g Gomega) sight {
	deployment := &appsv1.Deployment{}
	g.Expect(shared.Get(s.ctx, s.responder(), deployment)).To(Succeed())
	now := sight{Wanted: int(ptr.Deref(deployment.Spec.Replicas, 1)), Published: len(s.published(g))}
	for _, pod := range s.pods(g) {
		now.Running++
		if cluster.PodReady(&pod) {
			now.Ready++
		}
	}
	if now != s.seen {
		s.seen = now
		s.logf("%+v, CPU of each %s", now, s.used(g))
	}
	return now
}

func (s *shop) logf(format string, arguments ...any) {
	s.t.Helper()
	s.t.Logf("%4.0f s: %s", time.Since(s.began).Seconds(), fmt.Sprintf(format, arguments...))
}

func (s *shop) responder() client.ObjectKey {
	return client.ObjectKey{Namespace: s.service.Namespace, Name: criticalv2.ResponderName}
}

// used is how much CPU the autoscaler knows of, on average.
func (s *shop) used(g Gomega) string {
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{}
	g.Expect(shared.Get(s.ctx, s.responder(), autoscaler)).To(Succeed())
	for _, metric := range autoscaler.Status.CurrentMetrics {
		if metric.Resource != nil && metric.Resource.Current.AverageValue != nil {
			return metric.Resource.Current.AverageValue.String()
		}
	}
	return "is not known"
}

// pods are the responder's, with those on their way out.
func (s *shop) pods(g Gomega) []corev1.Pod {
	list := &corev1.PodList{}
	g.Expect(shared.List(s.ctx, list, client.InNamespace(s.service.Namespace),
		client.MatchingLabels{criticalv2.LabelResponder: criticalv2.ResponderServer})).To(Succeed())
	return list.Items
}

// published are the ready endpoints of the Service.
func (s *shop) published(g Gomega) []discoveryv1.Endpoint {
	list := &discoveryv1.EndpointSliceList{}
	g.Expect(shared.List(s.ctx, list, client.InNamespace(s.service.Namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: s.service.Name})).To(Succeed())
	found := []discoveryv1.Endpoint{}
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) {
				found = append(found, endpoint)
			}
		}
	}
	return found
}

// answers are how many requests each Pod of the responder says it has answered.
func (s *shop) answers(g Gomega) []int {
	counts := []int{}
	for _, pod := range s.pods(g) {
		response, err := http.Get("http://" + pod.Status.PodIP + ":8081/metrics")
		g.Expect(err).NotTo(HaveOccurred())
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(response.Body)
		_ = response.Body.Close()
		g.Expect(err).NotTo(HaveOccurred())
		total := 0
		for _, metric := range families["critical_service_responder_answers_total"].GetMetric() {
			total += int(metric.GetCounter().GetValue())
		}
		counts = append(counts, total)
	}
	return counts
}

// visitors ask at a fixed rate until they are stopped, which returns what became of all requests.
func (s *shop) visitors() (stop func() []prober.Result) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.t.Cleanup(cancel)
	results := []prober.Result{}
	ended := make(chan error, 1)
	probe := prober.Prober{URL: "http://" + s.address() + "/", Rate: 50, Timeout: 10 * time.Second, Marks: map[string]string{pageSentence: "page"}}
	go func() { ended <- probe.Run(ctx, func(result prober.Result) { results = append(results, result) }) }()
	return func() []prober.Result {
		s.t.Helper()
		cancel()
		s.Expect(<-ended).To(Succeed())
		return results
	}
}
