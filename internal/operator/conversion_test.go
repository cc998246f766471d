package operator_test

import (
	"io"
	"net"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/ports"
)

func shopV1() *criticalv1.CriticalService {
	return &criticalv1.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: criticalv1.CriticalServiceSpec{
			Namespace: "shop", MatchLabels: []criticalv1.LabelMatch{{Key: "role", Value: "frontend"}},
		},
	}
}

func TestBothVersionsAreServed(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	p := w.start()

	old := shopV1()
	w.Eventually(func() error { return admin.Create(t.Context(), old) }).Should(Succeed())
	var converted criticalv2.CriticalService
	w.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(old), &converted)).To(Succeed())
	w.Expect(converted.Spec.Namespaces).To(Equal([]string{"shop"}))
	w.Expect(converted.Spec.ServiceSelector.MatchLabels).To(Equal(map[string]string{"role": "frontend"}))
	w.Expect(converted.Spec.Fallback.PodTemplate.Publish).To(Equal(criticalv2.PublishSelectorLabels))
	w.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(old), old)).To(Succeed())
	w.Expect(old.Spec).To(Equal(shopV1().Spec), "it comes back as it was written")

	page := &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: "page"},
		Spec: criticalv2.CriticalServiceSpec{
			ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}},
			ProtectionSpec:  criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{Message: "Back soon."}}},
		},
	}
	w.Expect(admin.Create(t.Context(), page)).To(Succeed())
	w.Eventually(func() error { // The operator writes the status meanwhile.
		var view criticalv1.CriticalService
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(page), &view); err != nil {
			return err
		}
		view.Spec.Namespace = "web"
		return admin.Update(t.Context(), &view)
	}).Should(Succeed())
	w.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(page), page)).To(Succeed())
	w.Expect(page.Spec.Namespaces).To(Equal([]string{"web"}), "what was edited in v1 holds")
	w.Expect(page.Spec.Fallback.Page.Message).To(Equal("Back soon."), "what v1 cannot say is kept")

	// A URL goes with its process, so that config/crd can be applied again.
	w.Expect(ptr.Deref(w.clientConfig().URL, "")).To(Equal("https://" + p.Webhook + "/convert"))
	p.Stop()
	w.Expect(w.clientConfig().URL).To(BeNil())
	w.Expect(w.clientConfig().Service).NotTo(BeNil())
}

// The operator waits for the conversion, and does not end; it acts by itself
// when it is back.
func TestTheOperatorWaitsForAWebhookThatIsNotReached(t *testing.T) {
	w := newWorld(t)
	w.installOld()
	w.createShop()
	w.installNew()

	door := ports.Free(w.t)
	p := w.start("WEBHOOK_URL=https://" + door)
	w.Eventually(p.Ready).Should(Succeed(), "the Pod is ready: only then some reach its webhook")
	w.Eventually(p.Log.String).Should(ContainSubstring("conversion webhook"), "it says what it waits for")
	w.Expect(w.definition().Status.StoredVersions).To(Equal([]string{"v1", "v2"}))

	closeDoor := openDoor(w, door, p.Webhook)
	w.Eventually(func() []string { return w.definition().Status.StoredVersions }).Should(Equal([]string{"v2"}))
	w.Eventually(w.observed("shop")).Should(BeTrue(), "the controllers run")

	// What is stored as v2 needs no webhook, also at a start.
	p.Stop()
	closeDoor()
	w.start("WEBHOOK_URL=https://" + door)
	page := &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: "later"},
		Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}},
	}
	w.Expect(admin.Create(t.Context(), page)).To(Succeed())
	w.Eventually(w.observed("later")).Should(BeTrue())
}

// observed reports whether the operator has written the status of a CriticalService.
func (w *world) observed(name string) func() bool {
	return func() bool {
		var found criticalv2.CriticalService
		w.Expect(admin.Get(w.t.Context(), client.ObjectKey{Name: name}, &found)).To(Succeed())
		return found.Status.ObservedGeneration == found.Generation
	}
}

// openDoor lets through to a server who comes to an address, until it is closed.
func openDoor(w *world, address, server string) (closeDoor func()) {
	w.t.Helper()
	listener, err := net.Listen("tcp", address)
	w.Expect(err).NotTo(HaveOccurred())
	var mu sync.Mutex
	var through []net.Conn
	closed := false
	closeDoor = sync.OnceFunc(func() {
		mu.Lock()
		defer mu.Unlock()
		closed = true
		_ = listener.Close()
		for _, connection := range through {
			_ = connection.Close() // It may have been closed by its other end.
		}
	})
	w.t.Cleanup(closeDoor)
	go func() {
		for {
			outer, err := listener.Accept()
			if err != nil {
				return
			}
			inner, err := net.Dial("tcp", server)
			if err != nil {
				_ = outer.Close()
				continue
			}
			mu.Lock()
			through = append(through, outer, inner)
			tooLate := closed
			mu.Unlock()
			if tooLate { // It was accepted as the door closed.
				_, _ = outer.Close(), inner.Close()
				return
			}
			go func() { _, _ = io.Copy(inner, outer); _ = inner.Close() }()
			go func() { _, _ = io.Copy(outer, inner); _ = outer.Close() }()
		}
	}()
	return closeDoor
}

// Inside of a cluster the API server comes by the Service.
func TestTheServiceIsTheWayIn(t *testing.T) {
	w := newWorld(t)
	crd := definitionOf(w, definitionOfBoth) // As a user may have applied it, without config/crd.
	w.install(crd)
	p := w.start("WEBHOOK_URL=")
	w.Eventually(p.Ready).Should(Succeed())
	w.Eventually(func() apiextensionsv1.ConversionStrategyType { return w.definition().Spec.Conversion.Strategy }).
		Should(Equal(apiextensionsv1.WebhookConverter))

	wanted := definitionOf(w, conversionOfBoth).Spec.Conversion.Webhook.ClientConfig.Service
	w.Expect(w.clientConfig().Service).To(Equal(wanted), "the same as in config/crd")
	w.Expect(handshake(p.Webhook, w.clientConfig().CABundle, wanted.Name+"."+wanted.Namespace+".svc")).To(Succeed())
}
