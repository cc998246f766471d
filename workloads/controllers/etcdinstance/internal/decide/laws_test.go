package decide_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
)

// histories is how many random histories each law is held against, of so many steps each, and of at most
// so many quiet ones, until nothing is left to do.
const histories, steps, quiet = 30, 80, 200

// tally counts what the histories have reached: a law that nothing tests is none.
type tally map[string]int

// mischief is what may happen between two steps. Nothing takes data away from more members than
// the cluster can lose.
func (w *world) mischief(done tally) {
	name := w.snap.Instance.MemberName(w.random.IntN(len(w.members) + 1))
	pod := w.snap.Pods[name]
	switch w.random.IntN(20) {
	case 0:
		w.setReplicas(1 + w.random.Int32N(5))
		done["scaled"]++
	case 1:
		if pod != nil && (w.snap.Instance.Spec.Storage != nil || w.canLose(name)) {
			w.kill(name)
			done["killed"]++
		}
	case 2:
		if pod != nil && w.snap.Claims[name] != nil && w.canLose(name) {
			w.kill(name)
			delete(w.disks, w.snap.Claims[name].UID)
			delete(w.snap.Claims, name)
			done["lost a volume"]++
		}
	case 3:
		w.cut[name] = true
		done["cut"]++
	case 4, 5, 6:
		clear(w.cut)
	case 7:
		w.alarm = "NOSPACE"
		done["alarm"]++
	case 8, 9, 10, 11:
		w.alarm = ""
	case 12:
		w.setImage("etcd:v3.7.3")
		done["upgraded"]++
	case 13, 14:
		if all, _ := w.voters(); len(all) > 2 {
			w.cut[name] = true
			w.setReplicas(1 + w.random.Int32N(2))
			done["scaled with a member cut off"]++
		}
	}
}

// canLose reports whether the cluster survives the loss of a member's data: the others that run
// are a quorum of all, and have each write. The very last data is not taken away.
func (w *world) canLose(name string) bool {
	all, running := w.voters()
	others := slices.DeleteFunc(running, func(m *member) bool { return m.name == name })
	return len(all) > 1 && len(others) >= etcd.Quorum(len(all)) && !slices.ContainsFunc(others, func(m *member) bool { return w.log(m) < w.written })
}

// live lives one history, and holds each Plan against the laws.
func live(seed uint64, done tally) (*world, string) {
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(random, seed%2 == 0)
	idle, calm := 0, 0
	if seed%3 > 0 {
		// What goes wrong with several members takes as long to get there.
		w.setReplicas(3 + random.Int32N(3))
		calm = steps / 2
	}
	for step := range steps + quiet {
		if calm <= step && step < steps {
			w.mischief(done)
		} else if step == steps {
			clear(w.cut)
			w.alarm = ""
		}
		w.kubernetes()
		w.etcdRuns()
		snap := w.look()
		plan := decide.Decide(snap)
		if broken := w.broken(&snap, &plan, done); broken != "" {
			return w, fmt.Sprintf("step %d: %s", step, broken)
		}
		writes := allWrites
		if step < steps && random.IntN(8) == 0 {
			writes = random.IntN(7)
		}
		w.carryOut(&plan, writes)
		if step >= steps && plan.IsEmpty() && plan.Status.State == workloadsv1alpha1.ETCDRunning {
			idle++
		} else {
			idle = 0
		}
		if idle > 5 {
			break
		}
		if w.violation != "" {
			return w, fmt.Sprintf("step %d: %s", step, w.violation)
		}
	}
	return w, ""
}

