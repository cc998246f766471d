package decide_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/internal/contract/listener"
)

// seeds is how many random worlds every law is held against.
const seeds = 100

func forRandomWorlds(t *testing.T, law func(g Gomega, random *rand.Rand)) {
	t.Helper()
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			law(NewWithT(t), rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

// events are what may happen to a namespace, in any order.
var events = []func(g Gomega, random *rand.Rand, s *decide.Snapshot){
	func(_ Gomega, random *rand.Rand, s *decide.Snapshot) { addService(random, s) },
	func(_ Gomega, random *rand.Rand, s *decide.Snapshot) { addService(random, s) },
	func(_ Gomega, random *rand.Rand, s *decide.Snapshot) { // A Service goes; its slice may stay for a while.
		if len(s.Services) > 0 {
			i := random.IntN(len(s.Services))
			s.Services = slices.Delete(slices.Clone(s.Services), i, i+1)
		}
	},
	func(_ Gomega, random *rand.Rand, s *decide.Snapshot) { // A slice goes.
		if len(s.Slices) > 0 {
			i := random.IntN(len(s.Slices))
			s.Slices = slices.Delete(slices.Clone(s.Slices), i, i+1)
		}
	},
	func(_ Gomega, random *rand.Rand, s *decide.Snapshot) { // A Service changes its ports.
		if len(s.Services) > 0 {
			changed := s.Services[random.IntN(len(s.Services))].DeepCopy()
			changed.Spec.Ports = randomPorts(random)
			i := slices.IndexFunc(s.Services, func(one corev1.Service) bool { return one.Name == changed.Name })
			s.Services = slices.Clone(s.Services)
			s.Services[i] = *changed
		}
	},
	func(g Gomega, _ *rand.Rand, s *decide.Snapshot) { *s = publish(g, *s) },
	func(g Gomega, _ *rand.Rand, s *decide.Snapshot) { *s = publish(g, *s) },
	func(_ Gomega, _ *rand.Rand, s *decide.Snapshot) { pod(fmt.Sprint("pod-", len(s.Pods)))(s) },
	func(_ Gomega, _ *rand.Rand, s *decide.Snapshot) {
		responderPod(fmt.Sprint("pod-", len(s.Pods)), len(s.Pods))(s)
	},
	func(g Gomega, random *rand.Rand, s *decide.Snapshot) { // A Pod is published for a Service.
		if len(s.Services) > 0 && len(s.Pods) > 0 {
			number := random.IntN(len(s.Pods))
			podSlice(s.Services[random.IntN(len(s.Services))].Name, s.Pods[number].Name, number)(s)
			s.PodSlices = publishIn(g, *s, s.PodSlices)
		}
	},
	func(_ Gomega, random *rand.Rand, s *decide.Snapshot) { // A Pod is published no more.
		if len(s.PodSlices) > 0 {
			i := random.IntN(len(s.PodSlices))
			s.PodSlices = slices.Delete(slices.Clone(s.PodSlices), i, i+1)
		}
	},
	func(_ Gomega, _ *rand.Rand, s *decide.Snapshot) { content(fmt.Sprint("page-", len(s.Contents)))(s) },
}

func addService(random *rand.Rand, s *decide.Snapshot) {
	name := fmt.Sprintf("service-%02d", random.IntN(60))
	if slices.ContainsFunc(s.Services, func(one corev1.Service) bool { return one.Name == name }) {
		return
	}
	service(name, randomPorts(random)...)(s)
	if !slices.ContainsFunc(s.Slices, func(one discoveryv1.EndpointSlice) bool { return one.Labels[discoveryv1.LabelServiceName] == name }) {
		slice(name, "ipv4", ownedBy(fmt.Sprint("policy-", random.IntN(3))), page(criticalv2.PageFallback{
			ConfigMapName: fmt.Sprint("page-", random.IntN(3)), Replicas: new(random.Int32N(4)),
		}), maintained(random))(s)
	}
}

// maintained announces a maintenance on some slices, on some of them one that
// cannot be parsed.
func maintained(random *rand.Rand) func(*discoveryv1.EndpointSlice) {
	texts := []string{"", "", "", `{}`, `{"message":"We move house."}`, `{"until":"2030-01-31T17:30:00Z"}`, "{"}
	text := texts[random.IntN(len(texts))]
	return func(s *discoveryv1.EndpointSlice) {
		if text != "" {
			s.Annotations[criticalv2.AnnotationMaintenance] = text
		}
	}
}

func randomPorts(random *rand.Rand) []corev1.ServicePort {
	var ports []corev1.ServicePort
	for i := range 1 + random.IntN(4) {
		added := port(fmt.Sprint("port-", i), int32(80+i))
		if random.IntN(6) == 0 {
			added.Protocol = corev1.ProtocolUDP
		}
		ports = append(ports, added)
	}
	return ports
}

// randomWorld is a world after some things have happened, the operator being
// slow, or its table edited.
func randomWorld(g Gomega, random *rand.Rand) decide.Snapshot {
	s := snapshot()
	for range random.IntN(60) {
		events[random.IntN(len(events))](g, random, &s)
		if random.IntN(3) == 0 {
			s = apply(s, decide.Decide(s))
		}
	}
	if s.Table != nil && random.IntN(3) == 0 {
		s = write(s, []string{"", "{", `{"pages":[{}],"listeners":[{"port":20001,"service":"service-01","portName":"port-0"}],"next":99999}`}[random.IntN(3)])
	}
	return s
}

func copied(s decide.Snapshot) decide.Snapshot {
	s.Slices, s.PodSlices, s.Services, s.Contents, s.Pods = copies(s.Slices), copies(s.PodSlices), copies(s.Services), copies(s.Contents), copies(s.Pods)
	s.Table, s.Deployment, s.Budget = s.Table.DeepCopy(), s.Deployment.DeepCopy(), s.Budget.DeepCopy()
	return s
}

func copies[T any, P interface {
	*T
	DeepCopy() *T
}](list []T) []T {
	var result []T
	for i := range list {
		result = append(result, *P(&list[i]).DeepCopy())
	}
	return result
}

func TestLawTheSnapshotIsNotChanged(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, random *rand.Rand) {
		s := randomWorld(g, random)
		before := copied(s)
		decide.Decide(s)
		g.Expect(copied(s)).To(Equal(before))
	})
}

