package stories_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// touch changes what means nothing.
func touch(o metav1.Object) {
	metav1.SetMetaDataAnnotation(meta(o), "example.com/touched", o.GetName())
}

// meta is the metadata of an object, to be changed.
func meta(o metav1.Object) *metav1.ObjectMeta {
	return o.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// A world of standbys that stands still costs no write, whatever its Services
// fall back to and however they stand.
func TestWhereEverythingIsArmedNothingIsWritten(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	pages, pods, backups := w.policy("a", toPage), w.policy("b", w.toPod(criticalv2.ActivationStandby), of("pods")), w.policy("c", toBackup("spare"), of("backups"))
	w.template()
	var all []*corev1.Service
	for number := range 20 {
		service, _ := w.up(fmt.Sprintf("page-%d", number))
		all = append(all, service)
	}
	down := w.down("page-down")
	pod, _ := w.up("pod", role(w, "pods"))
	backup, _ := w.up("backup", role(w, "backups"))
	spare := w.Service("spare")
	w.MakeReady(w.Pod("spare", spare))
	w.PublishEndpoints(spare)
	responders := []*corev1.Pod{w.responder("responder-1"), w.responder("responder-2")}
	w.MakeReady(w.fallback(pod))
	want := func(counts criticalv2.ServiceCounts) func(*criticalv2.CriticalService) {
		return func(p *criticalv2.CriticalService) {
			w.Eventually(func() criticalv2.ServiceCounts { return w.statusOf(p).Services }).Should(Equal(counts))
		}
	}
	want(criticalv2.ServiceCounts{Total: 21, Armed: 20, Covered: 1})(pages)
	want(criticalv2.ServiceCounts{Total: 1, Armed: 1})(pods)
	want(criticalv2.ServiceCounts{Total: 1, Armed: 1})(backups)
	w.Eventually(func() []string {
		var late []string
		for _, detail := range w.statusOf(pages).Details {
			if !strings.Contains(detail.Message, "(and 1 more)") || detail.Reason == criticalv2.ReasonStandbyServing {
				late = append(late, detail.Name+": "+detail.Message)
			}
		}
		return late
	}).Should(BeEmpty(), "the status knows both responders, and that the slice is promoted")
	w.settle()
	before := len(w.writes())

	// Everything is touched, and nothing of it matters.
	for _, service := range slices.Concat(all, []*corev1.Service{down, pod, backup, spare}) {
		testenv.Update(w.World, service, func(s *corev1.Service) {
			touch(s)
			metav1.SetMetaDataLabel(&s.ObjectMeta, "example.com/touched", "yes")
		})
		testenv.Update(w.World, w.ownSlice(service), func(s *discoveryv1.EndpointSlice) { touch(s) })
	}
	for _, service := range []*corev1.Service{all[0], down, pod, backup} {
		testenv.Update(w.World, w.slice(service), func(s *discoveryv1.EndpointSlice) { touch(s) })
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: criticalv2.ResponderName}}
	testenv.Update(w.World, deployment, func(d *appsv1.Deployment) { touch(d) })
	testenv.Update(w.World, pages, func(p *criticalv2.CriticalService) { touch(p) })
	for _, responder := range responders {
		w.PodStatus(responder, func(s *corev1.PodStatus) { s.Message = "touched" })
	}
	w.look(down, func() {})
	w.Expect(w.writes()[before:]).To(BeEmpty())

	w.stop()
	w.start(w.complete())
	w.look(down, func() {})
	w.Expect(w.writes()).To(BeEmpty(), "nor does a start write anything")
}

// of lets a policy match the Services of another role than the world's.
func of(role string) func(*criticalv2.CriticalService) {
	return func(p *criticalv2.CriticalService) {
		p.Spec.ServiceSelector.MatchLabels["role"] += "-" + role
	}
}

func role(w *world, role string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Labels["role"] = w.Namespace + "-" + role }
}

// ownSlice is the slice that the endpoint controller keeps of a Service.
func (w *world) ownSlice(service *corev1.Service) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name + "-0"}}
}

