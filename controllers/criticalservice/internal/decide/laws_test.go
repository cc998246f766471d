package decide_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/protection"
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
		options = append(options, []option{noTemplate, tooLarge, templateUnread}[random.IntN(3)])
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
	if chance(60) {
		options = append(options, randomStandby(random)...)
	}
	s := snapshot(options...)
	if chance(60) && s.Template != nil && len(s.Policies) > 0 {
		answered(time.Duration(random.IntN(1200))*time.Second, []string{"", criticalv2.ReasonCreateDenied}[random.IntN(2)], "")(&s)
	}
	if chance(5) {
		s.Service = nil
	}
	for i := range random.IntN(4) - 1 {
		maintained(fmt.Sprintf("plan-%d", i), randomMaintenance(random)...)(&s)
	}
	return s
}

// randomMaintenance is one with or without a message, that is under way, over, long
// over, without an end, a drill, or recurring.
func randomMaintenance(random *rand.Rand) (changes []func(*criticalv2.Maintenance)) {
	end := time.Duration(random.IntN(20)-10) * time.Minute
	if random.IntN(2) == 0 {
		changes = append(changes, saying("We move house."))
	}
	switch random.IntN(6) {
	case 0:
		return changes
	case 1:
		return append(changes, drilling, takingAway, until(end))
	case 2:
		return append(changes, window(end-time.Hour, end))
	default:
		return append(changes, until(end))
	}
}

// randomStandby is a fallback that is published, of any kind, and the remains of
// another that was.
func randomStandby(random *rand.Rand) []option {
	kinds := []option{
		toPage(), toContent("ours"), toPod(criticalv2.ActivationOnDemand), toPod(criticalv2.ActivationStandby), toService("spare"),
		fallsBackTo(byLabels()), delays(time.Minute, time.Minute),
	}
	kind := func(s *decide.Snapshot) {
		if len(s.Policies) > 0 && s.Service != nil {
			kinds[random.IntN(len(kinds))](s)
		}
	}
	pods := []func(*corev1.Pod){readyPod, starting, readyEnding, narrow, evicted}
	var responders []func(*corev1.Pod)
	for range random.IntN(4) {
		responders = append(responders, pods[random.IntN(len(pods))])
	}
	return []option{
		func(s *decide.Snapshot) {
			for i := range s.Pods {
				located(&s.Pods[i])
			}
			s.Service.Spec.Ports = append(s.Service.Spec.Ports, []corev1.ServicePort{
				{Name: "metrics", Port: 9090}, {Name: "admin", Port: 81},
			}[:random.IntN(3)]...)
			if random.IntN(4) == 0 {
				families(corev1.IPv4Protocol, corev1.IPv6Protocol)(s)
			}
		},
		kind, responder(responders...), backup([]string{"spare-1", "spare-2"}[:random.IntN(3)]...), published,
		func(s *decide.Snapshot) {
			if random.IntN(2) == 0 {
				kind(s)
				responder(responders[:random.IntN(len(responders)+1)]...)(s)
			}
			last := &s.Service.Spec.Ports[len(s.Service.Spec.Ports)-1]
			last.Name = []string{last.Name, last.Name, "renamed"}[random.IntN(3)]
			for i := range s.Responder.Pods {
				if random.IntN(5) == 0 {
					s.Responder.Pods[i].Status.PodIPs = []corev1.PodIP{{IP: "10.9.0.9"}}
				}
			}
		},
	}
}

func copied(s decide.Snapshot) decide.Snapshot {
	s.Service, s.Template = s.Service.DeepCopy(), s.Template.DeepCopy()
	s.Policies = slices.Clone(s.Policies)
	for i, policy := range s.Policies {
		s.Policies[i] = policy.DeepCopyObject().(criticalv2.Policy)
	}
	s.Slices = (&discoveryv1.EndpointSliceList{Items: s.Slices}).DeepCopy().Items
	s.Standby = (&discoveryv1.EndpointSliceList{Items: s.Standby}).DeepCopy().Items
	for name, backup := range s.Backups {
		s.Backups = maps.Clone(s.Backups)
		s.Backups[name] = decide.Backup{
			Service: backup.Service.DeepCopy(), Slices: (&discoveryv1.EndpointSliceList{Items: backup.Slices}).DeepCopy().Items,
		}
	}
	s.Responder.Pods = (&corev1.PodList{Items: s.Responder.Pods}).DeepCopy().Items
	s.Pods = (&corev1.PodList{Items: s.Pods}).DeepCopy().Items
	s.Maintenances = (&criticalv2.MaintenanceList{Items: s.Maintenances}).DeepCopy().Items
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
		random.Shuffle(len(shuffled.Standby), func(i, j int) {
			shuffled.Standby[i], shuffled.Standby[j] = shuffled.Standby[j], shuffled.Standby[i]
		})
		random.Shuffle(len(shuffled.Responder.Pods), func(i, j int) {
			shuffled.Responder.Pods[i], shuffled.Responder.Pods[j] = shuffled.Responder.Pods[j], shuffled.Responder.Pods[i]
		})
		random.Shuffle(len(shuffled.Maintenances), func(i, j int) {
			shuffled.Maintenances[i], shuffled.Maintenances[j] = shuffled.Maintenances[j], shuffled.Maintenances[i]
		})
		g.Expect(decide.Decide(shuffled)).To(Equal(decide.Decide(s)))
	})
}

