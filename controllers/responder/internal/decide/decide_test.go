package decide_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/controller/drift"
)

func TestTheResponder(t *testing.T) {
	type wish struct {
		replicas int32
		owners   []string
		contents []string
	}
	two := criticalv2.PageFallback{ConfigMapName: "mine"}
	tests := map[string]struct {
		world decide.Snapshot
		want  wish
	}{
		"there are two Pods where no page says more": {
			world: snapshot(critical("web", port("http", 80))),
			want:  wish{2, []string{"storefront"}, nil},
		},
		"one Pod, if every page wants but one": {
			world: snapshot(service("web", port("http", 80)), slice("web", "ipv4", page(criticalv2.PageFallback{Replicas: new(int32(1))}))),
			want:  wish{1, []string{"storefront"}, nil},
		},
		"the greatest wish holds": {
			world: snapshot(
				service("web"), slice("web", "ipv4", page(criticalv2.PageFallback{Replicas: new(int32(5))})),
				service("api"), slice("api", "ipv4", page(criticalv2.PageFallback{Replicas: new(int32(3))})),
				critical("db")),
			want: wish{5, []string{"storefront"}, nil},
		},
		"there is always a Pod": {
			world: snapshot(slice("web", "ipv4", page(criticalv2.PageFallback{Replicas: new(int32(-1))}))),
			want:  wish{1, []string{"storefront"}, nil},
		},
		"the owners are those of the slices, each once and by name": {
			world: snapshot(slice("a", "ipv4", ownedBy("z")), slice("b", "ipv4", ownedBy("b")), slice("b", "ipv6", ownedBy("b")),
				slice("c", "ipv4", func(s *discoveryv1.EndpointSlice) { s.OwnerReferences = nil })),
			want: wish{2, []string{"b", "z"}, nil},
		},
		"a policy that matches and does not govern owns it, too, and what others own does not": {
			world: snapshot(slice("a", "ipv4", func(s *discoveryv1.EndpointSlice) {
				other := policy("other")
				other.Kind, other.Controller = "ServiceFallback", nil
				s.OwnerReferences = []metav1.OwnerReference{policy("governor"), other, {APIVersion: "v1", Kind: "Pod", Name: "pod", UID: "pod"}}
			})),
			want: wish{2, []string{"governor", "other"}, nil},
		},
		"content is mounted once it is there, agreed to and asked for": {
			world: snapshot(
				slice("web", "ipv4", page(two)), slice("api", "ipv4", page(criticalv2.PageFallback{ConfigMapName: "a-team"})),
				slice("db", "ipv4", page(criticalv2.PageFallback{ConfigMapName: "missing"})),
				slice("mq", "ipv4", page(criticalv2.PageFallback{ConfigMapName: "private"})),
				content("mine"), content("a-team"), content("unasked"), content("private"),
				func(s *decide.Snapshot) { s.Contents[3].Labels = nil }),
			want: wish{2, []string{"storefront"}, []string{"a-team", "mine"}},
		},
		"the slice that can be read holds": {
			world: snapshot(
				slice("web", "ipv4", func(s *discoveryv1.EndpointSlice) { s.Annotations = nil }),
				slice("web", "ipv6", page(criticalv2.PageFallback{Replicas: new(int32(4))}))),
			want: wish{4, []string{"storefront"}, nil},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plan := decide.Decide(test.world)
			got := wish{replicas: *plan.Deployment.Spec.Replicas}
			for _, owner := range plan.Deployment.OwnerReferences {
				g.Expect(owner.Controller).To(BeNil(), "several own it, and none controls it")
				got.owners = append(got.owners, owner.Name)
			}
			for _, volume := range plan.Deployment.Spec.Template.Spec.Volumes[1:] {
				got.contents = append(got.contents, volume.ConfigMap.Name)
			}
			g.Expect(got).To(Equal(test.want))
			g.Expect(plan.Table.OwnerReferences).To(Equal(plan.Deployment.OwnerReferences))
			g.Expect(plan.Budget.OwnerReferences).To(Equal(plan.Deployment.OwnerReferences))
		})
	}
}

