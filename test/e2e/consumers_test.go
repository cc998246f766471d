//go:build e2e && linux

package e2e

import (
	"bytes"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/consumers"
)

// The page of this scenario is known by its sentence.
const (
	standbyPage     = "page"
	standbySentence = "This request was sent to the standby."
)

// TestConsumersOfTheStandbyPage is the table of test/consumers with the operator in the place of the
// hand that publishes there: what honours a standby is answered although the operator does not
// promote it; what needs promotion is answered once it does.
func TestConsumersOfTheStandbyPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.deployment("shop")
	shop := w.service("shop", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort })
	policy := w.protectByPage(shop, time.Hour)

	client := consumers.NewClient(nil).Naming(namePage)
	honouring := map[string]func() string{
		"ClusterIP": func() string { return client.Ask(w.ctx, shop.url(), "") },
		"NodePort":  func() string { return client.Ask(w.ctx, shop.nodePortURL(), "") },
	}
	needing := map[string]func() string{}
	for _, proxy := range w.ingressControllers() {
		host := w.ingress(proxy, shop)
		needing[proxy.Name] = func() string { return client.Ask(w.ctx, proxy.URL, host) }
	}
	all := func(who string) {
		t.Helper()
		w.answered(honouring, who)
		w.answered(needing, who)
	}
	shop.becomesBy(policy, criticalv2.StateArmed, criticalv2.ReasonStandbyReady)
	all("shop")

	// Down, and not promoted.
	w.scale(app, 0)
	w.answered(honouring, standbyPage)
	shop.becomesBy(policy, criticalv2.StateCovered, criticalv2.ReasonStandbyServing)
	for name, ask := range needing {
		w.Consistently(func() string { return tenTimes(ask) }).Should(Equal("none"), "requests through %s", name)
	}
	w.answered(honouring, standbyPage)

	// Promoted.
	change(w, policy, func(p *criticalv2.CriticalService) { p.Spec.ActivationDelay = metav1.Duration{} })
	all(standbyPage)
	shop.becomesBy(policy, criticalv2.StateCovered, criticalv2.ReasonFallbackServing)

	// Back, and demoted.
	w.scale(app, 1)
	all("shop")
	shop.becomesBy(policy, criticalv2.StateArmed, criticalv2.ReasonStandbyReady)
	w.Eventually(shop.readyEndpoints).Should(HaveExactElements(HavePrefix("shop-")), "no standby is left among the ready endpoints")
}

// protectByPage protects a Service by the built-in page, with standbySentence on it.
func (w *world) protectByPage(s *service, activationDelay time.Duration) *criticalv2.CriticalService {
	w.t.Helper()
	policy := &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: w.name(s.object.Name)},
		Spec: criticalv2.CriticalServiceSpec{
			Namespaces:      []string{w.namespace},
			ServiceSelector: metav1.LabelSelector{MatchLabels: s.object.Labels},
			ProtectionSpec: criticalv2.ProtectionSpec{ActivationDelay: metav1.Duration{Duration: activationDelay},
				Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{Message: standbySentence}}},
		},
	}
	w.create(policy)
	return policy
}

// namePage knows a page by its sentence.
func namePage(_ *http.Response, body []byte) string {
	if bytes.Contains(body, []byte(standbySentence)) {
		return standbyPage
	}
	return ""
}

// answered waits until ten requests in a row on each path are answered by who.
func (w *world) answered(paths map[string]func() string, who string) {
	w.t.Helper()
	for name, ask := range paths {
		w.Eventually(func() string { return tenTimes(ask) }).Should(Equal(who), "requests through %s", name)
	}
}

// tenTimes asks ten times and names those who answered.
func tenTimes(ask func() string) string {
	var answers []string
	for range 10 {
		who, _, _ := strings.Cut(ask(), " ")
		answers = append(answers, who)
	}
	slices.Sort(answers)
	return strings.Join(slices.Compact(answers), " ")
}

// ingressControllers are Traefik and HAProxy Ingress, each as a process of this machine.
func (w *world) ingressControllers() []*consumers.Proxy {
	w.t.Helper()
	bin := os.Getenv(consumers.BinFolder)
	w.Expect(bin).NotTo(BeEmpty(), "%s must name the folder that test/consumers/build.sh prints", consumers.BinFolder)
	// Not the test's own folder: with its long name, the names of HAProxy's sockets would be too long.
	folder, err := os.MkdirTemp("", "consumers")
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { w.Expect(os.RemoveAll(folder)).To(Succeed()) })
	traefik, err := consumers.StartTraefik(w.ctx, bin, os.Getenv("KUBECONFIG"), folder)
	w.Expect(err).NotTo(HaveOccurred())
	w.uses(traefik)
	haproxy, err := consumers.StartHAProxy(w.ctx, bin, os.Getenv("KUBECONFIG"), folder, w.namespace,
		func(settings *corev1.ConfigMap) { w.create(settings) })
	w.Expect(err).NotTo(HaveOccurred())
	w.uses(haproxy)
	return []*consumers.Proxy{traefik, haproxy}
}

// uses makes the class of an ingress controller, and removes it and stops the controller when the scenario ends.
func (w *world) uses(proxy *consumers.Proxy) {
	w.t.Helper()
	w.t.Cleanup(func() {
		w.Expect(proxy.Stop()).To(Succeed())
		if w.t.Failed() {
			w.t.Logf("the last words of %s:\n%s", proxy.Name, proxy.Log())
		}
	})
	w.create(proxy.Class())
}

// ingress routes a host through an ingress controller to a Service, and returns the host.
func (w *world) ingress(proxy *consumers.Proxy, s *service) string {
	w.t.Helper()
	ingress, host := proxy.Ingress(s.object)
	w.create(ingress)
	return host
}
