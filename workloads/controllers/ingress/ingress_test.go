package ingress_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	applynetworkingv1 "k8s.io/client-go/applyconfigurations/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/testenv"
	"github.com/critical-service/operator/workloads/controllers/ingress"
)

var (
	fooBar = ingress.Options{Annotations: map[string]string{"foo": "bar"}}
	status = ingress.Options{Status: true}
)

const (
	fallback = "mycrd.com/fallback"
	rewrite  = "nginx.ingress.kubernetes.io/rewrite-target"
)

// The document's task: every Ingress has foo: bar, those that exist already as well.
func TestEveryIngressKeepsTheAnnotation(t *testing.T) {
	w := newWorld(t)
	before := w.ingress("before", nil, "web")
	w.start(fooBar)
	after := w.ingress("after", nil, "web")
	for _, one := range []*networkingv1.Ingress{before, after} {
		w.Eventually(w.annotations(one)).Should(HaveKeyWithValue("foo", "bar"))
	}
	w.annotate(after, "foo", "")
	w.Eventually(w.annotations(after)).Should(HaveKeyWithValue("foo", "bar"), "it is put back")
}

// The five defects of the document's program, one by one.
func TestTheProgramOfTheDocumentReplacedAllAnnotations(t *testing.T) {
	w := newWorld(t)
	w.start(fooBar)
	one := w.ingress("web", map[string]string{rewrite: "/", "team": "shop"}, "web")
	w.Eventually(w.annotations(one)).Should(Equal(map[string]string{rewrite: "/", "team": "shop", "foo": "bar"}))
}

func TestTheProgramOfTheDocumentWroteWhenNothingHadChanged(t *testing.T) {
	w := newWorld(t)
	w.ingress("web", map[string]string{"foo": "bar"}, "web")
	w.start(fooBar)
	other := w.ingress("other", nil, "web")
	w.Eventually(w.annotations(other)).Should(HaveKeyWithValue("foo", "bar"))
	w.annotate(other, "team", "shop")
	w.operator.Settled(w.World)
	w.Expect(w.written()).To(Equal(1))
	w.start(fooBar)
	w.operator.Settled(w.World)
	w.Expect(w.written()).To(Equal(1), "neither of them is written again, also after a restart")
}

func TestTheProgramOfTheDocumentIgnoredEveryError(t *testing.T) {
	w := newWorld(t)
	var lost atomic.Int32
	w.start(fooBar, func(testenv.Request) testenv.Verdict {
		if lost.Add(1) <= 3 {
			return testenv.Lose
		}
		return testenv.Pass
	})
	one := w.ingress("web", nil, "web")
	w.Eventually(w.annotations(one)).Should(HaveKeyWithValue("foo", "bar"))
	w.Expect(lost.Load()).To(BeNumerically(">=", 4), "a write that failed is retried")
}

func TestTheProgramOfTheDocumentFailedForAnIngressThatWasGone(t *testing.T) {
	w := newWorld(t)
	gone := make(chan struct{})
	w.start(fooBar, func(testenv.Request) testenv.Verdict { <-gone; return testenv.Pass })
	one := w.ingress("web", nil, "web")
	w.Eventually(w.written).Should(Equal(1))
	w.Delete(one)
	close(gone)
	w.operator.Settled(w.World)
	w.Expect(w.Exists(&networkingv1.Ingress{ObjectMeta: one.ObjectMeta})).To(BeFalse(), "it is not made again by the write")
	w.Expect(w.operator.Log("Reconciler error")).To(BeEmpty())
}

func TestTheProgramOfTheDocumentWokeItself(t *testing.T) {
	w := newWorld(t)
	w.start(fooBar)
	one := w.ingress("web", nil, "web")
	w.Eventually(w.annotations(one)).Should(HaveKeyWithValue("foo", "bar"))
	w.operator.Settled(w.World)
	w.Expect(w.written()).To(Equal(1))
	reconciles := w.operator.Reconciles("ingress", w.Namespace, "web")
	w.Expect(reconciles).To(BeNumerically("<=", 2), "one for the Ingress, and one that sees what was written")
}

