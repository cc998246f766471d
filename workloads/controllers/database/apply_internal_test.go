package database

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// What ran goes on, and is put right, whatever becomes of its ServiceFallback.
func TestAServiceIsMadeOnceItsFallbackIsWrittenOrRefused(t *testing.T) {
	resource := schema.GroupResource{Group: "mycrd.com", Resource: "servicefallbacks"}
	fails := apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
	for sentence, c := range map[string]struct {
		fails  error
		exists bool
		// since is for how long it has been refused.
		since time.Duration
		// writes are the kinds that are applied, in their order.
		writes []string
		class  fault.Class
		// isSaid reports whether the status says that it is refused.
		isSaid bool
	}{
		"it is written":                             {nil, false, 0, []string{"ServiceFallback", "Service"}, fault.None, false},
		"it is refused":                             {apierrors.NewForbidden(resource, "orders", nil), false, 0, []string{"ServiceFallback", "Service"}, fault.None, true},
		"there is no answer":                        {errors.New("the connection broke"), false, 0, []string{"ServiceFallback"}, fault.Retry, false},
		"another user has just made one":            {apierrors.NewConflict(resource, "orders", nil), false, 0, []string{"ServiceFallback"}, fault.Wait, false},
		"it is not served everywhere yet":           {apierrors.NewNotFound(resource, ""), false, 0, []string{"ServiceFallback"}, fault.Wait, false},
		"there is no answer, of one that existed":   {errors.New("the connection broke"), true, 0, []string{"ServiceFallback", "Service"}, fault.Retry, false},
		"the API server fails":                      {fails, false, 0, []string{"ServiceFallback"}, fault.None, true},
		"the API server fails, for a while":         {fails, false, 29 * time.Second, []string{"ServiceFallback"}, fault.None, true},
		"the API server fails for long":             {fails, false, 30 * time.Second, []string{"ServiceFallback", "Service"}, fault.None, true},
		"the API server fails, of one that existed": {fails, true, 0, []string{"ServiceFallback", "Service"}, fault.None, true},
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
			now := time.Now()
			snap := &decide.Snapshot{Now: now, Database: d, Fallback: fallback.Seen{Served: true}}
			snap.Ages = new(recheck.Reasons).Observe(types.NamespacedName{}, []metav1.Condition{{
				Type: workloadsv1.ConditionProtected, Reason: workloadsv1.ReasonCreateDenied, LastTransitionTime: metav1.NewTime(now.Add(-c.since)),
			}}, now)
			if c.exists {
				snap.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: "2"}}
			}
			plan := &decide.Plan{Fallback: fallback.Change{Apply: fallback.For(service, render.Owner(d), nil)}, Service: service}
			done, err := r.apply(t.Context(), snap, plan)
			g.Expect(writes).To(Equal(c.writes))
			g.Expect(fault.Of(err)).To(Equal(c.class), "an error is retried")
			g.Expect(done.tell(snap)).To(Equal(c.isSaid))
		})
	}
}

