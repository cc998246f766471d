package decide_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/controllers/responder/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/controller/drift"
)

func TestNumbers(t *testing.T) {
	udp := corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}
	tests := map[string]struct {
		world decide.Snapshot
		// then changes the settled world, in which the slices publish the table.
		then func(g Gomega, s *decide.Snapshot)
		want []string
	}{
		"each TCP port of each Service gets a number, by name": {
			world: snapshot(critical("web", port("http", 80), udp, port("admin", 81)), critical("db", port("", 5432))),
			want:  []string{"20000 db/", "20001 web/admin", "20002 web/http"},
		},
		"a port that names no protocol is a TCP port": {
			world: snapshot(critical("web", corev1.ServicePort{Name: "http", Port: 80})),
			want:  []string{"20000 web/http"},
		},
		"a Service of two IP families has one number for both": {
			world: snapshot(critical("web", port("http", 80)), slice("web", "ipv6")),
			want:  []string{"20000 web/http"},
		},
		"a Service that no slice asks for gets none": {
			world: snapshot(critical("web", port("http", 80)), service("other", port("http", 80))),
			want:  []string{"20000 web/http"},
		},
		"a new Service changes no other's number": {
			world: snapshot(critical("web", port("http", 80))),
			then:  func(_ Gomega, s *decide.Snapshot) { critical("api", port("http", 80))(s) },
			want:  []string{"20000 web/http", "20001 api/http"},
		},
		"a port that gets another number of its own keeps its listener": {
			world: snapshot(critical("web", port("http", 80))),
			then:  func(_ Gomega, s *decide.Snapshot) { s.Services[0].Spec.Ports[0].Port = 8080 },
			want:  []string{"20000 web/http"},
		},
		"a port that is gone stays for as long as its slice publishes it": {
			world: snapshot(critical("web", port("http", 80), port("old", 81))),
			then: func(_ Gomega, s *decide.Snapshot) {
				s.Services[0].Spec.Ports = []corev1.ServicePort{port("http", 80), port("new", 82)}
			},
			want: []string{"20000 web/http", "20001 web/old", "20002 web/new"},
		},
		"a Service that is gone stays for as long as its slice is there": {
			world: snapshot(critical("web", port("http", 80)), critical("api", port("http", 80))),
			then:  func(_ Gomega, s *decide.Snapshot) { s.Services = s.Services[:1] },
			want:  []string{"20000 api/http", "20001 web/http"},
		},
		"a number that was given back is used again last": {
			world: snapshot(critical("a", port("http", 80)), critical("b", port("http", 80))),
			then: func(g Gomega, s *decide.Snapshot) {
				s.Services, s.Slices = s.Services[:1], s.Slices[:1]
				*s = settled(g, *s)
				critical("c", port("http", 80))(s)
			},
			want: []string{"20000 a/http", "20002 c/http"},
		},
		"a number that a slice still publishes is not given away": {
			world: snapshot(critical("a", port("http", 80)), slice("b", "ipv4", publishes("http", 20000))),
			want:  []string{"20001 a/http"},
		},
		"a number that only the slice of a Pod publishes is not given away": {
			world: snapshot(critical("a", port("http", 80)), podSlice("b", "one", 1, publishes("http", 20000))),
			want:  []string{"20001 a/http"},
		},
		"a port that was renamed in an outage keeps its old listener while the slice of a Pod publishes it": {
			world: snapshot(critical("web", port("http", 80))),
			then: func(_ Gomega, s *decide.Snapshot) {
				s.Slices[0].Ports = nil
				podSlice("web", "one", 1, publishes("http", 20000), publishes("web", 20000))(s)
				s.Services[0].Spec.Ports = []corev1.ServicePort{port("web", 80)}
			},
			want: []string{"20000 web/http", "20001 web/web"},
		},
		"a Service that is not asked for any more stays for as long as the slice of a Pod publishes it": {
			world: snapshot(critical("api", port("http", 80)), critical("web", port("http", 80))),
			then: func(_ Gomega, s *decide.Snapshot) {
				podSlice("web", "one", 1, publishes("http", 20001))(s)
				s.Services, s.Slices = s.Services[:1], s.Slices[:1]
			},
			want: []string{"20000 api/http", "20001 web/http"},
		},
		"a port that was renamed gives its old listener back once no slice publishes it": {
			world: snapshot(critical("web", port("http", 80))),
			then: func(g Gomega, s *decide.Snapshot) {
				s.Slices[0].Ports = nil
				podSlice("web", "one", 1, publishes("http", 20000), publishes("web", 20000))(s)
				s.Services[0].Spec.Ports = []corev1.ServicePort{port("web", 80)}
				*s = settled(g, *s)
				s.PodSlices[0].Ports = nil
				publishes("web", 20001)(&s.PodSlices[0])
			},
			want: []string{"20001 web/web"},
		},
		"a table that is gone is made again from what the slices of Pods publish": {
			world: snapshot(critical("a", port("http", 80)), critical("b", port("http", 80))),
			then: func(_ Gomega, s *decide.Snapshot) {
				s.Slices[0].Ports, s.Slices[1].Ports, s.Table = nil, nil, nil
				podSlice("a", "one", 1, publishes("http", 20001))(s)
				podSlice("b", "one", 1, publishes("http", 20000))(s)
			},
			want: []string{"20000 b/http", "20001 a/http"},
		},
		"a table that is gone is made again from what the slices publish": {
			world: snapshot(critical("a", port("http", 80)), critical("b", port("http", 80))),
			then: func(_ Gomega, s *decide.Snapshot) {
				s.Slices[0].Ports, s.Slices[1].Ports = s.Slices[1].Ports, s.Slices[0].Ports
				s.Table = nil
			},
			want: []string{"20000 b/http", "20001 a/http"},
		},
		"a broken table is made again from what the slices publish": {
			world: snapshot(critical("a", port("http", 80)), critical("b", port("http", 80))),
			then:  func(_ Gomega, s *decide.Snapshot) { *s = write(*s, "{") },
			want:  []string{"20000 a/http", "20001 b/http"},
		},
		"an edited table yields to what the slices publish": {
			world: snapshot(critical("a", port("http", 80)), critical("b", port("http", 80))),
			then: func(_ Gomega, s *decide.Snapshot) {
				*s = write(*s, `{"pages":[{}],"listeners":[{"port":20001,"service":"a","portName":"http"},{"port":20000,"service":"b","portName":"http"}]}`)
			},
			want: []string{"20000 a/http", "20001 b/http"},
		},
		"what nothing publishes is taken from an edited table": {
			world: snapshot(critical("a", port("http", 80)), critical("b", port("http", 80))),
			then: func(_ Gomega, s *decide.Snapshot) {
				s.Slices[0].Ports, s.Slices[1].Ports = nil, nil
				*s = write(*s, `{"pages":[{}],"listeners":[{"port":20005,"service":"a","portName":"http"},{"port":20009,"service":"a","portName":"http"},{"port":20010,"service":"b","portName":"http"}]}`)
			},
			want: []string{"20005 a/http", "20010 b/http"},
		},
		"a table that gives a number twice is no memory": {
			world: snapshot(critical("a", port("http", 80)), critical("b", port("http", 80))),
			then: func(_ Gomega, s *decide.Snapshot) {
				s.Slices[0].Ports, s.Slices[1].Ports = nil, nil
				*s = write(*s, `{"pages":[{}],"listeners":[{"port":20005,"service":"a","portName":"http"},{"port":20005,"service":"b","portName":"http"}]}`)
			},
			want: []string{"20000 a/http", "20001 b/http"},
		},
		"a slice that says another thing than the operator's own table does not count": {
			world: snapshot(critical("a", port("http", 80)), critical("b", port("http", 80))),
			then: func(_ Gomega, s *decide.Snapshot) {
				s.Slices[0].Ports[0].Port = new(int32(20001))
				s.Slices[1].Ports[0].Port = new(int32(20009))
			},
			want: []string{"20000 a/http", "20001 b/http"},
		},
		"a number that is no listener's is no memory": {
			world: snapshot(service("a", port("http", 80)), slice("a", "ipv4", publishes("http", 8080))),
			want:  []string{"20000 a/http"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := settled(g, test.world)
			if test.then != nil {
				s = publish(g, s)
				test.then(g, &s)
				s = settled(g, s)
			}
			g.Expect(numbers(tableOf(g, s))).To(Equal(test.want))
		})
	}
}