func TestThePageInTheTable(t *testing.T) {
	g := NewWithT(t)
	s := settled(g, snapshot(
		service("web", corev1.ServicePort{Name: "h2", Port: 443, AppProtocol: new("kubernetes.io/h2c")}),
		slice("web", "ipv4", page(criticalv2.PageFallback{StatusCode: 503, Message: "Soon."}))))
	want := listener.Listener{
		Port: 20000, Service: "web", PortName: "h2", ServicePort: 443, AppProtocol: "kubernetes.io/h2c",
		Page: &criticalv2.PageFallback{StatusCode: 503, Message: "Soon."},
	}
	g.Expect(tableOf(g, s).Listeners).To(Equal([]listener.Listener{want}))

	s.Slices[0].Annotations = nil
	g.Expect(decide.Decide(s)).To(Satisfy(idle), "an edited slice does not change the page")

	page(criticalv2.PageFallback{Message: strings.Repeat("m", 1025)})(&s.Slices[0])
	g.Expect(decide.Decide(s)).To(Satisfy(idle), "nor does one that is out of bounds")

	page(criticalv2.PageFallback{StatusCode: 500})(&s.Slices[0])
	want.Page = &criticalv2.PageFallback{StatusCode: 500}
	g.Expect(tableOf(g, settled(g, s)).Listeners).To(Equal([]listener.Listener{want}))
}

func TestTheMaintenanceInTheTable(t *testing.T) {
	g := NewWithT(t)
	announces := func(text string) func(*discoveryv1.EndpointSlice) {
		return func(s *discoveryv1.EndpointSlice) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, criticalv2.AnnotationMaintenance, text)
		}
	}
	s := settled(g, snapshot(
		service("web", port("http", 80)), slice("web", "ipv4", announces(`{"message":"We move house.","until":"2030-01-31T17:30:00Z"}`)),
		critical("shop", port("http", 80))))
	listeners := map[string]listener.Listener{}
	for _, l := range tableOf(g, s).Listeners {
		listeners[l.Service] = l
	}
	g.Expect(listeners["web"].Maintenance.Message).To(Equal("We move house."))
	g.Expect(listeners["web"].Maintenance.Until.Time).To(BeTemporally("==", time.Date(2030, 1, 31, 17, 30, 0, 0, time.UTC)))
	g.Expect(listeners["shop"].Maintenance).To(BeNil(), "it is announced for one Service")

	announces("{")(&s.Slices[0])
	g.Expect(tableOf(g, settled(g, s)).Listeners[1].Maintenance).To(BeNil(), "what cannot be parsed announces nothing")
}