func TestNothingIsWithdrawnWhileTheServiceHasNoEndpointOfItsOwn(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		plan, own := decide.Decide(s), ownReady(s)
		for _, removal := range slices.Concat(plan.Release, plan.Delete) {
			switch removal.Why {
			case decide.WhyRecovered, decide.WhyRenewed, decide.WhySilent:
				g.Expect(own).To(BeTrue())
			case decide.WhySuperseded:
				g.Expect(answering(s, afterwards(s)) || critical(&s).Spec.Fallback.Service != nil).To(BeTrue())
			case decide.WhyUnprotected:
				g.Expect(s.Service == nil || len(s.Policies) == 0).To(BeTrue())
			case decide.WhyOutdated:
				g.Expect(removal.Pod.Status.Conditions).To(BeEmpty(), "a ready Pod must stay")
			}
		}
		if own || s.Service == nil || len(s.Policies) == 0 {
			return
		}
		g.Expect(plan.State).NotTo(Equal(criticalv2.StateArmed), "an endpoint of ours was counted as the Service's own")
	})
}

func TestThereIsAtMostOneFallback(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		plan := decide.Decide(s)
		if plan.State != criticalv2.StateExposed && plan.State != criticalv2.StateCovered {
			return // A Service that answers by itself may have several that drain.
		}
		if plan.Governor.Protection().Fallback.PodTemplate == nil || plan.Maintenance != nil && plan.Fallback == criticalv2.FallbackKindPage {
			g.Expect(plan.Create).To(BeNil())
			return // What an earlier policy left is there until the new fallback answers.
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

func TestWhereNoOneAsksNothingOfOursRemains(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		s.Policies = nil
		plan := decide.Decide(s)
		g.Expect(plan.Create).To(BeNil())
		g.Expect(plan.Publish).To(BeEmpty())
		g.Expect(plan.Retract).To(BeEmpty())
		g.Expect(plan.Unpublish).To(HaveLen(len(s.Standby)))
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

// What is not needed is not read, so that it must not matter.
func TestWhatIsNotNeededDoesNotMatter(t *testing.T) {
	spared := 0
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		needed := copied(s)
		if !s.IsGoverned() {
			needed.Maintenances, needed.Content, needed.Template, needed.Backups = nil, nil, nil, nil
		}
		if !needed.NeedsResponder() {
			spared++
			needed.Responder.Listeners, needed.Responder.Deployment = nil, nil
		}
		g.Expect(decide.Decide(needed)).To(Equal(decide.Decide(s)))
	})
	NewWithT(t).Expect(spared).To(BeNumerically(">", seeds/20))
}

func TestWhatOnlyAskingTellsIsAskedAgain(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		plan := decide.Decide(s)
		asks := plan.Create != nil || plan.DryRun != nil
		// While a fallback is still there, its end is what wakes the Service.
		rests := plan.Reason == criticalv2.ReasonCreateDenied || plan.Reason == criticalv2.ReasonEndpointsReady
		if asks || rests && len(s.Pods) == 0 {
			g.Expect(plan.RecheckAfter).To(BeNumerically(">", 0), story(plan))
		}
	})
}

// ownReady tells from the slices alone whether the Service has a ready endpoint
// of its own.
func ownReady(s decide.Snapshot) bool {
	for _, slice := range s.Slices {
		for _, endpoint := range slice.Endpoints {
			if endpoint.TargetRef.Name == "shop-1" && ptr.Deref(endpoint.Conditions.Ready, true) {
				return true
			}
		}
	}
	return false
}

func TestAnEndpointThatAnswersStaysPublishedInAnOutage(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		if ownReady(s) || s.Service == nil || len(s.Policies) == 0 {
			return
		}
		before, after := answering(s, s.Standby), answering(s, afterwards(s))
		if plan := decide.Decide(s); before && plan.Reason != criticalv2.ReasonFallbackServing {
			g.Expect(after).To(BeTrue(), story(plan))
		}
	})
}

