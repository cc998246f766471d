package explain

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/golden"
)

// cluster holds the objects of a file, and no events.
func cluster(t *testing.T, g Gomega, file string) client.Client {
	scheme, err := access.Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(home).WithRuntimeObjects(golden.Objects(t, file)...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, from client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, are := list.(*eventsv1.EventList); are {
				return nil // It has no index of them.
			}
			return from.List(ctx, list, options...)
		},
	}).Build()
}

func TestAnOutageIsExplainedOnceTheOperatorHasReportedIt(t *testing.T) {
	for sentence, reports := range map[string]bool{"it does": true, "it does not run": false} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				to := cluster(t, g, "exposed.input.yaml")
				says := func(state criticalv2.ServiceState) {
					policy := &criticalv2.CriticalService{}
					g.Expect(to.Get(context.Background(), client.ObjectKey{Name: "backend"}, policy)).To(Succeed())
					policy.Status.Details[0].State = state
					g.Expect(to.Update(context.Background(), policy)).To(Succeed())
				}
				says(criticalv2.StateArmed)
				if reports {
					defer time.AfterFunc(1200*time.Millisecond, func() { says(criticalv2.StateExposed) }).Stop()
				}
				found, err := look(t.Context(), to, types.NamespacedName{Namespace: "shop", Name: "cart"})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(viewOf(found, night).Status.Outdated).To(Equal(!reports))
			})
		})
	}
}

func TestWithoutMaintenancesAServiceIsExplainedAllTheSame(t *testing.T) {
	for sentence, test := range map[string]struct {
		refused error
		notice  string
	}{
		"they may not be read":            {apierrors.NewForbidden(schema.GroupResource{Resource: "maintenances"}, "", nil), "You may not read Maintenances here: they are left out."},
		"the operator is older than that": {&meta.NoKindMatchError{GroupKind: criticalv2.MaintenanceKind.GroupKind()}, "This cluster does not know Maintenances: they are left out."},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			to := interceptor.NewClient(cluster(t, g, "exposed.input.yaml").(client.WithWatch), interceptor.Funcs{
				List: func(ctx context.Context, from client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					if _, are := list.(*criticalv2.MaintenanceList); are {
						return test.refused
					}
					return from.List(ctx, list, options...)
				},
			})
			found, err := read(t.Context(), to, types.NamespacedName{Namespace: "shop", Name: "cart"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(viewOf(found, night).Notices).To(ContainElement(test.notice))
		})
	}
}
