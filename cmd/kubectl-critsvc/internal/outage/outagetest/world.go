// Package outagetest is an API server for tests, in which applications are taken away:
// it has scales, and an operator that follows Maintenances.
package outagetest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
)

// Web is the Service of the tests, and the workload behind it.
var Web = types.NamespacedName{Namespace: "shop", Name: "web"}

// World is the API server, and the operator.
type World struct {
	*WithT
	client.Client
	// Operator is the user name of the operator; empty if it does not run.
	Operator string
	// Refuse answers a request about an object, or the list of a kind, with an error; nil
	// lets it pass. The verb "scale" is a scale that is written.
	Refuse func(verb string, object client.Object) error
	// Scaled is called after a scale was written; its error is the answer.
	Scaled func(replicas int32) error

	t *testing.T
	// taken is what is taken away: the Deployment, or a StatefulSet where there is one.
	taken criticalv2.WorkloadReplicas
}

// NewWorld makes a world with some objects.
func NewWorld(t *testing.T, objects ...client.Object) *World {
	t.Helper()
	w := &World{WithT: NewWithT(t), t: t, Operator: "system:serviceaccount:operators:critical"}
	w.taken.Deployment = Web.Name
	if slices.ContainsFunc(objects, func(object client.Object) bool { _, is := object.(*appsv1.StatefulSet); return is }) {
		w.taken.StatefulSet = Web.Name
	}
	scheme, err := access.Scheme()
	w.Expect(err).NotTo(HaveOccurred())
	w.Client = fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).
		WithStatusSubresource(&criticalv2.Maintenance{}).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if object.GetUID() == "" {
				object.SetUID(types.UID("uid of " + object.GetName()))
			}
			return w.write(ctx, to, "create", object, func() error { return to.Create(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, to client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return w.write(ctx, to, "patch", object, func() error { return to.Patch(ctx, object, patch, options...) })
		},
		Delete: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return w.write(ctx, to, "delete", object, func() error { return to.Delete(ctx, object, options...) })
		},
		Get: func(ctx context.Context, from client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := w.refused("get", object); err != nil {
				return err
			}
			return from.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, from client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			kinds, _, err := scheme.ObjectKinds(list)
			if err != nil {
				return err
			}
			one, err := scheme.New(kinds[0].GroupVersion().WithKind(kinds[0].Kind[:len(kinds[0].Kind)-len("List")]))
			if err != nil {
				return err
			}
			if err := w.refused("list", one.(client.Object)); err != nil {
				return err
			}
			return from.List(ctx, list, options...)
		},
		SubResourceGet:   getScale,
		SubResourcePatch: w.patchScale,
	}).Build()
	return w
}

func (w *World) refused(verb string, object client.Object) error {
	if w.Refuse == nil {
		return nil
	}
	return w.Refuse(verb, object)
}

// write carries a request out, and lets the operator follow it.
func (w *World) write(ctx context.Context, to client.Client, verb string, object client.Object, do func() error) error {
	if err := w.refused(verb, object); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	if _, is := object.(*criticalv2.Maintenance); is && w.Operator != "" {
		w.follow(context.WithoutCancel(ctx), to, client.ObjectKeyFromObject(object))
	}
	return nil
}

// Forbidden is how the API server refuses one verb on one kind.
func Forbidden[T client.Object](verb string) func(string, client.Object) error {
	return func(tried string, object client.Object) error {
		if _, is := object.(T); is && tried == verb {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, object.GetName(), nil)
		}
		return nil
	}
}

func getScale(ctx context.Context, from client.Client, _ string, object, scale client.Object, _ ...client.SubResourceGetOption) error {
	stored, err := scaled(ctx, from, object)
	if err != nil {
		return err
	}
	replicas, _, err := unstructured.NestedInt64(stored.Object, "spec", "replicas")
	if err != nil {
		return err
	}
	scale.SetResourceVersion(stored.GetResourceVersion())
	return unstructured.SetNestedField(scale.(*unstructured.Unstructured).Object, replicas, "spec", "replicas")
}

func (w *World) patchScale(ctx context.Context, to client.Client, _ string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if err := w.refused("scale", object); err != nil {
		return err
	}
	stored, err := scaled(ctx, to, object)
	if err != nil {
		return err
	}
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	var wanted struct {
		Metadata struct{ ResourceVersion string }
		Spec     struct{ Replicas int32 }
	}
	if err := json.Unmarshal(data, &wanted); err != nil {
		return err
	}
	if wanted.Metadata.ResourceVersion != stored.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{Resource: "scales"}, object.GetName(), nil)
	}
	if len((&client.SubResourcePatchOptions{}).ApplyOptions(options).DryRun) > 0 {
		return nil
	}
	if err := unstructured.SetNestedField(stored.Object, int64(wanted.Spec.Replicas), "spec", "replicas"); err != nil {
		return err
	}
	if err := to.Update(ctx, stored); err != nil || w.Scaled == nil {
		return err
	}
	return w.Scaled(wanted.Spec.Replicas)
}

// scaled reads an object of a kind that has a scale.
func scaled(ctx context.Context, from client.Client, object client.Object) (*unstructured.Unstructured, error) {
	kind := object.GetObjectKind().GroupVersionKind()
	switch kind.Kind {
	case "Deployment", "ReplicaSet", "StatefulSet":
	default:
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: kind.Kind}, object.GetName())
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(kind)
	return stored, from.Get(ctx, client.ObjectKeyFromObject(object), stored)
}

// Replicas is how many the workload is to have.
func (w *World) Replicas() int32 {
	w.t.Helper()
	return w.replicasOf(w.workload(w.t.Context(), w, &w.taken))
}

// Scale is what another user does.
func (w *World) Scale(replicas int32) {
	w.t.Helper()
	w.set(w.t.Context(), w, w.workload(w.t.Context(), w, &w.taken), replicas)
}

// Maintenance is that of the Service's name; nil if there is none.
func (w *World) Maintenance() *criticalv2.Maintenance {
	w.t.Helper()
	m := &criticalv2.Maintenance{}
	err := w.Get(w.t.Context(), Web, m)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return m
}

// Existing is a Maintenance of the Service, which owes its Deployment three replicas. What
// the operator says of it is what it says of one that runs.
func Existing(changes ...func(*criticalv2.Maintenance)) *criticalv2.Maintenance {
	m := &criticalv2.Maintenance{ObjectMeta: metav1.ObjectMeta{Namespace: Web.Namespace, Name: Web.Name, UID: "existing"}}
	m.Spec.Services, m.Spec.Message = []string{Web.Name}, "We move house."
	m.Spec.Restore = &criticalv2.WorkloadReplicas{Deployment: Web.Name, Replicas: 3}
	m.Status.Operator, m.Status.Owed = "system:serviceaccount:operators:critical", m.Spec.Restore.DeepCopy()
	m.Finalizers = []string{criticalv2.FinalizerRestore}
	for _, change := range changes {
		change(m)
	}
	return m
}