// Between the Snapshot and the write a user, or another leader, may have been there.
func TestWhatChangedMeanwhileIsReadAgain(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(d *workloadsv1.Database, claim *corev1.PersistentVolumeClaim, pod *corev1.Pod)
		class  fault.Class
	}{
		"nothing has changed":       {func(*workloadsv1.Database, *corev1.PersistentVolumeClaim, *corev1.Pod) {}, fault.None},
		"the spec has changed back": {func(d *workloadsv1.Database, _ *corev1.PersistentVolumeClaim, _ *corev1.Pod) { d.Generation++ }, fault.Wait},
		"the Database is another":   {func(d *workloadsv1.Database, _ *corev1.PersistentVolumeClaim, _ *corev1.Pod) { d.UID = "2" }, fault.Wait},
		"the Pod has changed": {func(_ *workloadsv1.Database, _ *corev1.PersistentVolumeClaim, pod *corev1.Pod) {
			pod.ResourceVersion = "8"
		}, fault.Wait},
		"the claim is being deleted": {func(_ *workloadsv1.Database, claim *corev1.PersistentVolumeClaim, _ *corev1.Pod) {
			claim.DeletionTimestamp, claim.Finalizers = new(metav1.Now()), []string{"kubernetes.io/pvc-protection"}
		}, fault.Wait},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			d := &workloadsv1.Database{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders", UID: "1", Generation: 1},
				Spec:       workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo, Storage: &workloadsv1.DatabaseStorage{Size: "1Gi"}},
			}
			claim, pod := render.Claim(d), render.Pod(d, "mongo:4.0")
			pod.ResourceVersion = "7"
			now, nowClaim, nowPod := d.DeepCopy(), claim.DeepCopy(), pod.DeepCopy()
			c.change(now, nowClaim, nowPod)
			stored := storing(t, now, nowClaim, nowPod)
			r := &Reconciler{observer: observer{live: stored}, client: stored}

			_, err := r.apply(t.Context(), &decide.Snapshot{Database: d, Claim: claim, Pod: pod}, &decide.Plan{RemovePod: &decide.Removal{Pod: pod}})
			g.Expect(fault.Of(err)).To(Equal(c.class), "%v", err)
			gone := apierrors.IsNotFound(stored.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}))
			g.Expect(gone).To(Equal(err == nil))
		})
	}
}

// A cache that is behind makes Pods of a spec that is over, and takes trials of the present one for those of no use.
func TestPodsComeAndGoForTheSpecThatIsStored(t *testing.T) {
	d := &workloadsv1.Database{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders", UID: "1", Generation: 1},
		Spec:       workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo},
	}
	pod := render.Pod(d, "mongo:4.0")
	trial := render.Trial(d, "mongo:7.0", pod)
	for sentence, plan := range map[string]*decide.Plan{
		"a Pod is made":          {CreatePod: pod},
		"a trial is made":        {CreateTrial: &decide.Trial{Pod: trial, Successor: pod}},
		"a trial is taken away":  {RemoveTrial: &decide.Removal{Pod: trial}},
		"a Pod and a trial both": {CreatePod: pod, RemoveTrial: &decide.Removal{Pod: trial}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			now := d.DeepCopy()
			now.Generation = 2
			var writes int
			stored := storing(t, now)
			r := &Reconciler{observer: observer{live: stored}, client: interceptor.NewClient(stored, interceptor.Funcs{
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
					writes++
					return nil
				},
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
					writes++
					return nil
				},
			})}

			_, err := r.apply(t.Context(), &decide.Snapshot{Database: d}, plan)
			g.Expect(fault.Of(err)).To(Equal(fault.Wait), "%v", err)
			g.Expect(writes).To(BeZero())
			_, err = r.apply(t.Context(), &decide.Snapshot{Database: now}, plan)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(writes).To(BeNumerically(">", 0))
		})
	}
}

// A Pod that the cache does not know well enough stays, and with it the trial of what follows it.
func TestATrialStaysWhereThePodCannotGo(t *testing.T) {
	g := NewWithT(t)
	d := &workloadsv1.Database{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders", UID: "1", Generation: 1},
		Spec:       workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo},
	}
	pod := render.Pod(d, "mongo:4.0")
	trial := render.Trial(d, "mongo:7.0", pod)
	var deleted []string
	stored := storing(t, d)
	r := &Reconciler{observer: observer{live: stored}, client: interceptor.NewClient(stored, interceptor.Funcs{
		Delete: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.DeleteOption) error {
			deleted = append(deleted, object.GetName())
			return apierrors.NewConflict(corev1.Resource("pods"), object.GetName(), errors.New("it has changed"))
		},
	})}
	_, err := r.apply(t.Context(), &decide.Snapshot{Database: d}, &decide.Plan{RemovePod: &decide.Removal{Pod: pod}, RemoveTrial: &decide.Removal{Pod: trial}})
	g.Expect(fault.Of(err)).To(Equal(fault.Wait), "%v", err)
	g.Expect(deleted).To(Equal([]string{"orders"}))
}

