//go:build e2e && linux

package consumers

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

func TestSessionAffinityEndsWithItsEndpoint(t *testing.T) {
	w := newWorld(t)
	sticky := &path{name: "ClusterIP, sessionAffinity: ClientIP", want: [stages]string{
		// While both are ready, a client that has met the standby stays with it. Demotion ends that.
		shop, page, page, page, shop,
	}}
	client := NewClient(nil)
	url := clusterIP(w.service("sticky", node.Name, func(service *corev1.Service) {
		service.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	}))
	sticky.ask = func() string { return client.Ask(w.ctx, url, "") }
	w.eachStage(func(s stage) { sticky.settles(w, s) })
	w.t.Logf("kube-proxy in %s mode:\n%s", mode, table([]*path{sticky}))
}

// dnsCatchesUp is longer than CoreDNS keeps an answer, which is half a minute: an answer from
// before it saw the stage's slices goes away only then.
const dnsCatchesUp = time.Minute

// TestAHeadlessServiceNeedsPromotion asks each name only once kube-proxy has reached its stage:
// CoreDNS keeps an answer, also the answer that there is none.
func TestAHeadlessServiceNeedsPromotion(t *testing.T) {
	w := newWorld(t)
	var dns corev1.Service
	w.Expect(shared.Get(w.ctx, clusterDNS, &dns)).To(Succeed())
	resolver := NewDNS(dns.Spec.ClusterIP + ":53")
	var headless [stages]*corev1.Service
	for s := range headless {
		headless[s] = w.service("headless-"+string(rune('a'+s)), node.Name, func(service *corev1.Service) {
			service.Spec.ClusterIP = corev1.ClusterIPNone
		})
	}
	// It tells when a stage has been reached.
	plain := &path{name: "ClusterIP", want: honours}
	client, url := NewClient(nil), clusterIP(w.service("plain", node.Name))
	plain.ask = func() string { return client.Ask(w.ctx, url, "") }

	names := &path{name: "headless Service through CoreDNS"}
	w.eachStage(func(s stage) {
		plain.settles(w, s)
		want := [stages][]string{
			armed: {w.application.Status.PodIP}, promoted: {w.standby.Status.PodIP},
			both:      {w.application.Status.PodIP, w.standby.Status.PodIP},
			recovered: {w.application.Status.PodIP},
		}[s]
		name := headless[s].Name + "." + w.namespace + ".svc.cluster.local"
		w.Eventually(func() ([]string, error) { return resolver.Addresses(w.ctx, name) }).
			WithTimeout(dnsCatchesUp).Should(ConsistOf(want), "stage %q", stageNames[s])
		names.seen[s] = map[int]string{0: none, 1: plain.want[s], 2: mixed}[len(want)]
	})
	w.t.Logf("\n%s", table([]*path{names}))
}
