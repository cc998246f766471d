package stories_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// Whatever a user does to a standby slice, before an outage or in it, it is put
// right again.
func TestAStandbySliceIsFixedWhenAUser(t *testing.T) {
	t.Parallel()
	change := func(f func(*discoveryv1.EndpointSlice)) func(*world, *discoveryv1.EndpointSlice) {
		return func(w *world, slice *discoveryv1.EndpointSlice) { testenv.Update(w.World, slice, f) }
	}
	for name, harm := range map[string]func(*world, *discoveryv1.EndpointSlice){
		"deletes it":           func(w *world, slice *discoveryv1.EndpointSlice) { w.Delete(slice) },
		"takes its labels off": change(func(s *discoveryv1.EndpointSlice) { s.Labels = nil }),
		"takes the Service's name off": change(func(s *discoveryv1.EndpointSlice) {
			delete(s.Labels, discoveryv1.LabelServiceName)
		}),
		"gives it to another Service": change(func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "other" }),
		"gives it to another manager": change(func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = "other" }),
		"takes its Pod off":           change(func(s *discoveryv1.EndpointSlice) { delete(s.Labels, criticalv2.LabelStandbyPod) }),
		"takes its owner off":         change(func(s *discoveryv1.EndpointSlice) { s.OwnerReferences = nil }),
		"takes its endpoints out":     change(func(s *discoveryv1.EndpointSlice) { s.Endpoints = nil }),
		"adds an endpoint": change(func(s *discoveryv1.EndpointSlice) {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"192.0.2.1"}})
		}),
		"changes its ports": change(func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = new(int32(1)) }),
		"promotes or demotes it by hand": change(func(s *discoveryv1.EndpointSlice) {
			is := &s.Endpoints[0].Conditions
			is.Ready, is.Terminating = is.Terminating, is.Ready
		}),
		"says that it ends": change(func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].Conditions.Serving = new(false)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			w := withResponder(t)
			w.start(w.complete())
			policy := w.policy("shop", toPage)
			service, real := w.armed(policy, "web")
			name := w.podSlice(service).Name
			fixed := func() *discoveryv1.EndpointSlice {
				slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
				w.Exists(slice)
				return &discoveryv1.EndpointSlice{
					ObjectMeta: metav1.ObjectMeta{Labels: slice.Labels, Annotations: slice.Annotations, OwnerReferences: slice.OwnerReferences},
					Ports:      slice.Ports, Endpoints: slice.Endpoints,
				}
			}
			asArmed := fixed()
			harm(w, w.podSlice(service))
			w.Eventually(fixed).Should(Equal(asArmed))
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))

			w.fail(service, real)
			w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
			w.settle()
			asPromoted := fixed()
			harm(w, w.podSlice(service))
			w.Eventually(fixed).Should(Equal(asPromoted))
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
			w.settle()
			w.Expect(fixed()).To(Equal(asPromoted))
		})
	}
}

func TestTheSliceThatAsksIsFixedWhenAUser(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(*discoveryv1.EndpointSlice){
		"takes its labels off":      func(s *discoveryv1.EndpointSlice) { s.Labels = nil },
		"takes its annotations off": func(s *discoveryv1.EndpointSlice) { s.Annotations = nil },
		"takes its owner off":       func(s *discoveryv1.EndpointSlice) { s.OwnerReferences = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := withResponder(t)
			w.start(w.complete())
			policy := w.policy("shop", toPage)
			service, _ := w.armed(policy, "web")
			fixed := func() metav1.ObjectMeta {
				slice := w.slice(service)
				w.Exists(slice)
				return metav1.ObjectMeta{Labels: slice.Labels, Annotations: slice.Annotations, OwnerReferences: slice.OwnerReferences}
			}
			asArmed := fixed()
			testenv.Update(w.World, w.slice(service), harm)
			w.Eventually(fixed).Should(Equal(asArmed))
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
		})
	}
}

// What others add to a slice is theirs, and stays.
func TestWhatOthersAddToAStandbySliceStays(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, real := w.armed(policy, "web")
	testenv.Update(w.World, w.podSlice(service), func(s *discoveryv1.EndpointSlice) {
		metav1.SetMetaDataLabel(&s.ObjectMeta, "example.com/team", "shop")
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, "example.com/team", "shop")
	})
	w.fail(service, real)
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
	slice := w.podSlice(service)
	w.Expect(slice.Labels).To(HaveKeyWithValue("example.com/team", "shop"))
	w.Expect(slice.Annotations).To(HaveKeyWithValue("example.com/team", "shop"))
}

