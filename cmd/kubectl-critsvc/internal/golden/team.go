package golden

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
)

// Team reads some objects as a team does that has rights in its namespace alone: what is in
// no namespace, or in all of them, is forbidden.
func Team(t *testing.T, objects []runtime.Object) client.Client {
	t.Helper()
	return Reader(t, objects, func(object any, namespace string) bool {
		switch object.(type) {
		case *criticalv2.CriticalServiceList, *corev1.Namespace:
			return true
		case client.ObjectList:
			return namespace == ""
		default:
			return false
		}
	})
}

// Reader reads some objects, without those that are forbidden. It knows no events.
func Reader(t *testing.T, objects []runtime.Object, forbidden func(object any, namespace string) bool) client.Client {
	t.Helper()
	scheme, err := access.Scheme()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("not for a team"))
	return fake.NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, from client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if forbidden(object, key.Namespace) {
				return refused
			}
			return from.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, from client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if forbidden(list, (&client.ListOptions{}).ApplyOptions(options).Namespace) {
				return refused
			}
			if _, are := list.(*eventsv1.EventList); are {
				return nil // The fake client has no index of them.
			}
			return from.List(ctx, list, options...)
		},
	}).Build()
}
