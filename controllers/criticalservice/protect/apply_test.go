package protect

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/internal/controller/fault"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

func sliceOf(name, version string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: name, ResourceVersion: version}}
}

// Two controllers write the slices of one Service, and each knows only its own answers.
func TestARefusalStaysUntilItsOwnSliceIsWritten(t *testing.T) {
	asks, pod := sliceOf("web-standby-ipv4", "7"), sliceOf("web-standby-ipv4-1a2b", "")
	both := []*discoveryv1.EndpointSlice{asks, pod}
	tests := map[string]struct {
		planned, written []*discoveryv1.EndpointSlice
		stays            bool
	}{
		"nothing was written":                      {planned: both, stays: true},
		"another slice was written beside it":      {planned: both, written: both[:1], stays: true},
		"another slice is written in its place":    {planned: both[:1], written: both[:1]},
		"it was written":                           {planned: both, written: both[1:]},
		"nothing is to be written any more at all": {stays: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			observer, _ := observetest.Of(t)
			r := &Reconciler{Observer: observer}
			r.Memory.Refusals.Set(web, decide.Refusal{Slice: pod.Name})
			r.noteRefusals(web, decide.Plan{Publish: test.planned}, outcome{published: test.written}, nil)
			NewWithT(t).Expect(r.Memory.Refusals.Get(web) != nil).To(Equal(test.stays))
		})
	}
}

func TestWhatOneControllerWroteIsKnownToBoth(t *testing.T) {
	g := NewWithT(t)
	observer, _ := observetest.Of(t)
	r := &Reconciler{Observer: observer}
	asks, pod := sliceOf("web-standby-ipv4", "7"), sliceOf("web-standby-ipv4-1a2b", "")
	plan := decide.Plan{Publish: []*discoveryv1.EndpointSlice{asks, pod}}
	r.noteWritten(web, plan.Publish[:1])
	r.noteWritten(web, plan.Publish[1:])
	g.Expect(r.written(web, plan)).To(And(HaveLen(2), HaveKey(asks.Name), HaveKey(pod.Name)))

	seen := decide.Plan{Publish: []*discoveryv1.EndpointSlice{sliceOf(asks.Name, "8"), pod}}
	g.Expect(r.written(web, seen)).To(And(HaveLen(1), HaveKey(pod.Name)), "the cache shows another state of the first")
	g.Expect(r.written(web, decide.Plan{})).To(BeEmpty())
	g.Expect(r.Memory.Written.Keys()).To(BeEmpty())
}

// While the cache is late, what met a conflict would only meet it again, five times a second.
func TestAWriteThatMetAConflictIsNotSentAgainOfTheSameState(t *testing.T) {
	g := NewWithT(t)
	standby := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: "web-standby-ipv4"}}
	observer, cached := observetest.Of(t, standby)
	var writes int
	late := interceptor.NewClient(cached.(client.WithWatch), interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
			writes++
			return apierrors.NewConflict(schema.GroupResource{Resource: "endpointslices"}, object.GetName(), nil)
		},
	})
	r := &Reconciler{Observer: observer, Client: late}
	g.Expect(cached.Get(t.Context(), client.ObjectKeyFromObject(standby), standby)).To(Succeed())
	standby.Labels = map[string]string{"promoted": "true"}
	plan := decide.Plan{Publish: []*discoveryv1.EndpointSlice{standby}}
	for range 3 { // Each event of the Service is one more try.
		_, err := r.apply(t.Context(), web, plan, exists)
		g.Expect(fault.Result(err)).To(HaveField("RequeueAfter", BeNumerically(">", changedMeanwhile)))
	}
	g.Expect(writes).To(Equal(1))
}

// A slice that a user gave to another Service is deleted for that one, and its events wake
// no other.
func TestASliceThatIsDeletedMeanwhileIsCreatedAgain(t *testing.T) {
	g := NewWithT(t)
	observer, empty := observetest.Of(t)
	observetest.Ask(&observer, empty)
	taken := interceptor.NewClient(empty.(client.WithWatch), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "endpointslices"}, object.GetName())
		},
	})
	r := &Reconciler{Observer: observer, Client: taken}
	refusal, err := r.publish(t.Context(), sliceOf("web-standby-ipv4", ""))
	g.Expect(refusal).To(BeNil())
	g.Expect(fault.Result(err)).To(HaveField("RequeueAfter", BeNumerically(">", 0)))
}
