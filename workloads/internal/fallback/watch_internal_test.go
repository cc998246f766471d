package fallback

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/bulk"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/internal/ownership"
)

// Any user of a namespace can label a ServiceFallback so that it is cached.
func TestTheServiceFallbacksOfStrangersTakeLittleMemory(t *testing.T) {
	g := NewWithT(t)
	object := bulk.Fill(&criticalv2.ServiceFallback{})
	object.Name, object.Namespace, object.UID, object.ResourceVersion = "orders", "shop", "1", "2"
	object.Labels[workloadsv1.LabelManagedBy] = workloadsv1.ManagedBy
	object.Annotations[workloadsv1.AnnotationApplied] = strings.Repeat("x", 200_000)
	// Only the core writes the status.
	object.Status.Conditions[0] = metav1.Condition{Type: criticalv2.ConditionReady, Status: metav1.ConditionTrue, Reason: "Armed"}
	object.Status.Details[0] = criticalv2.ServiceStatus{Namespace: "shop", Name: "orders", State: criticalv2.StateArmed}

	slim, err := slim(object)
	g.Expect(err).NotTo(HaveOccurred())
	kept, err := json.Marshal(slim)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(kept)).To(BeNumerically("<", 2_500), "%.3000s", kept)
	g.Expect(slim.(*criticalv2.ServiceFallback).Spec).To(BeZero())
	g.Expect(slim.(*criticalv2.ServiceFallback).Status.DetailOf("shop", "orders").State).To(Equal(criticalv2.StateArmed))
	g.Expect(slim.(*criticalv2.ServiceFallback).Status.Conditions).To(HaveLen(1))
}

// What is kept must not look as if something were to be written.
func TestTheServiceFallbackOfADatabaseIsKeptAsItWasApplied(t *testing.T) {
	g := NewWithT(t)
	owner := &ownership.Owner{
		Reference: metav1.OwnerReference{APIVersion: "mycrd.com/v1", Kind: "Database", Name: "orders", UID: "1", Controller: new(true)},
		Labels:    []string{workloadsv1.LabelDatabase},
	}
	service := &metav1.ObjectMeta{Namespace: "shop", Name: "orders", Labels: map[string]string{
		workloadsv1.LabelApp: workloadsv1.AppDatabase, workloadsv1.LabelDatabase: "orders", workloadsv1.LabelManagedBy: workloadsv1.ManagedBy,
	}}
	wanted := For(service, owner, nil)
	applied := wanted.DeepCopy()
	applied.Spec.Fallback.Page.StatusCode = 503
	slim, err := slim(applied)
	g.Expect(err).NotTo(HaveOccurred())
	seen := Seen{Served: true, Object: slim.(*criticalv2.ServiceFallback)}
	g.Expect(seen.ChangeOf(wanted, owner)).To(Equal(Change{}))

	seen.Object.OwnerReferences = nil
	g.Expect(seen.ChangeOf(wanted, owner)).To(Equal(Change{Apply: wanted}), "what was orphaned is taken back")
	g.Expect(seen.ChangeOf(nil, owner)).To(Equal(Change{Remove: seen.Object}))
	seen.Object.Labels = nil
	g.Expect(seen.ChangeOf(wanted, owner)).To(Equal(Change{}), "another's is left alone")
}

// served is the core's kind while it is served.
type served struct{ Kind }

func (served) Available() bool { return true }

// At a cold start, or while the ServiceFallbacks cannot be listed, a Service that is made would
// otherwise have none.
func TestAServiceFallbackIsReadBeforeTheCacheIsFull(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "orders"}
	stored := &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, ResourceVersion: "2"}}
	resource := schema.GroupResource{Group: "mycrd.com", Resource: "servicefallbacks"}
	broken := errors.New("the connection broke")
	for sentence, c := range map[string]struct {
		objects []client.Object
		fails   error
		want    Seen
		err     error
	}{
		"one that is there":        {objects: []client.Object{stored}, want: Seen{Served: true, Object: stored}},
		"one that is not":          {want: Seen{Served: true}},
		"one that may not be read": {fails: apierrors.NewForbidden(resource, "orders", nil), want: Seen{Served: true, Refused: `servicefallbacks.mycrd.com "orders" is forbidden: <nil>. Have it allowed: admission policy, permission.`}},
		"one that the API server fails to read": {
			fails: apierrors.NewInternalError(broken),
			want: Seen{Served: true, Failed: true, Refused: "Internal error occurred: the connection broke. It is retried: " +
				"if it stays so, see why the API server or an admission webhook fails."},
		},
		"one that has no answer":        {fails: broken, want: Seen{Served: true}, err: broken},
		"one that has to be read again": {fails: apierrors.NewTooManyRequests("wait", 1), want: Seen{Served: true}, err: apierrors.NewTooManyRequests("wait", 1)},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(criticalv2.AddToScheme(scheme)).To(Succeed())
			live := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.objects...).Build(), interceptor.Funcs{
				Get: func(ctx context.Context, from client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
					if c.fails != nil {
						return c.fails
					}
					return from.Get(ctx, key, into, options...)
				},
			})
			seen, err := (&Watch{kind: served{}}).See(t.Context(), live, key)
			if c.err != nil {
				g.Expect(err).To(MatchError(c.err))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(seen).To(Equal(c.want))
		})
	}
}
