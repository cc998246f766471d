package decide_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
)

// world is a cluster of etcd on a cluster of Kubernetes, so far as decisions depend on them.
type world struct {
	random  *rand.Rand
	snap    decide.Snapshot
	reasons recheck.Reasons
	names   int
	// files are what each Pod had mounted when it was made: a later file comes late.
	members []member
	// disks hold, by the UID of a claim or of a Pod, how far the log in each folder goes.
	disks map[types.UID]map[string]int
	// up are the Pods whose etcd runs; cut are those that nothing reaches.
	up, cut map[string]bool
	leader  string
	// written is the last write that was acknowledged.
	written   int
	alarm     string
	next      int
	violation string
}

type member struct {
	id, name         string
	started, learner bool
	// received: the leader takes it for one that has what it was sent.
	received bool
}

func newWorld(random *rand.Rand, stored bool) *world {
	e := &workloadsv1alpha1.ETCDInstance{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "etcd", UID: "uid-of-etcd", Generation: 1},
		Spec:       workloadsv1alpha1.ETCDInstanceSpec{Replicas: 1},
	}
	if stored {
		e.Spec.Storage = &workloadsv1alpha1.ETCDStorage{Size: "1Gi"}
	}
	return &world{
		random: random, disks: map[types.UID]map[string]int{}, up: map[string]bool{}, cut: map[string]bool{},
		snap: decide.Snapshot{
			Now: time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC), Instance: e, Image: "etcd:v3.6.1",
			Pods: map[string]*corev1.Pod{}, Claims: map[string]*corev1.PersistentVolumeClaim{},
		},
	}
}

func (w *world) uid(of string) types.UID {
	w.names++
	return types.UID(fmt.Sprintf("%s-%d", of, w.names))
}

// volume is what has the data of a Pod.
func (w *world) volume(name string) types.UID {
	if w.snap.Instance.Spec.Storage != nil {
		return w.snap.Claims[name].UID
	}
	return w.snap.Pods[name].UID
}

func (w *world) entry(name string) *render.Entry {
	if w.snap.Config == nil {
		return nil
	}
	entries := render.Entries(w.snap.Instance, w.snap.Config)
	for i := range entries {
		if entries[i].Name == name {
			return &entries[i]
		}
	}
	return nil
}

func (w *world) member(name string) *member {
	for i := range w.members {
		if w.members[i].name == name {
			return &w.members[i]
		}
	}
	return nil
}

// runs reports whether a member runs and is reached.
func (w *world) runs(m *member) bool { return w.up[m.name] && !w.cut[m.name] }

func (w *world) voters() (all, running []*member) {
	for i := range w.members {
		if m := &w.members[i]; !m.learner {
			all = append(all, m)
			if w.runs(m) {
				running = append(running, m)
			}
		}
	}
	return all, running
}

func (w *world) hasQuorum() bool {
	all, running := w.voters()
	return len(all) > 0 && len(running) >= etcd.Quorum(len(all))
}

// log is how far the log of a running member goes.
func (w *world) log(m *member) int { return w.disks[w.volume(m.name)][w.entry(m.name).Folder] }

// kubernetes does what its controllers and kubelets do.
func (w *world) kubernetes() {
	set := w.snap.StatefulSet
	if set == nil {
		return
	}
	set.Status.ObservedGeneration = set.Generation
	for _, name := range slices.Sorted(maps.Keys(w.snap.Pods)) {
		if render.Ordinal(w.snap.Instance, name) >= int(*set.Spec.Replicas) {
			w.kill(name)
		}
	}
	for ordinal := range int(*set.Spec.Replicas) {
		name := w.snap.Instance.MemberName(ordinal)
		if w.snap.Instance.Spec.Storage != nil && w.snap.Claims[name] == nil {
			w.snap.Claims[name] = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: w.uid("claim")}}
		}
		if w.snap.Pods[name] == nil {
			w.snap.Pods[name] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: w.uid("pod"), Annotations: set.Spec.Template.Annotations}}
		}
		if !w.up[name] && w.random.IntN(3) > 0 {
			w.start(name)
		}
	}
}

// start does what etcd does with its file: it takes up the data in its folder, or begins without.
func (w *world) start(name string) {
	entry := w.entry(name)
	if entry == nil {
		return
	}
	volume := w.volume(name)
	if w.disks[volume] == nil {
		w.disks[volume] = map[string]int{}
	}
	file := w.snap.Config.Data[name+".yaml"]
	if _, has := w.disks[volume][entry.Folder]; has {
		w.up[name] = w.member(name) != nil && (entry.ID == "" || w.member(name).id == entry.ID)
		return
	}
	if !strings.Contains(file, "initial-cluster: "+name+"=") && !strings.Contains(file, ","+name+"=") && !strings.Contains(file, name+"=http://"+name) {
		return // It does not find itself, and ends.
	}
	if entry.Folder == string(w.snap.Instance.UID) {
		if len(w.members) > 0 {
			if w.written > 0 {
				w.violation = "a second cluster was begun"
			}
			w.members = nil
		}
		w.members, w.written = []member{{id: "first", name: name, started: true}}, 0
		w.leader = "first"
	} else {
		m := w.member(name)
		if m == nil || m.id != entry.ID || !w.hasQuorum() {
			return
		}
		if !m.learner {
			w.violation = fmt.Sprintf("%s votes without its data", name)
		}
		if m.received {
			w.ended(name)
			return // etcd panics: its log does not go as far as the leader says.
		}
	}
	w.disks[volume][entry.Folder], w.up[name] = 0, true
}

// ended counts how often etcd ended in a Pod.
func (w *world) ended(name string) {
	pod := w.snap.Pods[name].DeepCopy()
	if len(pod.Status.ContainerStatuses) == 0 {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: etcd.Container}}
	}
	pod.Status.ContainerStatuses[0].RestartCount++
	w.snap.Pods[name] = pod
}