func TestLawTheOrderDoesNotMatter(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, random *rand.Rand) {
		s := randomWorld(g, random)
		want := decide.Decide(s)
		other := copied(s)
		random.Shuffle(len(other.Slices), func(i, j int) { other.Slices[i], other.Slices[j] = other.Slices[j], other.Slices[i] })
		random.Shuffle(len(other.PodSlices), func(i, j int) { other.PodSlices[i], other.PodSlices[j] = other.PodSlices[j], other.PodSlices[i] })
		random.Shuffle(len(other.Services), func(i, j int) { other.Services[i], other.Services[j] = other.Services[j], other.Services[i] })
		random.Shuffle(len(other.Contents), func(i, j int) { other.Contents[i], other.Contents[j] = other.Contents[j], other.Contents[i] })
		random.Shuffle(len(other.Pods), func(i, j int) { other.Pods[i], other.Pods[j] = other.Pods[j], other.Pods[i] })
		g.Expect(decide.Decide(other)).To(Equal(want))
	})
}

func TestLawInAWorldThatStandsStillThePlanAfterAPlanIsEmpty(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, random *rand.Rand) {
		s := randomWorld(g, random)
		s = apply(s, decide.Decide(s))
		// The Pods are notified of the table once it is written.
		s = apply(s, decide.Decide(s))
		g.Expect(decide.Decide(s)).To(Satisfy(idle))
	})
}

func TestLawNoSliceNoResponder(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, random *rand.Rand) {
		s := randomWorld(g, random)
		s.Slices = nil
		s = settled(g, s)
		g.Expect(s.Table).To(BeNil())
		g.Expect(s.Deployment).To(BeNil())
		g.Expect(s.Budget).To(BeNil())
	})
}

