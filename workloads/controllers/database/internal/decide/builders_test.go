package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// image is the setting of every engine here.
const image = "mongo:4.0"

// database is a Database with a volume, as the API server stores it.
func database(changes ...func(*workloadsv1.Database)) *workloadsv1.Database {
	d := &workloadsv1.Database{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders", UID: "of-orders", Generation: 1, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec: workloadsv1.DatabaseSpec{
			Type:    workloadsv1.DatabaseMongo,
			Storage: &workloadsv1.DatabaseStorage{Size: "1Gi", DeletionPolicy: workloadsv1.DeletionRetain},
			Service: workloadsv1.DatabaseService{Type: workloadsv1.DatabaseServiceNodePort},
		},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

func withoutStorage(d *workloadsv1.Database) { d.Spec.Storage = nil }

// running is a Database as it is once nothing is missing.
func running(changes ...func(*decide.Snapshot)) decide.Snapshot {
	s := settle(decide.Snapshot{Now: now, Database: database(), Image: image, Fallback: fallback.Seen{Served: true}})
	makeReady(s.Pod)
	s = settle(s)
	for _, change := range changes {
		change(&s)
	}
	return s
}

// neverUp is a Pod whose engine has not come up so far.
func neverUp(s *decide.Snapshot) {
	delete(s.Pod.Annotations, workloadsv1.AnnotationCameUp)
	s.Pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
}

func makeReady(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

// mostSteps is how many plans it takes at most until nothing is left to do.
const mostSteps = 8

// settle carries plans out until they are empty, as the API server and the cluster would.
func settle(s decide.Snapshot) decide.Snapshot {
	for range mostSteps {
		plan := decide.Decide(s)
		if plan.IsEmpty() {
			break
		}
		s = carriedOut(s, &plan)
	}
	return s
}

func carriedOut(s decide.Snapshot, plan *decide.Plan) decide.Snapshot {
	s.Database = s.Database.DeepCopy()
	s.Database.Status = plan.Status
	if plan.Fallback.Apply != nil {
		s.Fallback.Object = plan.Fallback.Apply.DeepCopy()
	}
	if plan.Fallback.Remove != nil {
		s.Fallback.Object = nil
	}
	if plan.Service != nil {
		s.Service = plan.Service.DeepCopy()
		s.Service.Spec.Ports[0].NodePort = 31480
	}
	if plan.Generate {
		s.Secret = decide.Secret{Found: true, Ours: true, Engine: string(s.Database.Spec.Type)}
	}
	if plan.CreateClaim != nil {
		s.Claim = plan.CreateClaim.DeepCopy()
		s.Claim.Status.Phase = corev1.ClaimBound
	}
	if plan.NoteImage != nil {
		s.Claim = plan.NoteImage.To
	}
	for _, change := range plan.ChangeClaim {
		s.Claim = s.Claim.DeepCopy()
		s.Claim.Spec.Resources.Requests = largest(s.Claim, change.To)
		s.Claim.OwnerReferences = change.To.OwnerReferences
		for key, value := range change.To.Annotations { // Only the difference is written.
			if change.From.Annotations[key] != value {
				s.Claim.Annotations[key] = value
			}
		}
	}
	switch {
	case plan.CreatePod != nil:
		s.Pod = plan.CreatePod.DeepCopy()
		s.Pod.CreationTimestamp, s.Pod.UID = metav1.NewTime(s.Now), "of-pod"
	case plan.ChangePod != nil:
		s.Pod = plan.ChangePod.To
	case plan.RemovePod != nil:
		s.Pod = nil
	}
	if plan.CreateTrial != nil {
		s.Trial = plan.CreateTrial.Pod.DeepCopy()
		inState(s.Trial, passed())
	}
	if plan.RemoveTrial != nil {
		s.Trial = nil
	}
	return s
}

func largest(a, b *corev1.PersistentVolumeClaim) corev1.ResourceList {
	one, other := a.Spec.Resources.Requests, b.Spec.Resources.Requests
	if has, wants := one[corev1.ResourceStorage], other[corev1.ResourceStorage]; has.Cmp(wants) < 0 {
		return other
	}
	return one
}

// foreign is metadata of an object of another.
func foreign(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "shop", Name: name,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "other", UID: "of-other", Controller: new(true)}},
	}
}

// ready is what Ready says of a Snapshot.
func ready(t testing.TB, s decide.Snapshot) metav1.Condition {
	t.Helper()
	plan := decide.Decide(s)
	condition := meta.FindStatusCondition(plan.Status.Conditions, workloadsv1.ConditionReady)
	NewWithT(t).Expect(condition).NotTo(BeNil())
	return *condition
}

func protected(t testing.TB, s decide.Snapshot) metav1.Condition {
	t.Helper()
	plan := decide.Decide(s)
	condition := meta.FindStatusCondition(plan.Status.Conditions, workloadsv1.ConditionProtected)
	NewWithT(t).Expect(condition).NotTo(BeNil())
	return *condition
}

// ending marks a Pod as one that was to have ended some time ago.
func ending(pod *corev1.Pod, ago time.Duration) {
	pod.DeletionTimestamp = new(metav1.NewTime(now.Add(-ago)))
}

// core lets the core say how a Service stands.
func core(s *decide.Snapshot, state criticalv2.ServiceState, reason string) {
	s.Fallback.Object = s.Fallback.Object.DeepCopy()
	s.Fallback.Object.Generation, s.Fallback.Object.Status.ObservedGeneration = 1, 1
	s.Fallback.Object.Status.Details = []criticalv2.ServiceStatus{{
		Namespace: "shop", Name: "orders", State: state, Reason: reason, Message: "It is " + string(state) + ".",
	}}
}

// another is the same Database of another name.
func another(name string) *workloadsv1.Database {
	d := database()
	d.Name, d.UID = name, types.UID("of-"+name)
	return d
}

// podOf is the Pod of a Database.
func podOf(d *workloadsv1.Database) *corev1.Pod { return render.Pod(d, image) }