// A listener goes once its Service is confirmed, and no table is written over one that was not read.
func TestAListenerStaysUntilItsServiceIsConfirmed(t *testing.T) {
	tests := map[string]struct {
		then func(g Gomega, s *decide.Snapshot)
		// unconfirmed are the Services to confirm, and confirmed is the table once they are.
		unconfirmed, confirmed []string
	}{
		"of a Service that asks no more": {
			then:        func(_ Gomega, s *decide.Snapshot) { s.Slices = s.Slices[:1] },
			unconfirmed: []string{"b"}, confirmed: []string{"20000 a/http"},
		},
		"of a Service that is gone": {
			then:        func(_ Gomega, s *decide.Snapshot) { s.Services = s.Services[:1] },
			unconfirmed: []string{"b"}, confirmed: []string{"20000 a/http"},
		},
		"of a port that is gone": {
			then:        func(_ Gomega, s *decide.Snapshot) { s.Services[1].Spec.Ports = []corev1.ServicePort{port("web", 80)} },
			unconfirmed: []string{"b"}, confirmed: []string{"20000 a/http", "20002 b/web"},
		},
		"and is not confirmed while it is published": {
			then: func(_ Gomega, s *decide.Snapshot) {
				s.Slices = s.Slices[:1]
				podSlice("b", "one", 1, publishes("http", 20001))(s)
			},
			confirmed: []string{"20000 a/http", "20001 b/http"},
		},
		"and is not asked about when it is needed": {
			then:      func(_ Gomega, s *decide.Snapshot) { critical("c", port("http", 80))(s) },
			confirmed: []string{"20000 a/http", "20001 b/http", "20002 c/http"},
		},
		"but for one that a user has written": {
			then: func(_ Gomega, s *decide.Snapshot) {
				*s = write(*s, `{"pages":[{}],"listeners":[{"port":20000,"service":"a","portName":"http"},{"port":20001,"service":"b","portName":"http"},{"port":20009,"service":"x","portName":"http"}]}`)
			},
			confirmed: []string{"20000 a/http", "20001 b/http"},
		},
		"but for one that a user has written as the operator does, for what is no Service": {
			then: func(_ Gomega, s *decide.Snapshot) {
				*s = write(*s, `{"pages":[{}],"listeners":[{"port":20000,"service":"a","portName":"http"},{"port":20001,"service":"b","portName":"http"},{"port":20009,"service":"not a name!","portName":"http"}]}`)
				s.Table.Annotations[render.AnnotationTable] = drift.Hash(s.Table.Data[listener.Key])
			},
			confirmed: []string{"20000 a/http", "20001 b/http"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := settled(g, snapshot(critical("a", port("http", 80)), critical("b", port("http", 80))))
			test.then(g, &s)
			s.Table.ResourceVersion = "7"
			plan := decide.Decide(s)
			g.Expect(plan.Unconfirmed).To(ConsistOf(test.unconfirmed))
			next := apply(s, plan)
			if len(test.unconfirmed) > 0 {
				g.Expect(numbers(tableOf(g, next))).To(ContainElements("20000 a/http", "20001 b/http"))
				next = settled(g, s)
				g.Expect(next.Table.ResourceVersion).To(Equal("7"), "it is not written over a newer one")
			}
			g.Expect(numbers(tableOf(g, next))).To(Equal(test.confirmed))
		})
	}
}