func TestWhatAnotherHasSetIsReportedAndNeverForced(t *testing.T) {
	w := newWorld(t)
	one := w.ingress("web", map[string]string{"foo": "baz"}, "web")
	w.start(ingress.Options{Annotations: map[string]string{"foo": "bar", "team": "shop"}})
	w.Eventually(w.annotations(one)).Should(HaveKeyWithValue("team", "shop"))
	w.Eventually(w.EventsOf(one, "AnnotationConflict")).ShouldNot(BeEmpty())
	w.operator.Settled(w.World)
	w.Expect(w.annotations(one)()).To(HaveKeyWithValue("foo", "baz"))
	w.annotate(one, "team", "other")
	w.operator.Settled(w.World)
	w.Expect(w.annotations(one)()).To(HaveKeyWithValue("team", "other"), "who changes it later has it, too")
	w.annotate(one, "foo", "")
	w.Eventually(w.annotations(one)).Should(HaveKeyWithValue("foo", "bar"), "until it is taken off")
}

// Who applies the same value owns it as well, and then only the API server says that it is theirs.
func TestWhatAnotherHasAppliedAlikeIsReportedAndLeftToThem(t *testing.T) {
	w := newWorld(t)
	one := w.ingress("web", nil, "web")
	w.start(fooBar)
	w.Eventually(w.annotations(one)).Should(HaveKeyWithValue("foo", "bar"))
	shared := applynetworkingv1.Ingress(one.Name, one.Namespace).WithAnnotations(fooBar.Annotations)
	w.Expect(w.Cluster.Client.Apply(t.Context(), shared, client.FieldOwner("helm"))).To(Succeed())
	w.operator.Settled(w.World)
	before := w.written()
	w.start(ingress.Options{Annotations: map[string]string{"foo": "new", "team": "shop"}})
	w.Eventually(w.annotations(one)).Should(HaveKeyWithValue("team", "shop"), "the others are set")
	w.Eventually(w.EventsOf(one, "AnnotationConflict")).ShouldNot(BeEmpty())
	w.operator.Settled(w.World)
	w.Expect(w.annotations(one)()).To(HaveKeyWithValue("foo", "bar"))
	w.Expect(w.written()-before).To(Equal(2), "the one that is refused, and the one without it: it is not retried")
	w.annotate(one, "foo", "")
	w.Eventually(w.annotations(one)).Should(HaveKeyWithValue("foo", "new"), "until it is taken off")
}

func TestWhatWasSetGoesWithTheSetting(t *testing.T) {
	w := newWorld(t)
	one := w.ingress("web", map[string]string{rewrite: "/"}, "web")
	slice := w.standby("web")
	w.promote(slice, true)
	w.start(ingress.Options{Annotations: map[string]string{"foo": "bar", "team": "shop"}, Status: true})
	w.Eventually(w.annotations(one)).Should(Equal(map[string]string{rewrite: "/", "foo": "bar", "team": "shop", fallback: "web"}))
	w.start(fooBar)
	w.Eventually(w.annotations(one)).Should(Equal(map[string]string{rewrite: "/", "foo": "bar"}))
	w.start(ingress.Options{})
	w.Eventually(w.annotations(one)).Should(Equal(map[string]string{rewrite: "/"}))
}

func TestOnlyIngressesOfTheClassesAreAnnotated(t *testing.T) {
	w := newWorld(t)
	inside, outside := w.ingress("inside", nil, "web"), w.ingress("outside", nil, "web")
	older := w.ingress("older", map[string]string{"kubernetes.io/ingress.class": "nginx"}, "web")
	class := func(of *networkingv1.Ingress, name string) {
		before := of.DeepCopy()
		of.Spec.IngressClassName = &name
		w.Expect(w.Cluster.Client.Patch(t.Context(), of, client.MergeFrom(before))).To(Succeed())
	}
	class(inside, "nginx")
	class(outside, "traefik")
	w.start(ingress.Options{Annotations: map[string]string{"foo": "bar"}, Classes: []string{"nginx"}})
	w.Eventually(w.annotations(inside)).Should(HaveKeyWithValue("foo", "bar"))
	w.Eventually(w.annotations(older)).Should(HaveKeyWithValue("foo", "bar"))
	w.operator.Settled(w.World)
	w.Expect(w.annotations(outside)()).NotTo(HaveKey("foo"))
	class(inside, "traefik")
	w.Eventually(w.annotations(inside)).ShouldNot(HaveKey("foo"), "it goes with the class")
}