func TestWhatIsThere(t *testing.T) {
	world := func(changes ...func(*decide.Snapshot)) func(Gomega) decide.Snapshot {
		return func(g Gomega) decide.Snapshot {
			s := settled(g, snapshot(critical("web", port("http", 80)), content("mine"), pod("one"), func(s *decide.Snapshot) {
				page(criticalv2.PageFallback{ConfigMapName: "mine"})(&s.Slices[0])
			}))
			for _, change := range changes {
				change(&s)
			}
			return s
		}
	}
	tests := map[string]struct {
		world func(Gomega) decide.Snapshot
		// want are the parts of the plan that are not empty.
		want string
	}{
		"nothing is asked for and nothing is there": {
			world: func(Gomega) decide.Snapshot {
				return snapshot(service("web", port("http", 80)), content("mine"), pod("one"))
			},
		},
		"nothing is asked for any more": {
			world: world(func(s *decide.Snapshot) { s.Slices = nil }), want: "remove",
		},
		"nothing is asked for, and only one object is left": {
			world: world(func(s *decide.Snapshot) { s.Slices, s.Table, s.Deployment = nil, nil, nil }), want: "remove",
		},
		"all is as it must be": {world: world()},
		"without an image nothing is made": {
			world: func(Gomega) decide.Snapshot {
				return snapshot(critical("web", port("http", 80)), func(s *decide.Snapshot) { s.Settings.Image = "" })
			},
			want: "no image",
		},
		"without an image what is there goes on as it is": {
			world: world(func(s *decide.Snapshot) { s.Settings.Image = "" }),
		},
		"another image": {
			world: world(func(s *decide.Snapshot) { s.Settings.Image = "quay.io/operator:2" }), want: "deployment",
		},
		"a user scaled the Deployment": {
			world: world(func(s *decide.Snapshot) { s.Deployment.Spec.Replicas = new(int32(0)) }), want: "deployment",
		},
		"a user gave the Pods a token": {
			world: world(func(s *decide.Snapshot) { s.Deployment.Spec.Template.Spec.AutomountServiceAccountToken = new(true) }),
			want:  "deployment",
		},
		"a user changed the rollout": {
			world: world(func(s *decide.Snapshot) { s.Deployment.Spec.Strategy.RollingUpdate.MaxUnavailable.IntVal = 1 }),
			want:  "deployment",
		},
		"a user removed an argument": {
			world: world(func(s *decide.Snapshot) {
				args := &s.Deployment.Spec.Template.Spec.Containers[0].Args
				*args = (*args)[:2]
			}),
			want: "deployment",
		},
		"a user removed an owner": {
			world: world(func(s *decide.Snapshot) { s.Budget.OwnerReferences = nil }), want: "budget",
		},
		"a user removed a label": {
			world: world(func(s *decide.Snapshot) { s.Table.Labels = nil }), want: "table",
		},
		"a user deleted the budget": {
			world: world(func(s *decide.Snapshot) { s.Budget = nil }), want: "budget",
		},
		"what others add is left": {
			world: world(func(s *decide.Snapshot) {
				s.Deployment.Annotations["example.com/seen"] = "yes"
				s.Deployment.Labels["example.com/team"] = "platform"
				spec := &s.Deployment.Spec.Template.Spec
				spec.Containers = append([]corev1.Container{{Name: "sidecar"}}, spec.Containers...)
				spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "sidecar"})
				s.Deployment.Status.Replicas = 2
				s.Table.Data["note"] = "do not touch"
			}),
		},
		"what an admission webhook makes of an object is not fought": {
			world: world(func(s *decide.Snapshot) {
				without := *s
				without.Deployment = nil
				wanted := decide.Decide(without).Deployment
				s.Deployment.Spec.Template.Spec.Containers[0].Image = "mirror.example.com/operator:1"
				s.Answers = map[types.UID]string{s.Deployment.UID: drift.Digest(wanted, s.Deployment)}
			}),
		},
		"a new owner": {
			world: world(func(s *decide.Snapshot) { slice("api", "ipv4", ownedBy("other"))(s) }), want: "table deployment budget",
		},
		"content that changed": {
			world: world(func(s *decide.Snapshot) { s.Contents[0].ResourceVersion = "2" }), want: "refresh",
		},
		"a new Pod": {
			world: world(func(s *decide.Snapshot) { pod("two")(s) }), want: "refresh",
		},
		"Pods that end are left alone": {
			world: world(func(s *decide.Snapshot) {
				pod("two")(s)
				pod("three")(s)
				s.Pods[1].DeletionTimestamp = &metav1.Time{}
				s.Pods[2].Status.Phase = corev1.PodFailed
			}),
		},
		"of a new Service and new content at once, the kubelet is notified at the end": {
			world: world(func(s *decide.Snapshot) {
				s.Contents[0].ResourceVersion = "2"
				critical("api", port("http", 80))(s)
			}),
			want: "table",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plan := decide.Decide(test.world(g))
			var parts []string
			for _, part := range []struct {
				name string
				is   bool
			}{
				{"remove", plan.Remove}, {"no image", plan.NoImage}, {"table", plan.Table != nil},
				{"deployment", plan.Deployment != nil}, {"budget", plan.Budget != nil}, {"refresh", len(plan.RefreshMounts) > 0},
			} {
				if part.is {
					parts = append(parts, part.name)
				}
			}
			g.Expect(strings.Join(parts, " ")).To(Equal(test.want))
		})
	}
}
