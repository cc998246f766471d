package appconfig

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	kubeevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// slimming reads as the cache does.
type slimming struct{ client.Reader }

func (s slimming) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if err := s.Reader.Get(ctx, key, into, options...); err != nil {
		return err
	}
	app, isAppConfig := into.(*workloadsv2.AppConfig)
	if !isAppConfig {
		return nil
	}
	slim, err := slimAppConfig(app)
	*app = *slim.(*workloadsv2.AppConfig)
	return err
}

func (s slimming) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if err := s.Reader.List(ctx, into, options...); err != nil {
		return err
	}
	var slimmed []runtime.Object
	err := meta.EachListItem(into, func(object runtime.Object) error {
		transform := slimWorkload
		if _, isConfigMap := object.(*corev1.ConfigMap); isConfigMap {
			transform = slimConfigMap
		}
		slim, err := transform(object)
		slimmed = append(slimmed, slim.(runtime.Object))
		return err
	})
	if err != nil {
		return err
	}
	return meta.SetList(into, slimmed)
}

// reconciling makes a Reconciler of the AppConfig "shop" and other objects, whose writes may
// fail.
func reconciling(g Gomega, failing interceptor.Funcs, objects ...client.Object) (*Reconciler, client.Client) {
	scheme := runtime.NewScheme()
	known := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, workloadsv2.AddToScheme)
	g.Expect(known.AddToScheme(scheme)).To(Succeed())
	app := &workloadsv2.AppConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop", UID: "app-1", Generation: 1}}
	app.Spec.Configuration.Settings = workloadsv2.Settings{"LOG_LEVEL": "debug"}
	building := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, app)...).WithStatusSubresource(app)
	for _, kind := range []client.Object{&corev1.ConfigMap{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}} {
		building.WithIndex(kind, workloadsv2.LabelAppConfig, byAppConfig)
	}
	stored := building.Build()
	return &Reconciler{
		observer: observer{cached: slimming{stored}, live: stored, clock: clock.RealClock{}, searches: newPace()},
		Emitter:  events.Emitter{Recorder: kubeevents.NewFakeRecorder(100), Scheme: scheme},
		client:   interceptor.NewClient(stored, failing),
	}, stored
}

// readyOf is the condition Ready of the AppConfig "shop" after a pass.
func readyOf(t *testing.T, g Gomega, r *Reconciler, stored client.Client) (*metav1.Condition, ctrl.Result) {
	t.Helper()
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "web", Name: "shop"}})
	g.Expect(err).NotTo(HaveOccurred())
	var app workloadsv2.AppConfig
	g.Expect(stored.Get(t.Context(), types.NamespacedName{Namespace: "web", Name: "shop"}, &app)).To(Succeed())
	ready := meta.FindStatusCondition(app.Status.Conditions, workloadsv2.ConditionReady)
	g.Expect(ready).NotTo(BeNil())
	return ready, result
}

// configMapsAfter are the ConfigMaps that are there after some passes.
func (r *Reconciler) configMapsAfter(t *testing.T, g Gomega, stored client.Client) []corev1.ConfigMap {
	t.Helper()
	for range 3 {
		readyOf(t, g, r, stored)
	}
	var list corev1.ConfigMapList
	g.Expect(stored.List(t.Context(), &list)).To(Succeed())
	return list.Items
}

// The cache does not keep all of the owners, nor their names.
func TestOwnersThatOthersWroteStay(t *testing.T) {
	g := NewWithT(t)
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: "mine", UID: "secret-1"}
	r, stored := reconciling(g, interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
		return nil
	}})
	config := r.configMapsAfter(t, g, stored)[0]
	config.OwnerReferences = append(config.OwnerReferences, other)
	g.Expect(stored.Update(t.Context(), &config)).To(Succeed())
	g.Expect(stored.Create(t.Context(), deployment(func(d *appsv1.Deployment) { d.ResourceVersion = "" }))).To(Succeed())
	owners := r.configMapsAfter(t, g, stored)[0].OwnerReferences
	g.Expect(owners).To(ConsistOf(
		HaveField("Kind", "AppConfig"), Equal(other), Equal(metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "storefront", UID: "1"}),
	))
}

func TestWhatIsOfAnEarlierAppConfigIsWaitedFor(t *testing.T) {
	g := NewWithT(t)
	r, stored := reconciling(g, interceptor.Funcs{})
	config := r.configMapsAfter(t, g, stored)[0]
	config.OwnerReferences[0].UID = "app-0"
	g.Expect(stored.Update(t.Context(), &config)).To(Succeed())
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "web", Name: "shop"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(fault.CacheBehind))
	var app workloadsv2.AppConfig
	g.Expect(stored.Get(t.Context(), types.NamespacedName{Namespace: "web", Name: "shop"}, &app)).To(Succeed())
	g.Expect(meta.IsStatusConditionTrue(app.Status.Conditions, workloadsv2.ConditionStalled)).To(BeFalse(), "no person has to act")
}

// forgetful is a cache that has not seen some ConfigMap yet.
type forgetful struct {
	client.Reader
	name string
}

func (f forgetful) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := f.Reader.List(ctx, list, options...)
	if configs, are := list.(*corev1.ConfigMapList); are {
		configs.Items = slices.DeleteFunc(configs.Items, func(c corev1.ConfigMap) bool { return c.Name == f.name })
	}
	return err
}