func TestAnIngressSaysWhichOfItsServicesAreOnTheirFallback(t *testing.T) {
	w := newWorld(t)
	web, api := w.standby("web"), w.standby("api")
	one := w.ingress("shop", nil, "web", "api", "cart")
	other := w.ingress("other", nil, "cart")
	w.start(status)
	w.operator.Settled(w.World)
	w.Expect(w.annotations(one)()).NotTo(HaveKey(fallback), "a standby that no client uses is no outage")
	w.promote(web, true)
	w.Eventually(w.annotations(one)).Should(HaveKeyWithValue(fallback, "web"))
	w.operator.Settled(w.World) // Its cache shows what it wrote: else the next write would meet a conflict, and count.
	w.promote(api, true)
	w.Eventually(w.annotations(one)).Should(HaveKeyWithValue(fallback, "api, web"))
	w.Eventually(w.EventsOf(one, "ServicesOnFallback")).ShouldNot(BeEmpty())
	w.operator.Settled(w.World)
	w.promote(web, false)
	w.Eventually(w.annotations(one)).Should(HaveKeyWithValue(fallback, "api"))
	w.operator.Settled(w.World)
	w.Delete(api)
	w.Eventually(w.annotations(one)).ShouldNot(HaveKey(fallback))
	w.Eventually(w.EventsOf(one, "ServicesRestored")).Should(HaveLen(1))
	w.operator.Settled(w.World)
	w.Expect(w.written()).To(BeNumerically("<=", 4), "one write for each transition")
	w.Expect(w.annotations(other)()).To(BeEmpty())
}

func TestTheDefaultBackendCounts(t *testing.T) {
	w := newWorld(t)
	slice := w.standby("rest")
	one := w.ingress("shop", nil, "web")
	before := one.DeepCopy()
	one.Spec.DefaultBackend = new(backend("rest"))
	w.Expect(w.Cluster.Client.Patch(t.Context(), one, client.MergeFrom(before))).To(Succeed())
	w.start(status)
	w.promote(slice, true)
	w.Eventually(w.annotations(one)).Should(HaveKeyWithValue(fallback, "rest"))
}

// The promotion is taken back while half of them wait for their write: no one keeps the annotation.
func TestAServiceBehindManyIngressesCostsOneWriteForEach(t *testing.T) {
	w := newWorld(t)
	const many = 1000
	slice := w.standby("web")
	for i := range many {
		w.ingress(fmt.Sprintf("shop-%d", i), nil, "web")
	}
	w.start(status)
	w.operator.Settled(w.World)
	w.Expect(w.written()).To(BeZero())
	w.promote(slice, true)
	w.Eventually(w.written).Should(BeNumerically(">=", many/2))
	w.promote(slice, false)
	w.Eventually(w.annotated).Should(BeZero())
	w.operator.Settled(w.World)
	w.Expect(w.annotated()).To(BeZero())
	for path, writes := range w.writesOf() {
		w.Expect(writes).To(Equal(2), "one that sets it, and one that takes it off: "+path)
	}
}

// The permission is enough for what is tested above, and is not in the operator's own role.
func TestTheOperatorMayNotPatchIngressesOtherwise(t *testing.T) {
	g := NewWithT(t)
	objects, err := testenv.ReadYAML(testenv.Path("workloads/config/rbac/role.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		g.Expect(fmt.Sprint(object.Object)).NotTo(Or(ContainSubstring("ingresses"), ContainSubstring("endpointslices")))
	}
}