// A slice of another user is not taken over, whatever its name is. That there is
// no fallback is said, and what to do.
func TestASliceOfAnotherUserIsLeftAsItIs(t *testing.T) {
	w := withResponder(t)
	foreign := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "web-standby-ipv4", Labels: map[string]string{discoveryv1.LabelManagedBy: "other"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}},
	}
	w.Create(foreign)
	w.start(w.complete())
	w.policy("shop", toPage)
	service, real := w.up("web")
	w.Eventually(w.EventsOf(service, "NameTaken")).Should(ConsistOf(MatchFields(IgnoreExtras, Fields{
		"Type": Equal(corev1.EventTypeWarning), "Message": And(ContainSubstring(`"web-standby-ipv4"`), ContainSubstring("delete or rename it")),
	})))
	w.fail(service, real)
	w.look(service, func() {})
	version := foreign.ResourceVersion
	w.Expect(w.Exists(foreign)).To(BeTrue())
	w.Expect(foreign.ResourceVersion).To(Equal(version))

	w.Delete(foreign)
	w.look(service, func() {})
	w.Eventually(w.published(service)).Should(Equal("page: nothing"))
	w.responder("responder-1")
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
}

// A write is refused when another user wrote meanwhile, and is retried from what
// there is then.
func TestAPromotionThatMeetsAnotherWriteIsMadeAgain(t *testing.T) {
	w := withResponder(t)
	request := hold(func(r testenv.Request) bool { return r.Method == http.MethodPatch && r.Resource() == "endpointslices" })
	program := w.complete()
	program.Interfere = request.interfere
	w.start(program)
	policy := w.policy("shop", toPage)
	service, real := w.armed(policy, "web")
	w.settle()

	request.between(w, func() { w.fail(service, real) }, func() {
		testenv.Update(w.World, w.podSlice(service), func(s *discoveryv1.EndpointSlice) {
			metav1.SetMetaDataLabel(&s.ObjectMeta, "example.com/team", "shop")
		})
	})
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Expect(w.published(service)()).To(HaveSuffix("promoted"))
	w.settle()
	w.Eventually(w.EventsOf(service, "FallbackPromoted")).Should(HaveLen(1))
}

// A recovery that is over when the standby is demoted promotes it again.
func TestARecoveryThatIsOverIsAnOutageAgain(t *testing.T) {
	w := withResponder(t)
	request := hold(func(r testenv.Request) bool { return r.Method == http.MethodPatch && r.Resource() == "endpointslices" })
	program := w.complete()
	program.Interfere = request.interfere
	w.start(program)
	policy := w.policy("shop", toPage)
	service, pod := w.armed(policy, "web")
	w.fail(service, pod)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.settle()

	real := w.Pod("web-real", service)
	request.between(w, func() {
		w.MakeReady(real)
		w.PublishEndpoints(service)
	}, func() {
		w.MakeUnready(real)
		w.PublishEndpoints(service)
	})
	w.look(service, func() {})
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
}

// An EndpointSlice may for a while list a Pod that is gone. Nothing is unpublished for
// its sake.
func TestAnEndpointWithoutItsPodEndsNoPage(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, real := w.armed(policy, "web")
	w.fail(service, real)
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))

	w.look(service, func() { w.turn(policy, toLabels) })
	w.look(service, func() { w.Slice(service, "stale", with(ready)) })
	w.Expect(w.published(service)()).To(HavePrefix("page: responder-1 on http=20000"))
	w.recover(service)
	w.Eventually(w.published(service)).Should(BeEmpty())
}

// A responder Pod that a wide selector catches is an endpoint of the Service, and
// never its own. It takes requests on a port on which it does not listen.
func TestAResponderPodIsNeverTheServicesOwn(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service := w.critical("web", func(s *corev1.Service) {
		s.Spec.Selector = map[string]string{"app.kubernetes.io/name": criticalv2.ResponderName}
	})
	w.PublishEndpoints(service)
	w.responder("responder-1")
	w.PublishEndpoints(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/PortUnanswered"))
	own := w.ownSlice(service)
	w.Expect(w.Exists(own)).To(BeTrue())
	w.Expect(own.Endpoints).To(ConsistOf(MatchFields(IgnoreExtras, Fields{
		"Conditions": WithTransform(func(c discoveryv1.EndpointConditions) bool { return ptr.Deref(c.Ready, false) }, BeTrue()),
	})))
	w.look(service, func() {})
	w.Expect(w.published(service)()).To(HaveSuffix("promoted"))
}

// The endpoints of a backup are Pods of another Service, so that only the slice's
// labels show that they are not the Service's own.
func TestAPromotedBackupThatLosesItsLabelsIsNoRecovery(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(*discoveryv1.EndpointSlice){
		"that of its manager": func(s *discoveryv1.EndpointSlice) { delete(s.Labels, discoveryv1.LabelManagedBy) },
		"all of them":         func(s *discoveryv1.EndpointSlice) { s.Labels = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := withResponder(t)
			w.spare("spare", "spare-1")
			w.start(w.complete())
			policy := w.policy("shop", toBackup("spare"))
			service := w.down("web")
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
			w.settle()
			labels := w.existing(service).Labels
			w.look(service, func() { testenv.Update(w.World, w.slice(service), harm) })
			w.Eventually(func() map[string]string { return w.existing(service).Labels }).Should(Equal(labels))
			w.Expect(w.published(service)()).To(Equal("service: spare-1 on http=8080, promoted"))
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
			w.Expect(w.Events(service, "FallbackDemoted")).To(BeEmpty())
		})
	}
}