// broken says which law a Plan breaks.
func (w *world) broken(s *decide.Snapshot, plan *decide.Plan, done tally) string {
	quorum := len(s.Cluster.Members) > 0
	all, running := w.voters()
	if plan.Change != nil && plan.RemovePod != nil {
		return "a Plan changes the members and takes a Pod away"
	}
	if plan.RemovePod != nil {
		name := plan.RemovePod.Pod.Name
		done["took a Pod away"]++
		m := w.member(name)
		isCopy := m != nil && !m.learner && w.runs(m)
		if isCopy && s.Instance.Spec.Storage == nil && !w.canLose(name) {
			return "a Pod is taken away whose data the cluster cannot do without"
		}
		if isCopy && len(running) < len(all) {
			return "a Pod is taken away while another member is down"
		}
	}
	if plan.Change == nil {
		return ""
	}
	done[string(plan.Change.Kind)]++
	if !quorum {
		return "the members are changed without a quorum"
	}
	if w.alarm != "" {
		return "the members are changed while etcd has an alarm"
	}
	target := slices.IndexFunc(w.members, func(m member) bool { return m.id == plan.Change.ID })
	switch plan.Change.Kind {
	case decide.AddLearner:
		if slices.ContainsFunc(w.members, func(m member) bool { return m.learner || m.name == plan.Change.Name }) {
			return "a second learner is added, or a second member of a name"
		}
	case decide.Promote:
		if len(running)+1 < etcd.Quorum(len(all)+1) {
			return "a vote is given that costs the quorum"
		}
		if w.log(&w.members[target])*10 < w.written*9 {
			return "a vote is given to a member without the leader's log"
		}
	case decide.Remove:
		m := w.members[target]
		others := slices.DeleteFunc(slices.Clone(running), func(other *member) bool { return other.id == m.id })
		if !m.learner && len(others) < etcd.Quorum(len(all)-1) {
			return "a member is removed that the quorum needs"
		}
		if !m.learner && m.id == w.leader {
			return "the leader is removed"
		}
		if !m.learner && len(all) <= int(s.Instance.Spec.Replicas) && w.runs(&m) {
			return "a member is removed that is to be, and runs"
		}
	}
	return ""
}

func TestNoHistoryBreaksALaw(t *testing.T) {
	done := tally{}
	for seed := range uint64(histories) {
		w, broken := live(seed, done)
		if broken != "" {
			t.Fatalf("seed %d: %s\nmembers %+v up %v", seed, broken, w.members, w.up)
		}
		last := decide.Decide(w.look())
		g := NewGomega(func(message string, _ ...int) {
			t.Fatalf("seed %d: %s\nstatus %+v\nmembers %+v up %v\nplan %+v", seed, message, last.Status, w.members, w.up, last)
		})
		if last.Status.State == workloadsv1alpha1.ETCDFailed {
			done["ended waiting for a person"]++
			g.Expect(last.Status.Conditions).To(ContainElement(HaveField("Reason", workloadsv1alpha1.ReasonUpgradeRefused)), "only a person can decide that data may go")
			continue
		}
		done["ended well"]++
		g.Expect(last.Status.State).To(Equal(workloadsv1alpha1.ETCDRunning))
		g.Expect(last.IsEmpty()).To(BeTrue())
		g.Expect(last.Status.Members).To(HaveLen(int(w.snap.Instance.Spec.Replicas)))
		g.Expect(w.snap.Pods).To(HaveLen(int(w.snap.Instance.Spec.Replicas)), "no Pod is left over")
	}
	t.Logf("%v", done)
	for _, reached := range []string{
		"scaled", "scaled with a member cut off", "killed", "lost a volume", "cut", "alarm", "upgraded", "took a Pod away", "ended well",
		string(decide.AddLearner), string(decide.Promote), string(decide.Remove), string(decide.MoveLeader),
	} {
		NewWithT(t).Expect(done).To(HaveKeyWithValue(reached, BeNumerically(">", 0)))
	}
}

func TestADecisionLeavesTheSnapshotAsItIs(t *testing.T) {
	for seed := range uint64(4) {
		w, _ := live(seed, tally{})
		w.setReplicas(3)
		s := w.look()
		before, err := json.Marshal(s)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		decide.Decide(s)
		if after, _ := json.Marshal(s); !bytes.Equal(before, after) {
			t.Fatalf("seed %d: the Snapshot was changed", seed)
		}
	}
}
