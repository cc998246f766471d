package decide_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
)

// seeds is how many random Snapshots every law is held against.
const seeds = 500

// forRandomSnapshots runs a law on Snapshots of every kind of disorder.
func forRandomSnapshots(t *testing.T, law func(g Gomega, random *rand.Rand, s decide.Snapshot)) {
	t.Helper()
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			law(NewWithT(t), random, randomSnapshot(random))
		})
	}
}

func randomSnapshot(random *rand.Rand) decide.Snapshot {
	chance := func(percent int) bool { return random.IntN(100) < percent }
	bool3 := func() *bool { return []*bool{nil, new(true), new(false)}[random.IntN(3)] }

	options := []option{inSlices()}
	if chance(15) {
		options = append(options, noTemplate)
	}
	if chance(10) {
		options = append(options, noPolicy)
	} else if chance(40) {
		options = append(options, policies(policy("b"), policy("a"), policy("c")))
	}
	if chance(20) {
		options = append(options, service(func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "store"} }))
	}
	changes := []func(*corev1.Pod){readyPod, terminating, evicted, fromOldTemplate, released(2 * time.Second), aged(time.Second), waiting("ErrImagePull", "")}
	for i := range random.IntN(4) {
		options = append(options, fallback(named(fmt.Sprintf("fallback-%d", i)), changes[random.IntN(len(changes))], changes[random.IntN(len(changes))]))
	}
	options = append(options, func(s *decide.Snapshot) {
		for range random.IntN(3) {
			part := slice()
			for _, pod := range s.Pods {
				if chance(50) {
					part.Endpoints = append(part.Endpoints, endpoint(pod.Name, bool3()))
				}
			}
			if chance(30) {
				part.Endpoints = append(part.Endpoints, endpoint("shop-1", bool3()))
			}
			if chance(20) {
				part.Endpoints = append(part.Endpoints, endpoint(fallbackName, bool3()))
			}
			s.Slices = append(s.Slices, part)
		}
	})
	s := snapshot(options...)
	if chance(60) && s.Template != nil && len(s.Policies) > 0 {
		answered(time.Duration(random.IntN(1200))*time.Second, []string{"", criticalv1.ReasonCreateDenied}[random.IntN(2)], "")(&s)
	}
	if chance(5) {
		s.Service = nil
	}
	return s
}

func copied(s decide.Snapshot) decide.Snapshot {
	s.Service, s.Template = s.Service.DeepCopy(), s.Template.DeepCopy()
	s.Policies = (&criticalv1.CriticalServiceList{Items: s.Policies}).DeepCopy().Items
	s.Slices = (&discoveryv1.EndpointSliceList{Items: s.Slices}).DeepCopy().Items
	s.Pods = (&corev1.PodList{Items: s.Pods}).DeepCopy().Items
	return s
}

func TestTheSnapshotIsNotChanged(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		before := copied(s)
		decide.Decide(s)
		g.Expect(s).To(Equal(before))
	})
}

func TestTheOrderOfListsDoesNotMatter(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, random *rand.Rand, s decide.Snapshot) {
		shuffled := copied(s)
		random.Shuffle(len(shuffled.Policies), func(i, j int) {
			shuffled.Policies[i], shuffled.Policies[j] = shuffled.Policies[j], shuffled.Policies[i]
		})
		random.Shuffle(len(shuffled.Slices), func(i, j int) {
			shuffled.Slices[i], shuffled.Slices[j] = shuffled.Slices[j], shuffled.Slices[i]
		})
		random.Shuffle(len(shuffled.Pods), func(i, j int) {
			shuffled.Pods[i], shuffled.Pods[j] = shuffled.Pods[j], shuffled.Pods[i]
		})
		g.Expect(decide.Decide(shuffled)).To(Equal(decide.Decide(s)))
	})
}

func TestNothingIsWithdrawnWhileTheServiceHasNoEndpointOfItsOwn(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		plan := decide.Decide(s)
		own := false
		for _, slice := range s.Slices {
			for _, endpoint := range slice.Endpoints {
				own = own || endpoint.TargetRef.Name == "shop-1" && ptr.Deref(endpoint.Conditions.Ready, true)
			}
		}
		if len(plan.Release) > 0 {
			g.Expect(own).To(BeTrue())
		}
		for _, deletion := range plan.Delete {
			switch deletion.Why {
			case decide.WhyRecovered:
				g.Expect(own).To(BeTrue())
			case decide.WhyUnprotected:
				g.Expect(s.Service == nil || len(s.Policies) == 0).To(BeTrue())
			case decide.WhyOutdated:
				g.Expect(deletion.Pod.Status.Conditions).To(BeEmpty(), "a ready Pod must stay")
			}
		}
		if own || s.Service == nil || len(s.Policies) == 0 {
			return
		}
		g.Expect(plan.State).NotTo(Equal(criticalv1.StateArmed), "an endpoint of ours was counted as the Service's own")
	})
}

func TestThereIsAtMostOneFallback(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		plan := decide.Decide(s)
		if plan.State != criticalv1.StateExposed && plan.State != criticalv1.StateCovered {
			return // A Service that answers by itself may have several that drain.
		}
		deleted := map[string]bool{}
		for _, deletion := range plan.Delete {
			deleted[deletion.Pod.Name] = true
		}
		left := 0
		for _, pod := range s.Pods {
			if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && !deleted[pod.Name] {
				left++
			}
		}
		if plan.Create != nil {
			for _, pod := range s.Pods {
				g.Expect(pod.DeletionTimestamp).NotTo(BeNil(), "a fallback is made only where all others are ending")
			}
			left++
		}
		g.Expect(left).To(BeNumerically("<=", 1))
	})
}

func TestWhereNobodyAsksNothingOfOursRemains(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		s.Policies = nil
		plan := decide.Decide(s)
		g.Expect(plan.Create).To(BeNil())
		g.Expect(plan.Rebind).To(BeEmpty())
		deleted := map[string]bool{}
		for _, deletion := range plan.Delete {
			deleted[deletion.Pod.Name] = true
		}
		for _, pod := range s.Pods {
			g.Expect(deleted[pod.Name]).To(Equal(pod.DeletionTimestamp == nil))
		}
	})
}

func TestWhatOnlyAskingTellsIsAskedAgain(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		plan := decide.Decide(s)
		asks := plan.Create != nil || plan.Rehearse != nil
		// While a fallback is still there, its end is what wakes the Service.
		rests := plan.Reason == criticalv1.ReasonCreateDenied || plan.State == criticalv1.StateArmed
		if asks || rests && len(s.Pods) == 0 {
			g.Expect(plan.RecheckAfter).To(BeNumerically(">", 0), story(plan))
		}
	})
}
