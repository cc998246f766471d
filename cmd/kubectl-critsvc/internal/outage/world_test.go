package outage_test

import (
	"context"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
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

const namespace = "shop"

// world is an API server with scales: those of Deployments, ReplicaSets and
// StatefulSets.
type world struct {
	*WithT
	t *testing.T
	client.Client
	// refuse answers a write, a read or the list of a kind with an error; nil lets it pass.
	refuse func(verb string, object client.Object) error
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t}
	scheme, err := access.Scheme()
	w.Expect(err).NotTo(HaveOccurred())
	w.Client = fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().WithRESTMapper(mapper()).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.CreateOption) error {
				if err := w.refused("create", object); err != nil {
					return err
				}
				if object.GetUID() == "" {
					object.SetUID(types.UID("uid of " + object.GetName()))
				}
				return to.Create(ctx, object, options...)
			},
			Get: func(ctx context.Context, from client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				if err := w.refused("get", object); err != nil {
					return err
				}
				return from.Get(ctx, key, object, options...)
			},
			List: func(ctx context.Context, from client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				var kind client.Object
				switch list.(type) {
				case *corev1.ServiceList:
					kind = &corev1.Service{}
				case *criticalv2.CriticalServiceList:
					kind = &criticalv2.CriticalService{}
				}
				if kind != nil {
					if err := w.refused("list", kind); err != nil {
						return err
					}
				}
				return from.List(ctx, list, options...)
			},
			SubResourceGet:   w.getScale,
			SubResourcePatch: w.patchScale,
		}).Build()
	return w
}

func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion})
	for _, kind := range []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"} {
		m.Add(appsv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	for _, kind := range []string{"Pod", "Service", "ConfigMap"} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	for _, kind := range []string{"Role", "RoleBinding"} {
		m.Add(rbacv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	m.Add(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), meta.RESTScopeNamespace)
	return m
}

func (w *world) refused(verb string, object client.Object) error {
	if w.refuse == nil {
		return nil
	}
	return w.refuse(verb, object)
}

// forbidden is how the API server refuses one verb on one kind.
func forbidden[T client.Object](verb string) func(string, client.Object) error {
	return func(tried string, object client.Object) error {
		if _, is := object.(T); is && tried == verb {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, object.GetName(), nil)
		}
		return nil
	}
}

func (w *world) getScale(ctx context.Context, from client.Client, _ string, object, scale client.Object, _ ...client.SubResourceGetOption) error {
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

func (w *world) patchScale(ctx context.Context, to client.Client, _ string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
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
		Spec     struct{ Replicas int64 }
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
	if err := unstructured.SetNestedField(stored.Object, wanted.Spec.Replicas, "spec", "replicas"); err != nil {
		return err
	}
	return to.Update(ctx, stored)
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

// replicas is how many a Deployment is to have.
func (w *world) replicas(name string) int32 {
	w.t.Helper()
	deployment := &appsv1.Deployment{}
	w.Expect(w.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, deployment)).To(Succeed())
	return *deployment.Spec.Replicas
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid of " + name)}
}

func ownedBy(meta metav1.ObjectMeta, kind, owner string) metav1.ObjectMeta {
	version := "apps/v1"
	if kind == "Shop" {
		version = "example.com/v1"
	}
	meta.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: version, Kind: kind, Name: owner, UID: types.UID("uid of " + owner), Controller: new(true),
	}}
	return meta
}

func service() *corev1.Service {
	return &corev1.Service{ObjectMeta: named("web"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}}
}

// pod is one that the Service selects.
func pod(name, kind, owner string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: named(name)}
	if kind != "" {
		p.ObjectMeta = ownedBy(p.ObjectMeta, kind, owner)
	}
	p.Labels = map[string]string{"app": "web"}
	for _, change := range changes {
		change(p)
	}
	return p
}

func deployment(name string, replicas int32, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: named(name), Spec: appsv1.DeploymentSpec{Replicas: new(replicas)}}
	for _, change := range changes {
		change(d)
	}
	return d
}

func replicaSet(name, deployment string) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: ownedBy(named(name), "Deployment", deployment), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3))}}
}

// application is a Deployment "web" with three replicas, and one of its Pods.
func application(changes ...func(*appsv1.Deployment)) []client.Object {
	return []client.Object{service(), pod("web-1", "ReplicaSet", "web-abc"), replicaSet("web-abc", "web"), deployment("web", 3, changes...)}
}
