package stories_test

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/test/testenv"
)

// history is all that happened to the Pods and the EndpointSlices of a world.
type history struct {
	mu     sync.Mutex
	pods   []*corev1.Pod
	slices []*discoveryv1.EndpointSlice
}

// record watches the world from before its operator on. When the test ends, what holds at every moment must have held:
// what is published is a Pod that had the address before, and the operator wrote nothing but what is its own.
func (w *world) record() {
	w.T.Helper()
	h := &history{}
	note := func(event watch.Event) { h.note(event.Object) }
	pods := w.Follow(w.T.Context(), &corev1.PodList{}, note)
	endpoints := w.Follow(w.T.Context(), &discoveryv1.EndpointSliceList{}, note)
	// The operators of a story have followed each other when this runs.
	w.T.Cleanup(func() {
		pods()
		endpoints()
		w.Expect(h.pods).NotTo(BeEmpty(), "the record of Pods")
		w.Expect(h.foreignAddresses(w.Namespace)).To(BeEmpty())
		operators := slices.Clone(w.earlier)
		if w.running {
			operators = append(operators, w.operator)
		}
		for _, operator := range operators {
			w.Expect(h.foreignWrites(w.Namespace, operator.Traffic.Requests(testenv.Request.Writes))).To(BeEmpty())
		}
	})
}

func (h *history) note(object any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch object := object.(type) {
	case *corev1.Pod:
		h.pods = append(h.pods, object)
	case *discoveryv1.EndpointSlice:
		h.slices = append(h.slices, object)
	}
}

// revision orders the versions of all objects of one API server.
func revision(object client.Object) uint64 {
	number, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// foreignAddresses are the endpoints that the operator published and that no Pod of the namespace had until then.
func (h *history) foreignAddresses(namespace string) []string {
	// since is when a Pod had an address first.
	since := map[types.UID]map[string]uint64{}
	for _, pod := range h.pods {
		for _, ip := range pod.Status.PodIPs {
			if since[pod.UID] == nil {
				since[pod.UID] = map[string]uint64{}
			}
			if first, isKnown := since[pod.UID][ip.IP]; !isKnown || revision(pod) < first {
				since[pod.UID][ip.IP] = revision(pod)
			}
		}
	}
	var found []string
	for _, slice := range h.slices {
		if !protection.IsStandby(slice) {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			ref := endpoint.TargetRef
			for _, address := range endpoint.Addresses {
				if ref != nil && ref.Kind == "Pod" && (ref.Namespace == "" || ref.Namespace == namespace) {
					if first, had := since[ref.UID][address]; had && first < revision(slice) {
						continue
					}
				}
				found = append(found, fmt.Sprintf("%s in EndpointSlice %q at %s: %v", address, slice.Name, slice.ResourceVersion, ref))
			}
		}
	}
	return found
}

// foreignWrites are requests that write to what is not the operator's in a namespace.
func (h *history) foreignWrites(namespace string, requests []testenv.Request) []string {
	var ours []string
	for _, pod := range h.pods {
		if protection.IsOurs(pod) {
			ours = append(ours, "pods/"+pod.Name)
		}
	}
	for _, slice := range h.slices {
		if protection.MadeByOperator(slice) {
			ours = append(ours, "endpointslices/"+slice.Name)
		}
	}
	var found []string
	for _, r := range requests {
		isInside := strings.Contains(r.Path, "/namespaces/"+namespace+"/")
		mayWrite := false
		switch kind, _, _ := strings.Cut(r.Resource(), "/"); kind {
		case "events", "selfsubjectreviews", "selfsubjectaccessreviews":
			mayWrite = true
		case "criticalservices":
			// A policy is named after its world.
			mayWrite = strings.HasSuffix(r.Path, namespace+"/status")
		case "servicefallbacks", "maintenances":
			mayWrite = isInside && strings.HasSuffix(r.Path, "/status")
		case "pods", "endpointslices":
			name := path.Base(strings.TrimSuffix(r.Path, "/status"))
			mayWrite = isInside && (r.Method == http.MethodPost || slices.Contains(ours, kind+"/"+name))
		case "deployments", "configmaps", "poddisruptionbudgets":
			mayWrite = isInside
		}
		if r.Writes() && !mayWrite {
			found = append(found, r.String())
		}
	}
	return found
}

func TestTheRecordFindsWhatIsForeign(t *testing.T) {
	g := NewWithT(t)
	const namespace = "shop"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "real", Namespace: namespace, UID: "1", ResourceVersion: "10"},
		Status:     corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}},
	}
	slice := func(name, version, address string, ref *corev1.ObjectReference) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, ResourceVersion: version, Labels: map[string]string{
				discoveryv1.LabelManagedBy: criticalv2.ManagedBy,
			}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}, TargetRef: ref}},
		}
	}
	known := &corev1.ObjectReference{Kind: "Pod", Name: "real", Namespace: namespace, UID: "1"}
	h := &history{pods: []*corev1.Pod{pod}, slices: []*discoveryv1.EndpointSlice{
		slice("good", "11", "10.0.0.1", known),
		slice("early", "9", "10.0.0.1", known),
		slice("other-address", "11", "10.0.0.2", known),
		slice("other-namespace", "11", "10.0.0.1", &corev1.ObjectReference{Kind: "Pod", Name: "real", Namespace: "bank", UID: "1"}),
		slice("nameless", "11", "10.0.0.1", nil),
	}}
	g.Expect(h.foreignAddresses(namespace)).To(ConsistOf(
		ContainSubstring(`"early"`), ContainSubstring(`"other-address"`), ContainSubstring(`"other-namespace"`), ContainSubstring(`"nameless"`)))

	const core, discovery = "/api/v1/namespaces/", "/apis/discovery.k8s.io/v1/namespaces/"
	g.Expect(h.foreignWrites(namespace, []testenv.Request{
		{Method: http.MethodPatch, Path: discovery + "shop/endpointslices/good"},
		{Method: http.MethodPost, Path: core + "shop/pods"},
		{Method: http.MethodGet, Path: core + "bank/pods/real"},
		{Method: http.MethodPatch, Path: "/apis/mycrd.com/v2/criticalservices/a-shop/status"},
		{Method: http.MethodPatch, Path: "/apis/mycrd.com/v2/namespaces/shop/servicefallbacks/web/status"},
	})).To(BeEmpty())
	g.Expect(h.foreignWrites(namespace, []testenv.Request{
		{Method: http.MethodDelete, Path: core + "shop/pods/real"},
		{Method: http.MethodPost, Path: core + "bank/pods"},
		{Method: http.MethodPatch, Path: discovery + "shop/endpointslices/web-0"},
		{Method: http.MethodPatch, Path: core + "shop/services/web"},
		{Method: http.MethodPatch, Path: "/apis/mycrd.com/v2/criticalservices/a-shop"},
		{Method: http.MethodPatch, Path: "/apis/mycrd.com/v2/namespaces/shop/servicefallbacks/web"},
		{Method: http.MethodPatch, Path: "/apis/mycrd.com/v2/namespaces/bank/maintenances/planned/status"},
	})).To(HaveLen(7))
}
