package stories_test

import (
	"fmt"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/write"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/test/testenv"
)

// record watches the world from before its operator on. Beside it is a Service that no policy selects, in a namespace that
// belongs to no story: what is written there is found.
func (w *world) record(fate *testenv.Fate) {
	w.T.Helper()
	other := w.Cluster.NewWorld(w.T)
	other.PublishEndpoints(other.Service("web", func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }))
	w.others = append(w.others, other.Namespace)
	status := []string{"status"}
	fate.Record(w.World, testenv.Laws{
		Manager: write.FieldManager,
		Made: func(object metav1.Object) bool {
			if _, isPod := object.(*corev1.Pod); isPod {
				return protection.IsFallback(object)
			}
			return protection.MadeByOperator(object)
		},
		Writes: map[string][]string{
			"CriticalService": status, "ServiceFallback": status, "Maintenance": status,
			"Pod": {"status", "metadata.annotations"},
		},
		Untouched: func(object metav1.Object) bool {
			_, isPod := object.(*corev1.Pod)
			return isPod && !protection.IsResponder(object)
		},
		Further: []func([]testenv.Revision) []string{foreignAddresses, secondFallbacks, blamedUsers},
	}, &corev1.ServiceList{}, &corev1.PodList{}, &corev1.PodTemplateList{}, &corev1.ConfigMapList{}, &discoveryv1.EndpointSliceList{},
		&appsv1.DeploymentList{}, &policyv1.PodDisruptionBudgetList{},
		&criticalv2.CriticalServiceList{}, &criticalv2.ServiceFallbackList{}, &criticalv2.MaintenanceList{})
}

// number orders the revisions of all objects of one API server.
func number(object client.Object) uint64 {
	number, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// noteFirst notes the first revision in which something is seen of an object. Revisions come in any order.
func noteFirst[K comparable](first map[K]uint64, key K, object client.Object) {
	if at, isKnown := first[key]; !isKnown || number(object) < at {
		first[key] = number(object)
	}
}

// foreignAddresses are the endpoints that the operator published and that no Pod of the namespace had until then.
func foreignAddresses(revisions []testenv.Revision) []string {
	// since is when a Pod had an address first.
	since := map[types.UID]map[string]uint64{}
	for _, r := range revisions {
		pod, isPod := r.Object.(*corev1.Pod)
		if !isPod {
			continue
		}
		for _, ip := range pod.Status.PodIPs {
			if since[pod.UID] == nil {
				since[pod.UID] = map[string]uint64{}
			}
			noteFirst(since[pod.UID], ip.IP, pod)
		}
	}
	var found []string
	for _, r := range revisions {
		slice, isSlice := r.Object.(*discoveryv1.EndpointSlice)
		if !isSlice || !protection.IsStandby(slice) {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			ref := endpoint.TargetRef
			for _, address := range endpoint.Addresses {
				if ref != nil && ref.Kind == "Pod" && (ref.Namespace == "" || ref.Namespace == slice.Namespace) {
					if first, had := since[ref.UID][address]; had && first < number(slice) {
						continue
					}
				}
				found = append(found, fmt.Sprintf("%s publishes %s of %v", r, address, ref))
			}
		}
	}
	return found
}

// secondFallbacks are fallback Pods that came while another one of their Service had not been deleted yet.
func secondFallbacks(revisions []testenv.Revision) []string {
	var found []string
	live := map[string]map[types.UID]bool{}
	for _, r := range revisions {
		pod, isPod := r.Object.(*corev1.Pod)
		if !isPod || !protection.IsFallback(pod) {
			continue
		}
		service := pod.Labels[criticalv2.LabelFallbackFor]
		if live[service] == nil {
			live[service] = map[types.UID]bool{}
		}
		delete(live[service], pod.UID)
		if r.Change != watch.Deleted && pod.DeletionTimestamp == nil {
			live[service][pod.UID] = true
		}
		if len(live[service]) > 1 {
			found = append(found, fmt.Sprintf("%s is a second fallback of Service %q", r, service))
		}
	}
	return found
}

// blamedUsers are statuses that say of a Pod of the operator that it is a user's: where no Pod of a user has the name of the
// fallback, or not any more, as there was one of the operator.
func blamedUsers(revisions []testenv.Revision) []string {
	var found []string
	// held is when a user's Pod first had a name, and own when the operator had made the first fallback of a Service.
	held, own := map[string]uint64{}, map[string]uint64{}
	for _, r := range revisions {
		switch pod, isPod := r.Object.(*corev1.Pod); {
		case !isPod:
		case !protection.IsFallback(pod):
			noteFirst(held, pod.Name, pod)
		default:
			noteFirst(own, pod.Labels[criticalv2.LabelFallbackFor], pod)
		}
	}
	for _, r := range revisions {
		policy, isPolicy := r.Object.(criticalv2.Policy)
		if !isPolicy {
			continue
		}
		for _, detail := range policy.Observed().Details {
			since, isHeld := held[standard.PodNamePrefix+"-"+detail.Name]
			until, isMade := own[detail.Name]
			isTrue := isHeld && since < number(policy) && (!isMade || number(policy) < until)
			if detail.Reason == criticalv2.ReasonNameTaken && !isTrue {
				found = append(found, fmt.Sprintf("%s says: %s", r, detail.Message))
			}
		}
	}
	return found
}

func TestBlamedUsersAreFound(t *testing.T) {
	g := NewWithT(t)
	pod := func(version string, of ...metav1.OwnerReference) testenv.Revision {
		return testenv.Revision{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "service-watcher-web", ResourceVersion: version, Labels: map[string]string{criticalv2.LabelFallbackFor: "web"}, OwnerReferences: of,
		}}}
	}
	blame := func(version string) testenv.Revision {
		policy := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "shop", ResourceVersion: version}}
		policy.Status.Details = []criticalv2.ServiceStatus{{Name: "web", Reason: criticalv2.ReasonNameTaken, Message: "at " + version}}
		return testenv.Revision{Object: policy}
	}
	ours := metav1.OwnerReference{APIVersion: criticalv2.GroupVersion.String(), Kind: "CriticalService", Controller: new(true)}
	g.Expect(blamedUsers([]testenv.Revision{blame("5")})).To(ConsistOf(ContainSubstring("at 5")), "no Pod has the name")
	g.Expect(blamedUsers([]testenv.Revision{blame("3"), pod("4")})).To(ConsistOf(ContainSubstring("at 3")), "none has it yet")
	g.Expect(blamedUsers([]testenv.Revision{pod("4"), blame("5")})).To(BeEmpty(), "a user's has")
	g.Expect(blamedUsers([]testenv.Revision{pod("4"), blame("5"), pod("7", ours), blame("8")})).To(ConsistOf(ContainSubstring("at 8")), "a user's had")
}