func (w *world) kill(name string) {
	if pod := w.snap.Pods[name]; pod != nil && w.snap.Instance.Spec.Storage == nil {
		delete(w.disks, pod.UID)
	}
	delete(w.snap.Pods, name)
	delete(w.up, name)
}

// etcdRuns elects a leader, takes a write if there is a quorum, and sends what is missing.
func (w *world) etcdRuns() {
	if !w.hasQuorum() {
		w.leader = ""
		return
	}
	_, running := w.voters()
	best := running[0]
	leads := false
	for _, m := range running {
		if w.log(m) > w.log(best) {
			best = m
		}
		leads = leads || m.id == w.leader && w.log(m) >= w.written
	}
	if !leads {
		w.leader = best.id
	}
	if w.log(best) < w.written {
		w.violation = fmt.Sprintf("write %d is lost: the cluster has %d", w.written, w.log(best))
	}
	if w.alarm == "" {
		w.written++
	}
	for i := range w.members {
		m := &w.members[i]
		if w.runs(m) && (!m.learner || w.random.IntN(2) == 0) {
			w.disks[w.volume(m.name)][w.entry(m.name).Folder], m.received = w.written, true
			// It says its name to all only some time after.
			m.started = m.started || w.random.IntN(2) == 0
		}
	}
}

// look asks the members.
func (w *world) look() decide.Snapshot {
	w.snap.Now = w.snap.Now.Add(10 * time.Second)
	snap := w.snap
	snap.Ages = w.reasons.Observe(types.NamespacedName{Name: "etcd"}, snap.Instance.Status.Conditions, snap.Now)
	snap.Cluster = decide.Cluster{Answers: map[string]decide.Answer{}}
	quorum := w.hasQuorum()
	for i := range w.members {
		m := &w.members[i]
		if quorum {
			snap.Cluster.Members = append(snap.Cluster.Members, decide.Member{ID: m.id, Name: m.name, Started: m.started, Learner: m.learner})
		}
		if !w.runs(m) {
			continue
		}
		answer := decide.Answer{
			ID: m.id, ClusterID: "c1", Learner: m.learner, Version: version(w.snap.Pods[m.name]),
			Index: uint64(w.log(m)), Applied: uint64(w.log(m)), Revision: int64(w.log(m)), //nolint:gosec // It is not negative.
		}
		if quorum {
			answer.Leader = w.leader
		}
		snap.Cluster.Answers[m.name] = answer
	}
	if w.alarm != "" && quorum {
		snap.Cluster.Alarms = []decide.Alarm{{Member: w.members[0].name, Kind: w.alarm}}
	}
	return snap
}

// version is the one that a Pod runs: the hash of what it was made from says which.
func version(pod *corev1.Pod) string {
	for _, minor := range []string{"3.6.1", "3.7.3"} {
		if pod.Annotations[workloadsv1.AnnotationSpec] == render.SpecHash(&workloadsv1alpha1.ETCDInstance{}, "etcd:v"+minor) {
			return minor
		}
	}
	return ""
}

// carryOut does the first writes of a Plan: the operator may end after any of them.
func (w *world) carryOut(plan *decide.Plan, writes int) {
	for i, write := range []func(){
		func() {
			for _, service := range plan.Services {
				if service.Name == w.snap.Instance.Name {
					w.snap.Service = service
				} else {
					w.snap.Peers = service
				}
			}
		},
		func() {
			if plan.Budget != nil {
				w.snap.Budget = plan.Budget
			}
		},
		func() {
			if plan.Config != nil {
				w.snap.Config = plan.Config
			}
		},
		func() {
			if plan.StatefulSet != nil {
				generation := int64(1)
				if w.snap.StatefulSet != nil {
					generation += w.snap.StatefulSet.Generation
				}
				w.snap.StatefulSet = plan.StatefulSet.DeepCopy()
				w.snap.StatefulSet.Generation = generation
			}
		},
		func() { w.change(plan.Change) },
		func() {
			if plan.RemovePod != nil {
				w.kill(plan.RemovePod.Pod.Name)
			}
		},
		func() {
			w.snap.Instance = w.snap.Instance.DeepCopy()
			w.snap.Instance.Status = plan.Status
		},
	} {
		if i < writes {
			write()
		}
	}
}

// allWrites is more than a Plan has.
const allWrites = 99

func (w *world) change(change *decide.Change) {
	if change == nil || !w.hasQuorum() {
		return
	}
	switch change.Kind {
	case decide.AddLearner:
		w.next++
		w.members = append(w.members, member{id: fmt.Sprintf("m%d", w.next), name: change.Name, learner: true})
	case decide.Promote:
		for i := range w.members {
			if m := &w.members[i]; m.id == change.ID {
				if w.log(m)*10 < w.written*9 {
					return // etcd refuses.
				}
				m.learner = false
			}
		}
	case decide.Remove:
		w.members = slices.DeleteFunc(w.members, func(m member) bool {
			if m.id == change.ID {
				delete(w.up, m.name)
			}
			return m.id == change.ID
		})
	case decide.MoveLeader:
		w.leader = change.ID
	}
}

// setReplicas and setImage are what a user does.
func (w *world) setReplicas(replicas int32) {
	w.snap.Instance = w.snap.Instance.DeepCopy()
	w.snap.Instance.Spec.Replicas = replicas
	w.snap.Instance.Generation++
}

func (w *world) setImage(image string) {
	w.snap.Instance = w.snap.Instance.DeepCopy()
	w.snap.Instance.Spec.Image = image
	w.snap.Instance.Generation++
}
