package decide_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/decide"
)

// seeds is how many random histories every law is held against. A failure names its seed.
const seeds = 100

// happenings are what may happen to a namespace, in any order.
var happenings = []func(random *rand.Rand, w *world){
	func(random *rand.Rand, w *world) { w.set(strconv.Itoa(random.IntN(6))) },
	func(random *rand.Rand, w *world) { w.set(strconv.Itoa(random.IntN(6))) },
	func(random *rand.Rand, w *world) { w.app.Spec.Configuration.Version = strconv.Itoa(random.IntN(3)) },
	func(random *rand.Rand, w *world) {
		w.app.Labels = []map[string]string{nil, content, {"mycrd.com/responder": "server"}}[random.IntN(3)]
	},
	func(random *rand.Rand, w *world) {
		if len(w.workloads) < 3 {
			w.use(fmt.Sprint("workload-", random.IntN(1_000_000)))
		}
	},
	func(random *rand.Rand, w *world) {
		if len(w.workloads) > 0 {
			w.workloads[random.IntN(len(w.workloads))].Manager = []string{"", "helm"}[random.IntN(2)]
		}
	},
	func(random *rand.Rand, w *world) {
		if len(w.workloads) > 0 {
			w.workloads[random.IntN(len(w.workloads))].RolledOut = random.IntN(2) == 0
		}
	},
	func(random *rand.Rand, w *world) { // A user deletes a ConfigMap, or writes on it.
		if len(w.configs) > 0 {
			i := random.IntN(len(w.configs))
			if random.IntN(2) == 0 {
				w.configs = slices.Delete(slices.Clone(w.configs), i, i+1)
				return
			}
			w.configs[i].ConfigMap = w.configs[i].DeepCopy()
			w.configs[i].Annotations = map[string]string{
				workloadsv2.AnnotationRevision: []string{"", "x", "1", "9007199254740991", "9007199254740992"}[random.IntN(5)],
			}
		}
	},
	func(random *rand.Rand, w *world) {
		if len(w.configs) > 0 {
			w.pinned[w.configs[random.IntN(len(w.configs))].Name] = random.IntN(2) == 0
		}
	},
	func(_ *rand.Rand, w *world) { w.settle() },
	func(_ *rand.Rand, w *world) { w.do(decide.Decide(w.see())) },
}

func forRandomWorlds(t *testing.T, law func(g Gomega, w *world, random *rand.Rand)) {
	t.Helper()
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, 0))
		g := NewWithT(t).ConfigureWithFailHandler(func(message string, _ ...int) {
			t.Helper()
			t.Fatalf("seed %d: %s", seed, message)
		})
		w := newWorld()
		for range 30 {
			happenings[random.IntN(len(happenings))](random, w)
			law(g, w, random)
		}
	}
}

func TestASnapshotStaysAsItIs(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, w *world, _ *rand.Rand) {
		s, same := w.see(), w.see()
		slices.Reverse(s.ConfigMaps) // Making a Snapshot decides, too, and may have sorted them.
		slices.Reverse(s.Workloads)
		same.ConfigMaps, same.Workloads = slices.Clone(s.ConfigMaps), slices.Clone(s.Workloads)
		decide.NeedsOf(s)
		decide.Decide(s)
		g.Expect(reflect.DeepEqual(s, same)).To(BeTrue())
	})
}

func TestTheOrderOfListsDoesNotMatter(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, w *world, random *rand.Rand) {
		s, other := w.see(), w.see()
		random.Shuffle(len(other.ConfigMaps), func(i, j int) { other.ConfigMaps[i], other.ConfigMaps[j] = other.ConfigMaps[j], other.ConfigMaps[i] })
		random.Shuffle(len(other.Workloads), func(i, j int) { other.Workloads[i], other.Workloads[j] = other.Workloads[j], other.Workloads[i] })
		g.Expect(reflect.DeepEqual(decide.Decide(s), decide.Decide(other))).To(BeTrue())
	})
}

func TestASettledWorldHasAnEmptyPlan(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, w *world, _ *rand.Rand) {
		settled := w.copied()
		for range 10 {
			settled.do(decide.Decide(settled.see()))
		}
		before := settled.writes
		plan := decide.Decide(settled.see())
		settled.do(plan)
		g.Expect(settled.writes).To(Equal(before))
		g.Expect(reflect.DeepEqual(plan.Status, decide.Decide(settled.see()).Status)).To(BeTrue(), "nor does its status change")
	})
}

