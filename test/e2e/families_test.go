//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// TestAServiceIsAnsweredInEachIPFamily is of those that the cluster has: the devcluster has IPv4 alone, unless IP_FAMILIES
// says more.
func TestAServiceIsAnsweredInEachIPFamily(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.service("all", func(s *corev1.Service) { s.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyPreferDualStack) })
	families := all.object.Spec.IPFamilies
	if asked := os.Getenv("IP_FAMILIES"); asked != "" {
		w.Expect(strings.ToLower(fmt.Sprint(families))).To(Equal(fmt.Sprint(strings.Split(asked, ","))), "IP families of the cluster, as IP_FAMILIES asks")
	}
	shops := []*service{all.withPage()}
	for _, family := range families {
		in := strings.ToLower(string(family))
		one := func(s *corev1.Service) { s.Spec.IPFamilies = []corev1.IPFamily{family} }
		// The application listens on 8080, and the fallback of a PodTemplate as well.
		shops = append(shops, w.service("page-"+in, one).withPage(), w.service("pod-"+in, one).critical())
	}

	for _, shop := range shops {
		shop.becomes(criticalv2.StateCovered, criticalv2.ReasonFallbackServing)
		shop.answeredInEachFamily(thePage, fallbackName)
	}
	pods := make([]*corev1.Pod, len(shops))
	for i, shop := range shops {
		pods[i] = w.pod(shop.object.Name, shop.object.Spec.Selector)
	}
	for _, shop := range shops {
		shop.answeredInEachFamily(shop.object.Name)
	}
	for i := range shops {
		w.remove(pods[i])
	}
	for _, shop := range shops {
		shop.becomes(criticalv2.StateCovered, criticalv2.ReasonFallbackServing)
		shop.answeredInEachFamily(thePage, fallbackName)
	}
}

// answeredInEachFamily waits until each address of the Service is answered by one of these.
func (s *service) answeredInEachFamily(by ...string) {
	s.t.Helper()
	for _, ip := range s.object.Spec.ClusterIPs {
		s.Eventually(func() string { return ask(urlOf(ip, s.object.Spec.Ports[0].Port)) }).Should(BeElementOf(by), "requests to %s of Service %s", ip, s.object.Name)
	}
}
