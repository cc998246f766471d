package decide_test

import (
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
)

// settled is a cluster that runs, with storage or without.
func settled(t *testing.T, stored bool, replicas int32) *world {
	t.Helper()
	w := newWorld(rand.New(rand.NewPCG(1, 0)), stored)
	w.snap.SnapshotImage = "workloads:1"
	w.setReplicas(replicas)
	for range 60 {
		w.kubernetes()
		w.etcdRuns()
		plan := decide.Decide(w.look())
		w.carryOut(&plan, allWrites)
	}
	NewWithT(t).Expect(w.snap.Instance.Status.State).To(Equal(workloadsv1alpha1.ETCDRunning), w.snap.Instance.Status.Message)
	return w
}

// ended is a Pod of the operator whose container ended.
func ended(pod *corev1.Pod, phase corev1.PodPhase, code int32, message string) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: render.ContainerSnapshot, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}},
	}}
	return pod
}

const report = `{"file":"etcd-42.db","revision":42,"sizeBytes":20480}`

// asks asks for a snapshot.
func asks(s *decide.Snapshot, request string) {
	s.Instance = s.Instance.DeepCopy()
	s.Instance.Annotations = map[string]string{workloadsv1alpha1.AnnotationBackup: request}
}

func answered(s *decide.Snapshot, request string, state workloadsv1alpha1.ETCDBackupState, before time.Duration) {
	s.Instance = s.Instance.DeepCopy()
	s.Instance.Status.Backup = &workloadsv1alpha1.ETCDStoredBackup{Request: request, State: state, Time: new(metav1.NewTime(s.Now.Add(-before)))}
}

func TestHowABackupIsStored(t *testing.T) {
	w := settled(t, true, 1)
	mine := render.BackupPod(w.snap.Instance, "workloads:1", "first")
	for sentence, c := range map[string]struct {
		change             func(*decide.Snapshot)
		makes, claims, end bool
		state              workloadsv1alpha1.ETCDBackupState
		says               string
	}{
		"none is asked for": {func(*decide.Snapshot) {}, false, false, false, "", ""},
		"one is asked for":  {func(s *decide.Snapshot) { asks(s, "first") }, true, true, false, workloadsv1alpha1.ETCDBackupRunning, "is being stored"},
		"the claim is there": {func(s *decide.Snapshot) {
			asks(s, "first")
			s.BackupClaim = render.BackupClaim(s.Instance)
		}, true, false, false, workloadsv1alpha1.ETCDBackupRunning, ""},
		"the text is too long": {func(s *decide.Snapshot) { asks(s, string(make([]byte, 64))) }, false, false, false, "", ""},
		"it is being stored": {func(s *decide.Snapshot) {
			asks(s, "first")
			s.BackupPod = mine
		}, false, false, false, workloadsv1alpha1.ETCDBackupRunning, "is being stored"},
		"it is stored": {func(s *decide.Snapshot) {
			asks(s, "first")
			s.BackupPod = ended(mine, corev1.PodSucceeded, 0, report)
		}, false, false, false, workloadsv1alpha1.ETCDBackupStored, `claim "etcd-backup"`},
		"the Pod reports nonsense": {func(s *decide.Snapshot) {
			asks(s, "first")
			s.BackupPod = ended(mine, corev1.PodSucceeded, 0, `{"revision":-1}`)
		}, false, false, false, workloadsv1alpha1.ETCDBackupFailed, "not what the operator's program writes"},
		"it failed": {func(s *decide.Snapshot) {
			asks(s, "first")
			s.BackupPod = ended(mine, corev1.PodFailed, 1, "no space left on device")
		}, false, false, false, workloadsv1alpha1.ETCDBackupFailed, "no space left on device"},
		"the result is noted": {func(s *decide.Snapshot) {
			asks(s, "first")
			answered(s, "first", workloadsv1alpha1.ETCDBackupStored, 0)
			s.BackupPod = ended(mine, corev1.PodSucceeded, 0, report)
		}, false, false, true, workloadsv1alpha1.ETCDBackupStored, ""},
		"another one is asked for, and the Pod is of the first": {func(s *decide.Snapshot) {
			asks(s, "second")
			s.BackupPod = mine
		}, false, false, true, "", ""},
		"another one is asked for": {func(s *decide.Snapshot) {
			asks(s, "second")
			answered(s, "first", workloadsv1alpha1.ETCDBackupStored, 0)
		}, true, true, false, workloadsv1alpha1.ETCDBackupRunning, ""},
		"a Pod of another has the name": {func(s *decide.Snapshot) {
			asks(s, "first")
			s.BackupPod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "etcd-backup"}}
		}, false, false, false, workloadsv1alpha1.ETCDBackupFailed, "does not belong to this ETCDInstance"},
		"the operator does not know its image": {func(s *decide.Snapshot) {
			asks(s, "first")
			s.SnapshotImage = ""
		}, false, false, false, workloadsv1alpha1.ETCDBackupFailed, "WORKLOADS_IMAGE"},
		"there is no quorum": {func(s *decide.Snapshot) {
			asks(s, "first")
			s.Cluster = decide.Cluster{}
		}, false, false, false, workloadsv1alpha1.ETCDBackupRunning, "has a quorum"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := w.look()
			c.change(&s)
			plan := decide.Decide(s)
			g.Expect(plan.SnapshotPod != nil).To(Equal(c.makes))
			g.Expect(plan.Claim != nil).To(Equal(c.claims))
			g.Expect(plan.DropPod != nil).To(Equal(c.end))
			stored := plan.Status.Backup
			if c.state == "" {
				g.Expect(stored).To(BeNil())
				return
			}
			g.Expect(stored.State).To(Equal(c.state), stored.Message)
			g.Expect(stored.Message).To(ContainSubstring(c.says))
		})
	}
}