func TestWhatAWorkloadTakesIsNeverDeleted(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, w *world, _ *rand.Rand) {
		plan := decide.Decide(w.see())
		for _, deleted := range plan.Delete {
			if deleted.Name == w.app.Name {
				continue // The page goes with its label.
			}
			g.Expect(w.pinned[deleted.Name]).To(BeFalse())
			g.Expect(deleted.Name).NotTo(Equal(plan.Status.ConfigMapName))
			for _, workload := range w.workloads {
				g.Expect(workload.ConfigMap).NotTo(Equal(deleted.Name))
			}
		}
	})
}

// Kubernetes deletes what has no owner left: when the AppConfig goes, what runs goes on running.
func TestWhatAWorkloadTakesBelongsToItToo(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, w *world, _ *rand.Rand) {
		plan := decide.Decide(w.see())
		w.do(plan)
		for _, workload := range w.workloads {
			for _, config := range w.configs {
				if config.Name == workload.ConfigMap {
					g.Expect(config.OwnerReferences).To(ContainElement(HaveField("UID", workload.UID)))
					g.Expect(config.OwnerReferences).To(ContainElement(HaveField("UID", w.app.UID)))
				}
			}
		}
	})
}

func TestAWorkloadTakesOnlyWhatIsThere(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, w *world, _ *rand.Rand) {
		plan := decide.Decide(w.see())
		for _, workload := range plan.Roll {
			g.Expect(workload.Manager).To(BeEmpty(), "what another manager has set stays")
			g.Expect(workload.ConfigMap).NotTo(Equal(plan.Status.ConfigMapName), "and nothing rolls twice")
			g.Expect(plan.Create > 0 || slices.Contains(w.names(), plan.Status.ConfigMapName)).To(BeTrue())
		}
	})
}

func TestTheThreeNewestStay(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, w *world, _ *rand.Rand) {
		before := len(w.configs)
		plan := decide.Decide(w.see())
		if len(plan.Delete) > 0 && !slices.ContainsFunc(w.configs, func(c decide.ConfigMap) bool { return c.Name == w.app.Name }) {
			g.Expect(before - len(plan.Delete)).To(BeNumerically(">=", 3))
		}
	})
}

// The operator may die after any write of a plan. The status then says what it said before.
func TestTheEndIsTheSameAfterWhicheverWriteTheOperatorDies(t *testing.T) {
	died := 0
	forRandomWorlds(t, func(g Gomega, w *world, random *rand.Rand) {
		plan := decide.Decide(w.see())
		last := firstWrites(w, plan, random.IntN(6))
		end, same := w.copied(), w.copied()
		same.do(last)
		if same.writes > w.writes {
			died++
		}
		g.Expect(same.end()).To(Equal(end.end()))
	})
	NewWithT(t).Expect(died).To(BeNumerically(">", 0))
}

// firstWrites is a plan of which only the first writes are done, in the order of apply.
func firstWrites(w *world, plan decide.Plan, done int) decide.Plan {
	taken := plan.Status.ConfigMapName
	plan.Status = w.app.Status
	for i, drop := range []func(){
		func() { plan.Create = 0 },
		func() { plan.WritePage = false },
		func() { plan.Update = nil },
		func() { plan.Roll = nil },
		func() { plan.Delete = nil },
	} {
		if i >= done {
			drop()
		}
	}
	if len(plan.Roll) > 0 {
		plan.Status.ConfigMapName = taken // It says what the workloads take.
	}
	return plan
}

// end is what is there once nothing is left to do.
func (w *world) end() map[string]string {
	status := w.settle().Status
	end := map[string]string{"configMapName": status.ConfigMapName, "hash": status.Hash, "ready": ready(status).Message}
	for _, config := range w.configs {
		end["ConfigMap "+config.Name] = fmt.Sprint(config.Hash, config.Labels, config.Annotations)
	}
	for _, workload := range w.workloads {
		end["workload "+workload.Name] = workload.ConfigMap
	}
	return end
}