// What the API server says does not say what to do.
func TestARefusalSaysWhatToDo(t *testing.T) {
	const quota = "Raise the quota, or ask for less."
	d := &workloadsv1.Database{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders", UID: "1"},
		Spec:       workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo, Storage: &workloadsv1.DatabaseStorage{Size: "1Gi"}},
	}
	grown := render.Claim(d)
	grown.Annotations["example.com/grown"] = "true"
	pod := decide.Plan{CreatePod: render.Pod(d, "mongo:4.0")}
	growth := decide.Plan{ChangeClaim: []decide.Change[*corev1.PersistentVolumeClaim]{{
		From: render.Claim(d), To: grown, What: "growth to 2Gi", Remedy: "Set allowVolumeExpansion of the StorageClass.",
	}}}
	protection := decide.Plan{Fallback: fallback.Change{Apply: fallback.For(render.Service(d), render.Owner(d), nil)}}
	full := apierrors.NewForbidden(corev1.Resource("pods"), "orders", errors.New("exceeded quota: small"))
	denied := apierrors.NewForbidden(corev1.Resource("pods"), "orders", errors.New("no"))
	fails := apierrors.NewInternalError(errors.New("failed calling webhook"))
	for sentence, c := range map[string]struct {
		plan decide.Plan
		err  error
		says string
	}{
		"a Pod, by a quota":                  {pod, full, quota},
		"a Pod, by a policy":                 {pod, denied, allow},
		"a Pod, by a webhook that fails":     {pod, fails, "an admission webhook fails"},
		"a larger claim, by a quota":         {growth, full, quota},
		"a larger claim, by its class":       {growth, denied, "Set allowVolumeExpansion of the StorageClass."},
		"a ServiceFallback, by a quota":      {protection, full, quota + " Or set spec.fallback.none"},
		"a ServiceFallback, by a policy":     {protection, denied, "Have it allowed: admission policy, permission. Or set spec.fallback.none"},
		"a Service, which is missing":        {decide.Plan{Service: render.Service(d)}, full, quota},
		"a password":                         {decide.Plan{Generate: true}, full, quota},
		"a claim":                            {decide.Plan{CreateClaim: render.Claim(d)}, full, quota},
		"a trial":                            {decide.Plan{CreateTrial: &decide.Trial{Pod: pod.CreatePod, Successor: pod.CreatePod}}, full, quota},
		"a Pod that would be the next":       {decide.Plan{RemovePod: &decide.Removal{Pod: pod.CreatePod, Successor: pod.CreatePod}}, full, quota},
		"labels of a Pod that were put back": {decide.Plan{ChangePod: &decide.Change[*corev1.Pod]{From: &corev1.Pod{}, To: pod.CreatePod}}, denied, allow},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			stored := storing(t, d.DeepCopy())
			r := &Reconciler{observer: observer{live: stored}, client: interceptor.NewClient(stored, interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return c.err
				},
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return c.err },
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					return c.err
				},
			})}
			snap := &decide.Snapshot{Database: d, Fallback: fallback.Seen{Served: true}}
			done, err := r.apply(t.Context(), snap, &c.plan)
			g.Expect(err).NotTo(HaveOccurred())
			said := ""
			done.tell(snap)
			if snap.Refusal != nil {
				said = snap.Refusal.Message
			} else {
				for _, condition := range decide.Decide(*snap).Status.Conditions {
					said += condition.Message
				}
			}
			g.Expect(said).To(ContainSubstring(c.says))
		})
	}
}

// storing is a client of an API server that has some objects.
func storing(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	known := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, workloadsv1.AddToScheme)
	NewWithT(t).Expect(known.AddToScheme(scheme)).To(Succeed())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}