// many adds Services with a port each, named a0000, a0001 and so on.
func many(count int, name string) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		for i := range count {
			critical(fmt.Sprintf("%s%05d", name, i), port("http", 80))(s)
		}
	}
}

// annotated edits the Deployment.
func annotated(ports string) func(Gomega, *decide.Snapshot) {
	return func(_ Gomega, s *decide.Snapshot) {
		s.Deployment.Spec.Template.Annotations[criticalv2.AnnotationListeners] = ports
	}
}

func TestTheRange(t *testing.T) {
	tests := map[string]struct {
		world decide.Snapshot
		then  func(g Gomega, s *decide.Snapshot)
		want  string
	}{
		"it begins with 64 ports":            {world: snapshot(many(1, "a")), want: "20000-20063"},
		"64 listeners fit":                   {world: snapshot(many(64, "a")), want: "20000-20063"},
		"with the 65th it grows fourfold":    {world: snapshot(many(65, "a")), want: "20000-20255"},
		"more than a thousand listeners fit": {world: snapshot(many(1100, "a")), want: "20000-24095"},
		"it ends where ports of other sorts begin": {
			world: snapshot(many(1, "a")),
			then:  func(_ Gomega, s *decide.Snapshot) { slice("gone", "ipv4", publishes("http", 28192))(s) },
			want:  "20000-32767",
		},
		"it shrinks where next to nothing of it is in use": {
			world: snapshot(many(5000, "a")),
			then:  func(_ Gomega, s *decide.Snapshot) { s.Services, s.Slices = s.Services[:1], s.Slices[:1] },
			want:  "20000-20063",
		},
		"it stays where what is in use is spread over it": {
			world: snapshot(many(5000, "a")),
			then: func(_ Gomega, s *decide.Snapshot) {
				s.Services = append(s.Services[:1:1], s.Services[4000])
				s.Slices = append(s.Slices[:1:1], s.Slices[4000])
			},
			want: "20000-32767",
		},
		"it does not shrink": {
			world: snapshot(many(65, "a")),
			then:  func(_ Gomega, s *decide.Snapshot) { s.Services, s.Slices = s.Services[:1], s.Slices[:1] },
			want:  "20000-20255",
		},
		"a Deployment that is gone is made again with what is in use": {
			world: snapshot(many(65, "a")),
			then:  func(_ Gomega, s *decide.Snapshot) { s.Deployment = nil },
			want:  "20000-20255",
		},
		"a widened annotation does not matter": {
			world: snapshot(many(65, "a")),
			then:  annotated("1-65535"),
			want:  "20000-20255",
		},
		"an annotation that takes all ports from others does not matter": {
			world: snapshot(many(65, "a")),
			then:  annotated("20000-32767"),
			want:  "20000-20255",
		},
		"a moved annotation does not matter": {
			world: snapshot(many(65, "a")),
			then:  annotated("30000-30063"),
			want:  "20000-20255",
		},
		"numbers that come and go do not make it grow": {
			world: snapshot(many(40, "a")),
			then: func(g Gomega, s *decide.Snapshot) {
				for i := range 5 {
					s.Services, s.Slices = nil, nil
					many(40, fmt.Sprint("x", i))(s)
					*s = settled(g, *s)
				}
			},
			want: "20000-20063",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := settled(g, test.world)
			if test.then != nil {
				test.then(g, &s)
				s = settled(g, s)
			}
			g.Expect(s.Deployment.Spec.Template.Annotations[criticalv2.AnnotationListeners]).To(Equal(test.want))
			g.Expect(s.Deployment.Spec.Template.Spec.Containers[0].Args).To(ContainElement("--listeners=" + test.want))
		})
	}
}

