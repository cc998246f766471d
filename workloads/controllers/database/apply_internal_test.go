package database

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/internal/controller/fault"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// What ran goes on, and is put right, whatever becomes of its ServiceFallback.
func TestAServiceIsMadeOnceItsFallbackIsWrittenOrRefused(t *testing.T) {
	resource := schema.GroupResource{Group: "mycrd.com", Resource: "servicefallbacks"}
	for sentence, c := range map[string]struct {
		fails  error
		exists bool
		// writes are the kinds that are applied, in their order.
		writes []string
		class  fault.Class
	}{
		"it is written":                           {nil, false, []string{"ServiceFallback", "Service"}, fault.None},
		"it is refused":                           {apierrors.NewForbidden(resource, "orders", nil), false, []string{"ServiceFallback", "Service"}, fault.None},
		"there is no answer":                      {errors.New("the connection broke"), false, []string{"ServiceFallback"}, fault.Retry},
		"another user has just made one":          {apierrors.NewConflict(resource, "orders", nil), false, []string{"ServiceFallback"}, fault.Wait},
		"it is not served everywhere yet":         {apierrors.NewNotFound(resource, ""), false, []string{"ServiceFallback"}, fault.Wait},
		"there is no answer, of one that existed": {errors.New("the connection broke"), true, []string{"ServiceFallback", "Service"}, fault.Retry},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			var writes []string
			r := &Reconciler{client: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Apply: func(_ context.Context, _ client.WithWatch, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
					kind := object.(runtime.Object).GetObjectKind().GroupVersionKind().Kind
					writes = append(writes, kind)
					if kind == "ServiceFallback" {
						return c.fails
					}
					return nil
				},
			})}
			d := &workloadsv1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders", UID: "1"}, Spec: workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo}}
			service := render.Service(d)
			snap := &decide.Snapshot{Database: d, Fallback: fallback.Seen{Served: true}}
			if c.exists {
				snap.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: "2"}}
			}
			plan := &decide.Plan{Fallback: fallback.Change{Apply: fallback.For(service, render.Owner(d), nil)}, Service: service}
			done, err := r.apply(t.Context(), snap, plan)
			g.Expect(writes).To(Equal(c.writes))
			g.Expect(fault.Of(err)).To(Equal(c.class), "an error is retried")
			g.Expect(done.wasRefused()).To(Equal(apierrors.IsForbidden(c.fails)), "the status says it")
		})
	}
}
