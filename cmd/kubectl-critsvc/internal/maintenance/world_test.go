package maintenance

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/internal/contract/listener"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// world is a namespace with a protected Service "web", whose page is prepared with the
// message "We move house.", and its Deployment with three replicas.
type world struct {
	*WithT
	t *testing.T
	client.Client
	out, errOut bytes.Buffer
	// refuse answers a write with an error; nil lets it pass.
	refuse func(verb string, object client.Object) error
	// scaled is called after a scale was written; its error is the answer.
	scaled func(replicas int32) error
	// refusesRestore refuses to write a scale that is not 0.
	refusesRestore bool
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t}
	scheme, err := access.Scheme()
	w.Expect(err).NotTo(HaveOccurred())
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{
		appsv1.SchemeGroupVersion.WithKind("Deployment"), autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
		rbacv1.SchemeGroupVersion.WithKind("Role"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
		corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Service"),
	} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	service, prepared := stage(func(s *corev1.Service, _ *discoveryv1.EndpointSlice, _ *listener.Listener) {
		s.Spec.Selector = map[string]string{"app": "web"}
	})
	objects = append(objects, prepared...)
	objects = append(objects,
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(3))}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-1", Labels: service.Spec.Selector,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", Controller: new(true)}},
		}},
		&criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Name: "all"},
			Status: criticalv2.ProtectionStatus{Details: []criticalv2.ServiceStatus{
				{Namespace: "shop", Name: "web", State: criticalv2.StateArmed},
			}},
		},
	)
	w.Client = fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if w.refuse != nil {
				if err := w.refuse("create", object); err != nil {
					return err
				}
			}
			return to.Create(ctx, object, options...)
		},
		SubResourceGet: func(ctx context.Context, from client.Client, _ string, object, scale client.Object, _ ...client.SubResourceGetOption) error {
			deployment := &appsv1.Deployment{}
			if err := from.Get(ctx, client.ObjectKeyFromObject(object), deployment); err != nil {
				return err
			}
			scale.SetResourceVersion(deployment.ResourceVersion)
			return unstructured.SetNestedField(scale.(*unstructured.Unstructured).Object, int64(*deployment.Spec.Replicas), "spec", "replicas")
		},
		SubResourcePatch: w.patchScale,
	}).Build()
	return w
}

func (w *world) patchScale(ctx context.Context, to client.Client, _ string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	deployment := &appsv1.Deployment{}
	if err := to.Get(ctx, client.ObjectKeyFromObject(object), deployment); err != nil {
		return err
	}
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	var wanted struct{ Spec struct{ Replicas int32 } }
	if err := json.Unmarshal(data, &wanted); err != nil {
		return err
	}
	if len((&client.SubResourcePatchOptions{}).ApplyOptions(options).DryRun) > 0 {
		return nil
	}
	if w.refusesRestore && wanted.Spec.Replicas > 0 {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "deployments/scale"}, object.GetName(), nil)
	}
	deployment.Spec.Replicas = new(wanted.Spec.Replicas)
	if err := to.Update(ctx, deployment); err != nil {
		return err
	}
	if w.scaled != nil {
		return w.scaled(wanted.Spec.Replicas)
	}
	return nil
}

// replicas is how many the Deployment is to have.
func (w *world) replicas() int32 {
	w.t.Helper()
	deployment := &appsv1.Deployment{}
	w.Expect(w.Get(w.t.Context(), web, deployment)).To(Succeed())
	return *deployment.Spec.Replicas
}

// scale is what another user does.
func (w *world) scale(replicas int32) {
	w.t.Helper()
	deployment := &appsv1.Deployment{}
	w.Expect(w.Get(w.t.Context(), web, deployment)).To(Succeed())
	deployment.Spec.Replicas = new(replicas)
	w.Expect(w.Update(w.t.Context(), deployment)).To(Succeed())
}

// announced is what the ConfigMap of the plugin says; nil if there is none.
func (w *world) announced() map[string]string {
	w.t.Helper()
	config := &corev1.ConfigMap{}
	err := w.Get(w.t.Context(), types.NamespacedName{Namespace: "shop", Name: "web-maintenance"}, config)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return config.Data
}

func (w *world) access() *access.Access {
	return access.New(genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &w.out, ErrOut: &w.errOut})
}

// on runs `maintenance on` with the message for which the page is prepared.
func (w *world) on(ctx context.Context, changes ...func(*announcement)) error {
	a := &announcement{
		to: w.access(), client: w, name: web, message: "We move house.", messageGiven: true,
		scaleDown: true, scaleGiven: true, yes: true, timeout: patience, operator: "operators/critical",
	}
	for _, change := range changes {
		change(a)
	}
	return a.perform(ctx)
}

// off runs `maintenance off`, and does not wait for the application.
func (w *world) off() error {
	return (&ending{to: w.access()}).perform(w.t.Context(), w, web)
}

// existing is a ConfigMap of the plugin's.
func existing(data ...string) *corev1.ConfigMap {
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-maintenance", UID: "existing",
			Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderMaintenance},
		},
		Data: map[string]string{"service": "web", "message": "We move house.", "workload": "deployments.apps/web", "replicas": "3"},
	}
	for i := 0; i < len(data); i += 2 {
		config.Data[data[i]] = data[i+1]
	}
	return config
}