func neighbour(ports string) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		r, _ := listener.ParseRange(ports)
		s.Neighbours = append(s.Neighbours, decide.Neighbour{Namespace: fmt.Sprint("other-", len(s.Neighbours)), Ports: r})
	}
}

// listening makes the Deployment that a namespace has.
func listening(ports string) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		world := snapshot(critical("a00000", port("http", 80)))
		s.Deployment = decide.Decide(world).Deployment
		s.Deployment.Spec.Template.Annotations[criticalv2.AnnotationListeners] = ports
	}
}

func TestTheRangeBesideOthers(t *testing.T) {
	everyBlock := func(s *decide.Snapshot) {
		for block := range listener.Blocks {
			neighbour(listener.BlockAt(block).String())(s)
		}
	}
	tests := map[string]struct {
		world decide.Snapshot
		want  string
	}{
		"another namespace has the block":                    {snapshot(many(1, "a"), neighbour("20000-20063")), "20064-20127"},
		"another has that block and the next":                {snapshot(many(1, "a"), neighbour("20000-20127")), "20128-20191"},
		"others have parts of blocks":                        {snapshot(many(1, "a"), neighbour("20063-20064"), neighbour("20191-20191")), "20192-20255"},
		"others have what it does not need":                  {snapshot(many(1, "a"), neighbour("20064-32767")), "20000-20063"},
		"all blocks are taken: it shares its own":            {snapshot(many(1, "a"), everyBlock), "20000-20063"},
		"a range that was given stays":                       {snapshot(many(1, "a"), listening("20000-20063"), neighbour("20000-20063")), "20000-20063"},
		"it may begin anywhere":                              {snapshot(many(1, "a"), listening("30000-30099")), "30000-30099"},
		"it grows upwards":                                   {snapshot(many(65, "a"), listening("30000-30063")), "30000-30255"},
		"it grows away from another":                         {snapshot(many(65, "a"), listening("30000-30063"), neighbour("30064-30127")), "29808-30063"},
		"it grows into others that are beside it":            {snapshot(many(65, "a"), listening("30000-30063"), neighbour("29936-29999"), neighbour("30064-30127")), "30000-30255"},
		"it doubles where others are further away":           {snapshot(many(65, "a"), listening("30000-30063"), neighbour("29904-29935"), neighbour("30064-30127")), "29936-30063"},
		"a few ports that are free at the end are no growth": {snapshot(many(65, "a"), listening("32672-32735"), neighbour("32600-32671")), "32480-32735"},
		"it grows by a block between others":                 {snapshot(many(257, "a"), listening("30000-30255"), neighbour("29900-29935"), neighbour("30256-30319")), "29936-30255"},
		"it grows downwards at the end":                      {snapshot(many(65, "a"), listening("32704-32767")), "32512-32767"},
		"it grows to the side that has more ports":           {snapshot(many(65, "a"), listening("32680-32743")), "32488-32743"},
		"it grows on both sides as far as ports go": {
			snapshot(many(9000, "a"), listening("30000-30063")), "20000-31023",
		},
		"the last numbers are in no block of their own": {
			snapshot(many(1, "a"), slice("gone", "ipv4", publishes("http", 32767))), "32672-32767",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := settled(g, test.world)
			ports, err := listener.ParseRange(s.Deployment.Spec.Template.Annotations[criticalv2.AnnotationListeners])
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ports.String()).To(Equal(test.want))
			for _, l := range tableOf(g, s).Listeners {
				g.Expect(ports.Contains(l.Port)).To(BeTrue(), "%d", l.Port)
			}
			s.Neighbours = nil
			g.Expect(decide.Decide(s).AsksNeighbours).To(BeFalse(), "a range that stays is no choice")
		})
	}
}

