//go:build e2e

package observability

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/prober"
)

const (
	// storefront has a page; ledger, with the same Pods, a backup Service that does not
	// exist, so that nothing stands in for it.
	storefront = "storefront"
	ledger     = "ledger"
	// rate is how many clients ask the storefront each second.
	rate = 50
)

// shop is a namespace with an application of two Pods, and two critical Services of it.
type shop struct {
	*WithT
	t         *testing.T
	ctx       context.Context
	namespace string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{WithT: NewWithT(t), t: t, ctx: context.WithoutCancel(t.Context()), namespace: "observability-" + utilrand.String(5)}
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})
	account := client.ObjectKey{Namespace: s.namespace, Name: "default"}
	s.Eventually(func() error { return shared.Get(s.ctx, account, &corev1.ServiceAccount{}) }).Should(Succeed())
	return s
}

// create creates an object, and deletes it when the test ends.
func (s *shop) create(object client.Object) {
	s.t.Helper()
	s.Expect(shared.Create(s.ctx, object)).To(Succeed())
	s.t.Cleanup(func() { s.Expect(client.IgnoreNotFound(shared.Delete(s.ctx, object))).To(Succeed()) })
}

func (s *shop) application() client.ObjectKey {
	s.t.Helper()
	labels := map[string]string{"app": "shop"}
	// On SIGTERM, it reports not ready and answers for long enough that all proxies follow.
	pod := cluster.WebPod(demoImage, "shop", "--drain=6s")
	pod.TerminationGracePeriodSeconds = new(int64(15))
	s.create(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	})
	return client.ObjectKey{Namespace: s.namespace, Name: "shop"}
}

// service makes a Service of the application, and declares it critical.
func (s *shop) service(name string, fallback criticalv2.Fallback) *corev1.Service {
	s.t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: map[string]string{"critical": name}},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "shop"},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	s.create(service)
	s.create(&criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-" + name},
		Spec: criticalv2.CriticalServiceSpec{
			Namespaces: []string{s.namespace}, ServiceSelector: metav1.LabelSelector{MatchLabels: service.Labels}, ProtectionSpec: criticalv2.ProtectionSpec{Fallback: fallback},
		},
	})
	return service
}

// becomes waits for the state of a Service in the status.
func (s *shop) becomes(service string, state criticalv2.ServiceState) {
	s.t.Helper()
	s.Eventually(func() (criticalv2.ServiceState, error) {
		var policy criticalv2.CriticalService
		err := shared.Get(s.ctx, client.ObjectKey{Name: s.namespace + "-" + service}, &policy)
		if err != nil || len(policy.Status.Details) == 0 {
			return "", err
		}
		return policy.Status.Details[0].State, nil
	}).Should(Equal(state), "state of %s", service)
}

// token is that of a ServiceAccount which may read the operator's metrics, and nothing else.
func (s *shop) token() string {
	s.t.Helper()
	token, made, err := shared.MetricsToken(s.ctx, s.namespace, "prometheus", time.Hour)
	for _, object := range made {
		s.t.Cleanup(func() { s.Expect(client.IgnoreNotFound(shared.Delete(s.ctx, object))).To(Succeed()) })
	}
	s.Expect(err).NotTo(HaveOccurred())
	return token
}

// clients ask a Service at a fixed rate until the test ends. Who answered is a metric
// too, outage_test_answers_total, served at the address that is returned.
func (s *shop) clients(service *corev1.Service) (address string) {
	s.t.Helper()
	const page = "page"
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "outage_test_answers_total", Help: "Requests of the test by who answered; none if there was no answer.",
	}, []string{"by"})
	for _, by := range []string{"shop", page, "none"} {
		answers.WithLabelValues(by)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(answers)
	served := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	s.t.Cleanup(served.Close)

	ctx, stop := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	probe := prober.Prober{
		URL: fmt.Sprintf("http://%s/", service.Spec.ClusterIP), Rate: rate, Timeout: 5 * time.Second,
		Marks: map[string]string{pageSentence: page},
	}
	go func() {
		ended <- probe.Run(ctx, func(result prober.Result) {
			by := result.By
			if !result.Answered() {
				by = "none"
			}
			answers.WithLabelValues(by).Inc()
		})
	}()
	s.t.Cleanup(func() {
		stop()
		s.Expect(<-ended).To(Succeed())
	})
	return served.Listener.Addr().String()
}

// pageSentence is what the page of the storefront says.
const pageSentence = "Closed for a moment, as Prometheus looks on."

// scrape reads metrics once.
func scrape(url, token string, through http.RoundTripper) (*http.Response, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return (&http.Client{Transport: through, Timeout: 10 * time.Second}).Do(request)
}
