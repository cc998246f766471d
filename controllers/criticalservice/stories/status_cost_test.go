package stories_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// many are Services of one CriticalService. They are headless, because the API server of
// the tests has few addresses; a backup cannot stand in for them, and nothing is tried.
func (w *world) many(number int) (*criticalv2.CriticalService, []*corev1.Service) {
	w.T.Helper()
	policy := w.policy("shop", toBackup("elsewhere"))
	services := make([]*corev1.Service, 0, number)
	for i := range number {
		services = append(services, w.down(fmt.Sprintf("web-%02d", i), func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }))
	}
	return policy, services
}

// One event of many Services judges one Service, and wakes the status only if it reports
// something else then.
func TestAStatusCostsWhatHasChanged(t *testing.T) {
	const number = 12
	w := alone(t) // Another test's PodTemplate would be looked at for every Service.
	w.start(w.confined(standard))
	policy, services := w.many(number)
	one := services[0]
	w.Eventually(func() int32 { return w.statusOf(policy).Services.Total }).Should(BeEquivalentTo(number))
	w.settle()

	judged := func() (ofOne, ofOthers int) {
		for _, service := range services {
			count := w.operator.Reconciles("service", service.Namespace, service.Name)
			if service == one {
				ofOne = count
			} else {
				ofOthers += count
			}
		}
		return ofOne, ofOthers
	}
	woken := func() int { return w.operator.Reconciles("status", "", policy.Name) }
	wokenBefore := woken()
	_, othersBefore := judged()
	for i := range 3 {
		w.look(one, func() {
			w.Slice(one, fmt.Sprintf("touched-%d", i), func(s *discoveryv1.EndpointSlice) { s.Ports = nil })
		})
	}
	w.Expect(woken()).To(Equal(wokenBefore), "a slice that was touched is nothing to report")
	_, others := judged()
	w.Expect(others).To(Equal(othersBefore), "nor a reason to look at other Services")

	testenv.Update(w.World, one, func(s *corev1.Service) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, criticalv2.AnnotationCriticalService, criticalv2.OptOut)
	})
	w.Eventually(w.stateOf(policy, one)).Should(Equal("Ignored/OptedOut"))
	w.settle()
	_, others = judged()
	w.Expect(others).To(Equal(othersBefore), "one Service was judged again")

	w.Delete(one)
	w.Eventually(func() int32 { return w.statusOf(policy).Services.Total }).Should(BeEquivalentTo(number-1), "what is gone is gone from the status")
	testenv.Update(w.World, services[1], func(s *corev1.Service) { s.Labels = nil })
	w.Eventually(func() int32 { return w.statusOf(policy).Services.Total }).Should(BeEquivalentTo(number-2), "and so is what does not match any more")
}

// An operator that starts says nothing of a CriticalService until it has looked at all of
// its Services, and then in one write. Nor does it after a change of the spec.
func TestNoStatusIsOfAPartOfTheServices(t *testing.T) {
	const number = 25
	w := apart(t)
	policy, _ := w.many(number)
	nextVersion := w.versions(policy)

	w.start(w.confined(standard))
	w.Eventually(func() int32 { return w.statusOf(policy).Services.Total }).Should(BeEquivalentTo(number))
	testenv.Update(w.World, policy, func(p *criticalv2.CriticalService) {
		p.Spec.ServiceSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "none", Operator: metav1.LabelSelectorOpDoesNotExist}}
	})
	w.Eventually(func() int64 { return w.statusOf(policy).ObservedGeneration }).Should(BeEquivalentTo(2))
	w.settle()
	w.stop()

	last := w.statusOf(policy)
	for seen := (criticalv2.ProtectionStatus{}); seen.ObservedGeneration != last.ObservedGeneration; {
		if seen = nextVersion().Status; seen.ObservedGeneration > 0 {
			w.Expect(seen.Services.Total).To(BeEquivalentTo(number))
		}
	}
}

// A status that another client changed comes back, though no Service has changed.
func TestAStatusThatOthersChangedComesBack(t *testing.T) {
	w := apart(t)
	w.start(w.confined(standard))
	policy := w.policy("shop")
	service, _ := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.settle()
	judged := w.operator.Reconciles("service", service.Namespace, service.Name)
	now := &criticalv2.CriticalService{}
	w.Expect(w.Cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(policy), now)).To(Succeed())
	now.Status = criticalv2.ProtectionStatus{}
	w.Expect(w.Cluster.Client.Status().Update(t.Context(), now)).To(Succeed())
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.Expect(w.operator.Reconciles("service", service.Namespace, service.Name)).To(Equal(judged))
}