func TestForeignAddressesAreFound(t *testing.T) {
	g := NewWithT(t)
	const namespace = "shop"
	revisions := []testenv.Revision{{Object: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "real", Namespace: namespace, UID: "1", ResourceVersion: "10"},
		Status:     corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}},
	}}}
	publish := func(name, version, address string, ref *corev1.ObjectReference) {
		revisions = append(revisions, testenv.Revision{Object: &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, ResourceVersion: version, Labels: map[string]string{
				discoveryv1.LabelManagedBy: criticalv2.ManagedBy,
			}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}, TargetRef: ref}},
		}})
	}
	known := &corev1.ObjectReference{Kind: "Pod", Name: "real", Namespace: namespace, UID: "1"}
	publish("good", "11", "10.0.0.1", known)
	g.Expect(foreignAddresses(revisions)).To(BeEmpty())
	publish("early", "9", "10.0.0.1", known)
	publish("other-address", "11", "10.0.0.2", known)
	publish("other-namespace", "11", "10.0.0.1", &corev1.ObjectReference{Kind: "Pod", Name: "real", Namespace: "bank", UID: "1"})
	publish("nameless", "11", "10.0.0.1", nil)
	g.Expect(foreignAddresses(revisions)).To(ConsistOf(
		ContainSubstring(`"early"`), ContainSubstring(`"other-address"`), ContainSubstring(`"other-namespace"`), ContainSubstring(`"nameless"`)))
}

func TestASecondFallbackIsFound(t *testing.T) {
	g := NewWithT(t)
	pod := func(change watch.EventType, service string, uid types.UID) testenv.Revision {
		return testenv.Revision{Change: change, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "service-watcher-" + service, UID: uid, Labels: map[string]string{criticalv2.LabelFallbackFor: service},
			Annotations: map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned},
		}}}
	}
	one := []testenv.Revision{pod(watch.Added, "web", "1"), pod(watch.Added, "api", "2"), pod(watch.Modified, "web", "1"), pod(watch.Deleted, "web", "1")}
	g.Expect(secondFallbacks(append(one, pod(watch.Added, "web", "3")))).To(BeEmpty())
	g.Expect(secondFallbacks(append(one, pod(watch.Added, "api", "3")))).To(HaveLen(1))
}