func TestLawEveryTableIsSound(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, random *rand.Rand) {
		s := settled(g, randomWorld(g, random))
		if s.Deployment == nil {
			return
		}
		ports, err := listener.ParseRange(s.Deployment.Spec.Template.Annotations[criticalv2.AnnotationListeners])
		g.Expect(err).NotTo(HaveOccurred())
		ofNumber, ofKey := map[int32]bool{}, map[string]bool{}
		for _, l := range tableOf(g, s).Listeners {
			g.Expect(ports.Contains(l.Port)).To(BeTrue(), "the responder listens on %d", l.Port)
			g.Expect(ofNumber[l.Port]).To(BeFalse(), "%d stands in for one port only", l.Port)
			g.Expect(ofKey[l.Service+"/"+l.PortName]).To(BeFalse(), "%s/%s has one listener only", l.Service, l.PortName)
			ofNumber[l.Port], ofKey[l.Service+"/"+l.PortName] = true, true
		}
		for _, service := range s.Services {
			asked := slices.ContainsFunc(s.Slices, func(one discoveryv1.EndpointSlice) bool {
				return one.Labels[discoveryv1.LabelServiceName] == service.Name
			})
			for _, p := range service.Spec.Ports {
				if asked && p.Protocol == corev1.ProtocolTCP {
					g.Expect(ofKey).To(HaveKey(service.Name + "/" + p.Name))
				}
			}
		}
	})
}

// TestLawANumberInUseStandsInForTheSameAlways follows a namespace through a long
// sequence of events. The operator sees some of its own writes late.
func TestLawANumberInUseStandsInForTheSameAlways(t *testing.T) {
	forRandomWorlds(t, func(g Gomega, random *rand.Rand) {
		s := snapshot()
		var deployment *appsv1.Deployment
		for step := range 60 {
			events[random.IntN(len(events))](g, random, &s)
			before, inUse := tableOf(g, s), publishedBy(s)
			isConfirmed := random.IntN(2) == 0
			if isConfirmed {
				s = apply(s, decided(s))
			} else {
				s = apply(s, decide.Decide(s))
			}
			after := tableOf(g, s)
			for _, l := range before.Listeners {
				number, found := after.Find(l.Service, l.PortName)
				if found {
					g.Expect(number).To(Equal(l.Port), "step %d: %s/%s must keep its number", step, l.Service, l.PortName)
				}
				if inUse[l.Port] == l.Service+"/"+l.PortName || !isConfirmed {
					g.Expect(found || s.Table == nil).To(BeTrue(), "step %d: %d is in use by %s/%s, or not confirmed", step, l.Port, l.Service, l.PortName)
				}
			}
			for _, l := range after.Listeners {
				if user, used := inUse[l.Port]; used {
					g.Expect(l.Service+"/"+l.PortName).To(Equal(user), "step %d: %d is published for another", step, l.Port)
				}
			}
			if s.Deployment != nil && deployment != nil {
				g.Expect(widthOf(g, s.Deployment)).To(BeNumerically(">=", widthOf(g, deployment)), "step %d: the range never shrinks", step)
			}
			deployment = s.Deployment
			if random.IntN(20) == 0 && s.Table != nil {
				s.Table = nil // Deleted by a user; what is published is remembered.
			}
		}
	})
}

// publishedBy says for which port of which Service a number is published.
func publishedBy(s decide.Snapshot) map[int32]string {
	users := map[int32]string{}
	for _, slice := range slices.Concat(s.Slices, s.PodSlices) {
		for _, p := range slice.Ports {
			users[*p.Port] = slice.Labels[discoveryv1.LabelServiceName] + "/" + *p.Name
		}
	}
	return users
}

func widthOf(g Gomega, deployment *appsv1.Deployment) int32 {
	ports, err := listener.ParseRange(deployment.Spec.Template.Annotations[criticalv2.AnnotationListeners])
	g.Expect(err).NotTo(HaveOccurred())
	return ports.Last - ports.First
}