// Else two would have one number, and the wrong one would count as the oldest.
func TestAChangeWaitsUntilTheCacheHasTheLastConfigMap(t *testing.T) {
	g := NewWithT(t)
	r, stored := reconciling(g, interceptor.Funcs{})
	last := r.configMapsAfter(t, g, stored)[0]
	var app workloadsv2.AppConfig
	g.Expect(stored.Get(t.Context(), types.NamespacedName{Namespace: "web", Name: "shop"}, &app)).To(Succeed())
	app.Spec.Configuration.Settings = workloadsv2.Settings{"LOG_LEVEL": "info"}
	g.Expect(stored.Update(t.Context(), &app)).To(Succeed())

	cached := r.cached
	r.cached = forgetful{cached, last.Name}
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&app)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(fault.CacheBehind))
	var list corev1.ConfigMapList
	g.Expect(stored.List(t.Context(), &list)).To(Succeed())
	g.Expect(list.Items).To(HaveLen(1))

	r.cached = cached
	var numbers []string
	for _, config := range r.configMapsAfter(t, g, stored) {
		numbers = append(numbers, config.Annotations[workloadsv2.AnnotationRevision])
	}
	g.Expect(numbers).To(ConsistOf("1", "2"))
}

// A namespace may have thousands of AppConfigs, and each of them many objects.
func TestALookReadsOnlyWhatIsOfTheAppConfig(t *testing.T) {
	g := NewWithT(t)
	r, stored := reconciling(g, interceptor.Funcs{})
	lists := 0
	r.cached = slimming{interceptor.NewClient(stored.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, options ...client.ListOption) error {
			asked := (&client.ListOptions{}).ApplyOptions(options)
			g.Expect(asked.FieldSelector).NotTo(BeNil(), "a label is compared with that of every object of the namespace, a field is looked up")
			lists++
			return c.List(ctx, into, options...)
		},
	})}
	readyOf(t, g, r, stored)
	g.Expect(lists).To(Equal(3))
}

var deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}

// The operator would otherwise try again every second: a retry changes nothing.
func TestAFieldThatTheCacheDoesNotShowAsAnothersIsAConflict(t *testing.T) {
	g := NewWithT(t)
	r, stored := reconciling(g, interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict}}, "conflict with \"\"")
		},
	}, deployment(nil))
	ready, result := readyOf(t, g, r, stored)
	g.Expect(ready.Reason).To(Equal(workloadsv2.ReasonFieldConflict))
	g.Expect(ready.Message).To(ContainSubstring("set by another field manager"))
	g.Expect(result.RequeueAfter).To(BeZero(), "a watch reports when that ends")
}

func TestAWorkloadThatIsMadeAgainMeanwhileIsNoConflict(t *testing.T) {
	g := NewWithT(t)
	r, _ := reconciling(g, interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return apierrors.NewConflict(deployments, "storefront", http.ErrServerClosed)
		},
	}, deployment(nil))
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "web", Name: "shop"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(time.Second), "the late event is waited for")
}

// The API server answers for a webhook that fails with 500, as for itself.
func TestAWriteThatIsNotAcceptedIsSaid(t *testing.T) {
	for sentence, c := range map[string]struct {
		refusal error
		remedy  string
	}{
		"by a quota":                         {apierrors.NewForbidden(corev1.Resource("configmaps"), "shop", errors.New("exceeded quota: small")), "Raise the quota, or ask for less."},
		"by a policy":                        {apierrors.NewForbidden(corev1.Resource("configmaps"), "shop", http.ErrNotSupported), "Have it allowed: admission policy, permission."},
		"because an admission webhook fails": {apierrors.NewInternalError(http.ErrHandlerTimeout), "see why the API server or an admission webhook fails"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			r, stored := reconciling(g, interceptor.Funcs{
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return c.refusal },
			})
			ready, result := readyOf(t, g, r, stored)
			g.Expect(ready.Reason).To(Equal(workloadsv2.ReasonWriteDenied))
			g.Expect(ready.Message).To(And(ContainSubstring(c.refusal.Error()), ContainSubstring(c.remedy)))
			g.Expect(result.RequeueAfter).To(BeNumerically(">", 0))
		})
	}
}

// newer reads an AppConfig that has changed since the caches were filled.
type newer struct{ client.Reader }

func (n newer) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := n.Reader.Get(ctx, key, into, options...)
	into.SetGeneration(into.GetGeneration() + 1)
	return err
}

func TestNoWorkloadTakesWhatAnOldListSays(t *testing.T) {
	g := NewWithT(t)
	rolled := 0
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "web", UID: "web-1", Labels: map[string]string{workloadsv2.LabelAppConfig: "shop"}}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	r, stored := reconciling(g, interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
		rolled++
		return nil
	}}, d)
	r.configMapsAfter(t, g, stored)
	g.Expect(rolled).To(BeNumerically(">", 0))

	before := rolled
	r.live = newer{stored}
	_, result := readyOf(t, g, r, stored)
	g.Expect(result.RequeueAfter).To(Equal(fault.CacheBehind))
	g.Expect(rolled).To(Equal(before))
}