func TestNamespacesBeginApart(t *testing.T) {
	g := NewWithT(t)
	var taken []decide.Neighbour
	for i := range 100 {
		s := snapshot(many(1, "a"), func(s *decide.Snapshot) { s.Namespace, s.Neighbours = fmt.Sprint("team-", i), taken })
		plan := decide.Decide(s)
		g.Expect(plan.AsksNeighbours).To(BeTrue())
		for _, other := range taken {
			g.Expect(plan.Ports.Overlaps(other.Ports)).To(BeFalse())
		}
		taken = append(taken, decide.NeighbourOf(plan.Deployment, s.Now))
		s.Neighbours = nil
		g.Expect(decide.Decide(s).Ports).To(Equal(listener.BlockAt(listener.Home(s.Namespace))), "it does not depend on when it comes")
	}
}

func TestWhatDoesNotFit(t *testing.T) {
	g := NewWithT(t)

	long := func(name string) func(*discoveryv1.EndpointSlice) {
		return page(criticalv2.PageFallback{Message: name + strings.Repeat("m", 1024-len(name))})
	}
	s := snapshot()
	for i := range 1000 {
		name := fmt.Sprintf("a%03d", i)
		service(name, port("", 80))(&s)
		slice(name, "ipv4", long(name))(&s)
	}
	plan := decide.Decide(s)
	g.Expect(len(plan.Table.Data[listener.Key])).To(BeNumerically("<", 1<<20), "a ConfigMap takes no more")
	g.Expect(plan.Listeners+len(plan.Unassigned)).To(Equal(len(s.Services)), "each Service has a listener or is named")
	g.Expect(plan.Unassigned[0].Name > "a500").To(BeTrue(), "the last ones by name are left without")

	s = settled(g, s)
	before := numbers(tableOf(g, s))
	service("a-new-one", port("http", 80))(&s)
	slice("a-new-one", "ipv4", long("a-new-one"))(&s)
	s = settled(g, s)
	g.Expect(numbers(tableOf(g, s))).To(Equal(before), "who comes last pushes out no other")
}

func TestTenThousandServicesWithNamedPortsFit(t *testing.T) {
	g := NewWithT(t)
	plan := decide.Decide(snapshot(many(10_000, "shop-service-")))
	g.Expect(plan.Unassigned).To(BeEmpty())
	g.Expect(plan.Listeners).To(Equal(10_000))
}

func TestNoPortIsLeft(t *testing.T) {
	g := NewWithT(t)
	s := snapshot(critical("web", port("http", 80)))
	for number := listener.First; number <= listener.Last; number++ {
		slice(fmt.Sprint("gone-", number), "ipv4", publishes("http", number))(&s)
	}
	plan := decide.Decide(s)
	g.Expect(plan.Listeners).To(BeZero())
	g.Expect(plan.Unassigned).To(HaveLen(1))
	g.Expect(plan.Unassigned[0].Name).To(Equal("web"))

	s.Slices = s.Slices[:len(s.Slices)-1]
	g.Expect(numbers(tableOf(g, settled(g, s)))).To(Equal([]string{"32767 web/http"}), "the one that becomes free")
}
