package ingress

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/critical-service/operator/internal/controller/queue"
)

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func TestANamespaceHasFewPlacesAndNoneIsLost(t *testing.T) {
	g := NewWithT(t)
	p := newPlaces(2)
	woken := workqueue.NewTypedRateLimitingQueue(queue.Backoff[reconcile.Request](queue.LastRetry))
	defer woken.ShutDown()
	g.Expect(p.free.Start(t.Context(), woken)).To(Succeed())
	g.Expect(p.take(key("slow", "a"))).To(BeTrue())
	g.Expect(p.take(key("slow", "b"))).To(BeTrue())
	g.Expect(p.take(key("slow", "c"))).To(BeFalse(), "its places are taken")
	g.Expect(p.take(key("slow", "d"))).To(BeFalse())
	g.Expect(p.take(key("other", "a"))).To(BeTrue(), "those of another namespace are not")
	p.next("slow")
	g.Expect(p.waiting["slow"]).To(HaveLen(2), "no one is woken while all are")
	p.leave("slow")
	p.next("slow")
	p.leave("slow")
	p.next("slow")
	for _, name := range []string{"c", "d"} {
		request, _ := woken.Get()
		g.Expect(request.NamespacedName).To(Equal(key("slow", name)), "who waits is woken, in order")
		g.Expect(p.take(request.NamespacedName)).To(BeTrue())
		p.leave("slow")
		p.next("slow")
	}
	p.leave("other")
	g.Expect(p.taken).To(BeEmpty(), "nothing is kept of namespaces that have nothing to write")
	g.Expect(p.waiting).To(BeEmpty())
	g.Expect(p.waits).To(BeEmpty())
}

func TestAKeyThatWaitsIsKeptOnce(t *testing.T) {
	g := NewWithT(t)
	p := newPlaces(0)
	for i := range 1000 {
		g.Expect(p.take(key("slow", fmt.Sprint(i%3)))).To(BeFalse())
	}
	g.Expect(p.waiting["slow"]).To(HaveExactElements(key("slow", "0"), key("slow", "1"), key("slow", "2")))
}

func TestAnIngressThatNeedsNoWriteAnyMorePassesItsTurnOn(t *testing.T) {
	for sentence, objects := range map[string][]client.Object{
		"it has what it is to have": {&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}},
		"it is gone":                nil,
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			cached := fake.NewClientBuilder().WithObjects(objects...).Build()
			r := &Reconciler{observer: observer{cached: cached}, places: newPlaces(1)}
			g.Expect(r.places.take(key("shop", "first"))).To(BeTrue())
			g.Expect(r.places.take(key("shop", "a"))).To(BeFalse())
			g.Expect(r.places.take(key("shop", "b"))).To(BeFalse())
			r.places.leave("shop")
			r.places.next("shop")
			g.Expect(r.places.waiting["shop"]).To(HaveExactElements(key("shop", "b")), "the first is woken")
			_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key("shop", "a")})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.places.waiting).To(BeEmpty(), "and then the second")
		})
	}
}