func TestWhatIsStoredBeforeADeletion(t *testing.T) {
	w := settled(t, false, 1)
	uid := string(w.snap.Instance.UID)
	kept := func(s *decide.Snapshot, wanted bool) {
		s.Instance = s.Instance.DeepCopy()
		s.Instance.Spec.Backup.BeforeDeletion = wanted
		s.Instance.Finalizers, s.Instance.DeletionTimestamp = []string{workloadsv1alpha1.Finalizer}, new(metav1.NewTime(s.Now))
	}
	for sentence, c := range map[string]struct {
		change          func(*decide.Snapshot)
		makes, releases bool
		reason, says    string
	}{
		"it is stored first": {func(s *decide.Snapshot) { kept(s, true) }, true, false, workloadsv1alpha1.ReasonBackingUp, "kept until a snapshot is stored"},
		"it is stored": {func(s *decide.Snapshot) {
			kept(s, true)
			answered(s, uid, workloadsv1alpha1.ETCDBackupStored, 0)
		}, false, true, workloadsv1alpha1.ReasonBackingUp, ""},
		"an earlier one is not enough": {func(s *decide.Snapshot) {
			kept(s, true)
			answered(s, "first", workloadsv1alpha1.ETCDBackupStored, 0)
		}, true, false, workloadsv1alpha1.ReasonBackingUp, ""},
		"it failed": {func(s *decide.Snapshot) {
			kept(s, true)
			answered(s, uid, workloadsv1alpha1.ETCDBackupFailed, time.Second)
		}, false, false, workloadsv1alpha1.ReasonBackupFailed, "set spec.backup.beforeDeletion to false"},
		"it failed a while ago": {func(s *decide.Snapshot) {
			kept(s, true)
			answered(s, uid, workloadsv1alpha1.ETCDBackupFailed, 2*time.Minute)
		}, true, false, workloadsv1alpha1.ReasonBackingUp, ""},
		"there is no quorum": {func(s *decide.Snapshot) {
			kept(s, true)
			s.Cluster = decide.Cluster{}
		}, false, false, workloadsv1alpha1.ReasonBackupFailed, "set spec.backup.beforeDeletion to false"},
		"it is not wanted any more": {func(s *decide.Snapshot) { kept(s, false) }, false, true, workloadsv1alpha1.ReasonBackingUp, ""},
		"there was never any data": {func(s *decide.Snapshot) {
			kept(s, true)
			s.Instance.Status.ClusterID, s.Cluster = "", decide.Cluster{}
		}, false, true, workloadsv1alpha1.ReasonBackupFailed, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := w.look()
			c.change(&s)
			plan := decide.Decide(s)
			g.Expect(plan.SnapshotPod != nil).To(Equal(c.makes))
			g.Expect(plan.RemoveFinalizer).To(Equal(c.releases))
			g.Expect(plan.Change).To(BeNil())
			g.Expect(plan.StatefulSet).To(BeNil())
			ready := meta.FindStatusCondition(plan.Status.Conditions, workloadsv1.ConditionReady)
			g.Expect(ready.Reason).To(Equal(c.reason))
			g.Expect(ready.Message).To(ContainSubstring(c.says))
		})
	}
	s := w.look()
	s.Instance = s.Instance.DeepCopy()
	s.Instance.Spec.Backup.BeforeDeletion = true
	plan := decide.Decide(s)
	NewWithT(t).Expect(plan.AddFinalizer).To(BeTrue())
}

