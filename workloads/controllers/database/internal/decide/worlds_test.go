package decide_test

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// randomWorld is a Database at any moment: what exists may be its own, of an earlier spec,
// ending, or of another.
func randomWorld(r *rand.Rand) decide.Snapshot {
	d := database(func(d *workloadsv1.Database) {
		d.Spec.Type = one(r, workloadsv1.DatabaseMongo, workloadsv1.DatabaseMySQL, workloadsv1.DatabasePostgres)
		d.Spec.Image = one(r, "", "mongo:7.0")
		d.Spec.Suspend = r.IntN(5) == 0
		d.Spec.Credentials.SecretName = one(r, "", "", "mine")
		d.Spec.Fallback = one(r, nil, nil, &workloadsv1.ServiceProtection{None: &workloadsv1.NoFallback{}},
			&workloadsv1.ServiceProtection{Service: &criticalv2.BackupFallback{Name: "replica"}})
		if r.IntN(3) == 0 {
			d.Spec.Storage = nil
		} else {
			d.Spec.Storage.Size = one(r, "1Gi", "2Gi")
			d.Spec.Storage.DeletionPolicy = one(r, workloadsv1.DeletionRetain, workloadsv1.DeletionDelete)
		}
	})
	if r.IntN(16) == 0 {
		d.Spec.Pod.Resources.Limits = workloadsv1.Quantities{corev1.ResourceMemory: "1e.5"}
	}
	s := decide.Snapshot{Now: now, Database: d, Image: image}
	if r.IntN(3) > 0 {
		s.Pod = randomPod(r, d)
	}
	if r.IntN(3) > 0 {
		s.Service = randomService(r, d)
	}
	if d.Spec.Storage != nil && r.IntN(3) > 0 {
		s.Claim = randomClaim(r, d)
	}
	if r.IntN(6) > 0 {
		s.Secret = decide.Secret{Found: true, Ours: r.IntN(8) > 0, Engine: one(r, "", "", string(d.Spec.Type), string(d.Spec.Type), "mysql")}
		if r.IntN(8) == 0 {
			s.Secret.Missing = []string{"password"}
		}
	}
	if r.IntN(2) > 0 {
		s.Trial = randomTrial(r, &s)
	}
	s.Fallback = randomFallback(r, d)
	if r.IntN(2) == 0 {
		refusedFor(time.Hour)(&s)
	}
	if r.IntN(10) == 0 {
		s.Refusal = &decide.Refusal{Reason: one(r, workloadsv1.ReasonCreateDenied, workloadsv1.ReasonStorageDenied), Message: "quota"}
	}
	return s
}

func randomFallback(r *rand.Rand, d *workloadsv1.Database) fallback.Seen {
	seen := fallback.Seen{Served: r.IntN(4) > 0}
	switch {
	case !seen.Served:
	case r.IntN(5) == 0:
		seen.Refused, seen.Failed = "forbidden", r.IntN(2) == 0
	case r.IntN(2) == 0:
		seen.Object = &criticalv2.ServiceFallback{ObjectMeta: foreign(d.Name)}
		if r.IntN(4) > 0 {
			seen.Object.OwnerReferences = []metav1.OwnerReference{render.Controller(d)}
			seen.Object.OwnerReferences[0].UID = one(r, d.UID, d.UID, "of-an-earlier-one")
		}
	}
	return seen
}

func randomPod(r *rand.Rand, d *workloadsv1.Database) *corev1.Pod {
	pod := render.Pod(d, one(r, "mongo:7.0", image))
	pod.CreationTimestamp, pod.UID = metav1.NewTime(now.Add(-one(r, time.Second, time.Hour))), "of-pod"
	pod.Status.Phase = one(r, corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodFailed)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: string(d.Spec.Type), State: one(r,
		corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, waits("CrashLoopBackOff", ""), waits("ImagePullBackOff", ""))}}
	if pod.Status.Phase == corev1.PodRunning && r.IntN(2) == 0 {
		makeReady(pod)
	}
	if r.IntN(2) == 0 {
		pod.Annotations[workloadsv1.AnnotationCameUp] = "true"
	}
	switch r.IntN(9) {
	case 0:
		pod.ObjectMeta = foreign(d.Name)
	case 4:
		pod.OwnerReferences[0].UID = "of-an-earlier-one"
	case 1:
		pod.OwnerReferences = nil
	case 2:
		delete(pod.Labels, workloadsv1.LabelDatabase)
	case 3:
		ending(pod, one(r, -time.Minute, time.Second, time.Hour))
		pod.Finalizers = one(r, nil, nil, []string{"example.com/wait"})
	}
	return pod
}

func randomService(r *rand.Rand, d *workloadsv1.Database) *corev1.Service {
	service := render.Service(d)
	switch r.IntN(5) {
	case 0:
		service.ObjectMeta = foreign(d.Name)
	case 1:
		service.Spec.Selector = one(r, nil, map[string]string{workloadsv1.LabelApp: workloadsv1.AppDatabase},
			map[string]string{workloadsv1.LabelDatabase: "other"}, map[string]string{workloadsv1.LabelDatabase: d.Name, "role": "primary"})
	}
	return service
}

func randomClaim(r *rand.Rand, d *workloadsv1.Database) *corev1.PersistentVolumeClaim {
	claim := render.Claim(d)
	claim.Status.Phase = one(r, corev1.ClaimBound, corev1.ClaimPending)
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(one(r, "1Gi", "2Gi", "3Gi"))
	if had := one(r, "", "mongo:3.6", "mongo:7.0", image); had != "" {
		claim.Annotations[workloadsv1.AnnotationImage] = had
	}
	if r.IntN(8) == 0 {
		claim.DeletionTimestamp = new(metav1.NewTime(now))
	}
	switch r.IntN(6) {
	case 0:
		claim.ObjectMeta = foreign(d.ClaimName())
	case 1:
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "mycrd.com/v1", Kind: "Database", Name: d.Name, UID: "of-an-earlier-one"}}
	case 2:
		claim.Annotations[workloadsv1.AnnotationEngine] = "postgres"
	}
	return claim
}