// answering reports whether a slice lists a Pod that is ready, by an address it has.
func answering(s decide.Snapshot, standby []discoveryv1.EndpointSlice) bool {
	return len(answeredOn(s, standby)) > 0
}

// answeredOn are the families and names of ports under which a slice lists a Pod that
// is ready, by an address it has.
func answeredOn(s decide.Snapshot, standby []discoveryv1.EndpointSlice) map[string]bool {
	addresses := map[string]bool{}
	for _, pod := range slices.Concat(s.Pods, s.Responder.Pods) {
		for _, ip := range pod.Status.PodIPs {
			addresses[string(pod.UID)+ip.IP] = pod.Status.Phase != corev1.PodFailed && len(pod.Status.Conditions) > 0
		}
	}
	for _, backup := range s.Backups {
		for _, endpoint := range backup.Slices[0].Endpoints {
			addresses[string(endpoint.TargetRef.UID)+endpoint.Addresses[0]] = true
		}
	}
	on := map[string]bool{}
	for _, slice := range standby {
		for _, endpoint := range slice.Endpoints {
			for _, port := range slice.Ports {
				if addresses[string(endpoint.TargetRef.UID)+endpoint.Addresses[0]] {
					on[fmt.Sprint(slice.AddressType, *port.Name)] = true
				}
			}
		}
	}
	return on
}

// expectCovered holds what is said of an outage against what is published: something
// answers where the Service is covered, and everything where no problem is said.
func expectCovered(g Gomega, s decide.Snapshot, text string) {
	plan := decide.Decide(s)
	if plan.State != criticalv2.StateCovered || plan.Fallback == criticalv2.FallbackKindPodTemplate && publishOf(&s) == criticalv2.PublishSelectorLabels {
		return // What is selected by labels has no slice of ours.
	}
	bySelection := slices.ContainsFunc(s.Pods, func(pod corev1.Pod) bool { return render.IsSelected(&pod) })
	on := answeredOn(s, s.Standby)
	g.Expect(bySelection || len(on) > 0).To(BeTrue(), text)
	if bySelection || plan.Reason != criticalv2.ReasonFallbackServing && plan.Reason != criticalv2.ReasonStandbyServing {
		return
	}
	for _, family := range render.Families(s.Service) {
		for _, port := range s.Service.Spec.Ports {
			g.Expect(on).To(HaveKey(fmt.Sprint(family, port.Name)), "%s\n%s", plan.Message, text)
		}
	}
}

func TestCoveredMeansThatEveryPortIsAnswered(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		expectCovered(g, s, "")
	})
}

func TestOnlyAddressesThatPodsHaveArePublished(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		if s.Service == nil || len(s.Policies) == 0 {
			return
		}
		for _, slice := range afterwards(s) {
			if protection.StandsFor(&slice) == "" {
				continue // Its endpoints are those of a backup.
			}
			for _, endpoint := range slice.Endpoints {
				has := func(pod corev1.Pod) bool {
					return pod.UID == endpoint.TargetRef.UID && protection.HasAddress(&pod, endpoint.Addresses[0])
				}
				g.Expect(slices.ContainsFunc(slices.Concat(s.Pods, s.Responder.Pods), has)).To(BeTrue())
			}
		}
	})
}

// afterwards are the standby slices once a plan is carried out.
func afterwards(s decide.Snapshot) []discoveryv1.EndpointSlice {
	s = copied(s)
	plan := decide.Decide(s)
	for _, slice := range slices.Concat(plan.Publish, plan.Retract) {
		put(&s, slice)
	}
	return slices.DeleteFunc(s.Standby, func(slice discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(plan.Unpublish, func(gone *discoveryv1.EndpointSlice) bool { return gone.Name == slice.Name })
	})
}

// What is replaced goes once its replacement is published.
func TestWhatIsPublishedIsPublishedOnce(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		s.Standby = afterwards(s)
		s.Standby = afterwards(s)
		plan := decide.Decide(s)
		g.Expect(plan.Publish).To(BeEmpty(), story(plan))
		g.Expect(plan.Retract).To(BeEmpty(), story(plan))
	})
}

func TestAllEndpointsOfAServiceTurnTogether(t *testing.T) {
	forRandomSnapshots(t, func(g Gomega, _ *rand.Rand, s decide.Snapshot) {
		for _, slice := range afterwards(s) {
			for _, endpoint := range slice.Endpoints {
				g.Expect(endpoint.Conditions.Serving).To(HaveValue(BeTrue()))
				g.Expect(*endpoint.Conditions.Ready).NotTo(Equal(*endpoint.Conditions.Terminating))
				g.Expect(*endpoint.Conditions.Ready).To(Equal(protection.IsPromoted(&slice)))
				g.Expect(endpoint.TargetRef.Kind).To(Equal("Pod"))
			}
		}
	})
}