// restoring is an ETCDInstance that gets its first data from another.
func restoring() decide.Snapshot {
	w := newWorld(rand.New(rand.NewPCG(1, 0)), true)
	s := w.look()
	s.SnapshotImage = "workloads:1"
	s.Instance = s.Instance.DeepCopy()
	s.Instance.Spec.Restore = &workloadsv1alpha1.ETCDRestore{FromInstance: "other"}
	s.Origin = &workloadsv1alpha1.ETCDInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}, Status: workloadsv1alpha1.ETCDInstanceStatus{ClusterID: "c1"}}
	return s
}

func TestHowDataIsRestored(t *testing.T) {
	first := restoring()
	mine := render.RestorePod(first.Instance, first.Origin, "workloads:1", "etcd:v3.6.1")
	mine.CreationTimestamp = metav1.NewTime(first.Now.Add(-time.Hour))
	claimed := func(s *decide.Snapshot) {
		s.Claims = map[string]*corev1.PersistentVolumeClaim{"etcd-0": {ObjectMeta: metav1.ObjectMeta{Name: "data-etcd-0", UID: "claim"}}}
	}
	upload := func(s *decide.Snapshot) {
		s.Instance.Spec.Restore, s.Origin = &workloadsv1alpha1.ETCDRestore{Upload: true}, nil
	}
	for sentence, c := range map[string]struct {
		change            func(*decide.Snapshot)
		makes, drops, has bool
		reason, says      string
	}{
		"it begins": {func(*decide.Snapshot) {}, true, false, false, workloadsv1alpha1.ReasonRestorePending, "is being restored"},
		"the other does not exist": {func(s *decide.Snapshot) { s.Origin = nil },
			false, false, false, workloadsv1alpha1.ReasonRestoreFailed, `"other" does not exist`},
		"the other has no data yet": {func(s *decide.Snapshot) { s.Origin.Status.ClusterID = "" },
			false, false, false, workloadsv1alpha1.ReasonRestorePending, "has no data yet"},
		"the Pod waits for a snapshot": {func(s *decide.Snapshot) {
			upload(s)
			s.RestorePod = mine.DeepCopy()
			s.RestorePod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: render.ContainerSnapshot, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		}, false, false, false, workloadsv1alpha1.ReasonWaitingForUpload, `"etcd-restore" waits`},
		"it ended well": {func(s *decide.Snapshot) {
			claimed(s)
			s.RestorePod = ended(mine, corev1.PodSucceeded, 0, report)
		}, false, false, true, workloadsv1alpha1.ReasonRestored, "revision 42"},
		"it failed, and is tried again": {func(s *decide.Snapshot) {
			claimed(s)
			s.RestorePod = ended(mine, corev1.PodFailed, 1, "another SHA-256")
		}, false, true, false, workloadsv1alpha1.ReasonRestoreFailed, "another SHA-256"},
		"it failed just now": {func(s *decide.Snapshot) {
			claimed(s)
			s.RestorePod = ended(mine, corev1.PodFailed, 1, "another SHA-256")
			s.RestorePod.CreationTimestamp = metav1.NewTime(s.Now)
		}, false, false, false, workloadsv1alpha1.ReasonRestoreFailed, "tried again"},
		"there is a StatefulSet already": {func(s *decide.Snapshot) {
			s.StatefulSet = render.StatefulSet(s.Instance, []render.Entry{render.First(s.Instance)}, 1, "etcd:v3.6.1")
		}, false, false, false, workloadsv1alpha1.ReasonRestoreFailed, "nothing is restored over data"},
		"the operator does not know its image": {func(s *decide.Snapshot) { s.SnapshotImage = "" },
			false, false, false, workloadsv1alpha1.ReasonRestoreFailed, "WORKLOADS_IMAGE"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := restoring()
			c.change(&s)
			plan := decide.Decide(s)
			g.Expect(plan.SnapshotPod != nil).To(Equal(c.makes))
			g.Expect(plan.DropPod != nil).To(Equal(c.drops))
			g.Expect(plan.StatefulSet).To(BeNil(), "no member begins before its data is noted")
			said := meta.FindStatusCondition(plan.Status.Conditions, workloadsv1alpha1.ConditionRestored)
			status := metav1.ConditionFalse
			if c.has {
				status = metav1.ConditionTrue
			}
			g.Expect(said.Status).To(Equal(status))
			g.Expect(said.Reason).To(Equal(c.reason))
			g.Expect(said.Message).To(ContainSubstring(c.says))

			// Then the first member begins, and never without its data.
			if c.has {
				s.Instance.Status = plan.Status
				next := decide.Decide(s)
				g.Expect(next.DropPod).NotTo(BeNil())
				g.Expect(render.Entries(s.Instance, next.StatefulSet)).To(ConsistOf(HaveField("Volume", BeEquivalentTo("claim"))))
				g.Expect(next.Config.Data["etcd-0.yaml"]).NotTo(ContainSubstring("etcd-0=http"))

				s.Claims = nil
				lost := decide.Decide(s)
				g.Expect(lost.StatefulSet).To(BeNil(), "an empty cluster is not what was asked for")
				g.Expect(lost.Status.Message).To(ContainSubstring("the restored data with it"))
			}
		})
	}
}