// A node, or a registry, may take all the Services of a namespace with it. Each
// costs one write for each Pod that stands by, and nothing is read; so it is on the way
// back.
func TestAMassFailureCostsOneWritePerSlice(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	w.SetDefaultEventuallyTimeout(time.Minute)
	const many = 200
	// Now and then the cache is behind, and a write is refused and done again.
	const perService = 2
	onePerSlice := And(BeNumerically(">=", perService*many), BeNumerically("<=", perService*many+many/20))
	services, pods := make([]*corev1.Service, many), make([]*corev1.Pod, many)
	w.EachAtOnce(many, func(i int) { services[i], pods[i] = w.up(fmt.Sprintf("web-%03d", i)) })
	w.Eventually(func() int32 { return w.statusOf(policy).Services.Total }).Should(BeEquivalentTo(many))
	w.Eventually(w.note(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "web-199"}}, criticalv2.AnnotationPage)).ShouldNot(BeEmpty())
	w.settle()
	w.responder("responder-1")
	w.responder("responder-2")
	w.Eventually(func() int32 { return w.statusOf(policy).Services.Armed }).Should(BeEquivalentTo(many))
	w.settle()

	before := len(w.requests())
	w.EachAtOnce(many, func(i int) { w.Delete(pods[i]) })
	w.EachAtOnce(many, func(i int) { w.PublishEndpoints(services[i]) })
	w.Eventually(func() int32 { return w.statusOf(policy).Services.Covered }).Should(BeEquivalentTo(many))
	w.settle()
	asked := w.requests()[before:]
	slicePatches := count(asked, func(r testenv.Request) bool { return r.Method == http.MethodPatch && r.Resource() == "endpointslices" })
	statusPatches := count(asked, func(r testenv.Request) bool { return r.Writes() && r.Resource() == "criticalservices/status" })
	t.Logf("%d Services failed: %d writes of slices, %d of status, %d requests in all (with events)", many, slicePatches, statusPatches, len(asked))
	w.Expect(slicePatches).To(onePerSlice)
	w.Expect(count(asked, isRead)).To(BeZero())
	w.Expect(count(asked, func(r testenv.Request) bool {
		return r.Writes() && r.Resource() != "endpointslices" && r.Resource() != "criticalservices/status" && r.Resource() != "events"
	})).To(BeZero())
	w.Expect(statusPatches).To(BeNumerically("<=", many/2), "the status gathers what comes in a burst")
	for _, service := range services {
		w.Expect(w.published(service)()).To(And(HavePrefix("page: responder-1+responder-2 on"), HaveSuffix("promoted")))
	}

	before = len(w.requests())
	w.EachAtOnce(many, func(i int) { w.recover(services[i]) })
	w.Eventually(func() int32 { return w.statusOf(policy).Services.Armed }).Should(BeEquivalentTo(many))
	for _, service := range services {
		w.Eventually(w.published(service)).Should(HaveSuffix("standby"))
	}
	w.settle()
	asked = w.requests()[before:]
	t.Logf("%d Services recovered: %d reads, %d requests in all (with events)", many, count(asked, isRead), len(asked))
	w.Expect(count(asked, func(r testenv.Request) bool { return r.Method == http.MethodPatch && r.Resource() == "endpointslices" })).To(onePerSlice)
	w.Expect(count(asked, isRead)).To(BeZero())
}

func count(requests []testenv.Request, where func(testenv.Request) bool) int {
	n := 0
	for _, r := range requests {
		if where(r) {
			n++
		}
	}
	return n
}

// A Service that fails costs one write that promotes its standby, one that reports it, and one event; and so it is when
// it recovers. More would be a load where many fail at once.
func TestAnOutageCostsTwoWritesAndAnEventEachWay(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, real := w.armed(policy, "web")
	w.settle()
	isEvent := func(r testenv.Request) bool { return r.Writes() && r.Resource() == "events" }
	costs := func(way string, change func()) {
		writes, asked := len(w.writes()), len(w.requests())
		change()
		w.settle()
		slice, status := HaveField("Resource()", "endpointslices"), HaveField("Resource()", "criticalservices/status")
		// Where a machine is slow, a status says that the slice is being written, and another one that it is.
		w.Expect(w.writes()[writes:]).To(Or(HaveExactElements(slice, status), HaveExactElements(slice, status, status)), way)
		w.Eventually(func() int { return count(w.requests()[asked:], isEvent) }).Should(Equal(1), way)
	}
	costs("an outage begins", func() {
		w.fail(service, real)
		w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	})
	costs("it ends", func() {
		w.recover(service)
		w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	})
}