// A learner that had got data in a Pod that went is taken by the leader for one that has it, and
// etcd ends whenever it starts.
func TestWhatBecomesOfALearnerThatDoesNotComeUp(t *testing.T) {
	w := settled(t, false, 1)
	w.setReplicas(2)
	for range 3 {
		plan := decide.Decide(w.look())
		w.carryOut(&plan, allWrites)
		w.kubernetes()
		w.up["etcd-1"] = false
	}
	learner := w.member("etcd-1")
	NewWithT(t).Expect(learner).NotTo(BeNil())
	for sentence, c := range map[string]struct {
		restarts          int32
		isStarted, isOld  bool
		removes, takesPod bool
	}{
		"it starts":                           {0, false, false, false, false},
		"it ended once":                       {1, true, false, false, false},
		"it ends again and again":             {3, false, false, true, false},
		"its Pod was made for an earlier one": {9, false, true, false, true},
		"and it was up in that":               {9, true, true, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := w.look()
			pod := s.Pods["etcd-1"].DeepCopy()
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: etcd.Container, RestartCount: c.restarts}}
			s.Pods = map[string]*corev1.Pod{"etcd-0": s.Pods["etcd-0"], "etcd-1": pod}
			for i := range s.Cluster.Members {
				if s.Cluster.Members[i].ID == learner.id {
					s.Cluster.Members[i].Started = c.isStarted
				}
			}
			if c.isOld {
				entries := render.Entries(s.Instance, s.Config)
				entries[1].Replaces = pod.UID
				s.Config, s.StatefulSet = render.Config(s.Instance, entries), render.StatefulSet(s.Instance, entries, 2, s.Image)
			}
			plan := decide.Decide(s)
			g := NewWithT(t)
			g.Expect(plan.Change != nil && plan.Change.Kind == decide.Remove).To(Equal(c.removes))
			g.Expect(plan.RemovePod != nil).To(Equal(c.takesPod))
		})
	}
}
