package protect

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/controller/queue"
)

// A table changes with each Service that is armed: if each change woke all Services, the
// cost of arming them would grow with their square.
func TestATableWakesTheServicesWhoseListenersChanged(t *testing.T) {
	page := criticalv2.DefaultPage()
	other := criticalv2.DefaultPage()
	other.Message = "Back at noon."
	web := listener.Listener{Service: "web", ServicePort: 80, Port: 20000, Page: page}
	api := listener.Listener{Service: "api", ServicePort: 80, Port: 20001, Page: page}
	forged := listener.Listener{Service: "forged", ServicePort: 80, Port: 20009, Page: page}
	moved, changed := web, web
	moved.Port, changed.Page = 20002, other
	invalid := &corev1.ConfigMap{Data: map[string]string{listener.Key: "{"}}
	for name, test := range map[string]struct {
		before, after *corev1.ConfigMap
		woken         []string
	}{
		"nothing changed":              {table(t, web, api), table(t, web, api), nil},
		"a listener came":              {table(t, web), table(t, web, api), []string{"api"}},
		"a listener went":              {table(t, web, api), table(t, web), []string{"api"}},
		"a listener moved":             {table(t, web, api), table(t, api, moved), []string{"web"}},
		"a page changed":               {table(t, web, api), table(t, changed, api), []string{"web"}},
		"a table becomes invalid":      {table(t, web, api), labelled(invalid), []string{"api", "web"}},
		"a table becomes valid again":  {labelled(invalid), table(t, web), []string{"web"}},
		"another user takes its label": {table(t, web, api), invalid, []string{"api", "web"}},
		"a Service without a page":     {table(t, web), table(t, web, forged), nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			services := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer services.ShutDown()
			r := &Reconciler{Protect: queue.NewWaker(0)}
			g.Expect(r.Protect.Start(t.Context(), services)).To(Succeed())
			known := &memory.Memory{}
			compare := func(table *corev1.ConfigMap) (woken []string) {
				observer, _ := observetest.Of(t, ofPage("web"), ofPage("api"), ofPage("idle"), table)
				r.Observer = observer
				r.Observer.Memory = known
				_, err := r.compareTable(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "shop"}})
				g.Expect(err).NotTo(HaveOccurred())
				for services.Len() > 0 {
					request, _ := services.Get()
					g.Expect(request.Namespace).To(Equal("shop"))
					woken = append(woken, request.Name)
					services.Done(request)
				}
				slices.Sort(woken)
				return woken
			}
			compare(in(test.before, "1"))
			g.Expect(compare(in(test.after, "2"))).To(Equal(test.woken))
			g.Expect(compare(in(test.after, "2"))).To(BeEmpty(), "it is known")
		})
	}
}

// ofPage is a standby slice of a Service with a page.
func ofPage(service string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: service + "-standby-ipv4", Labels: map[string]string{
			discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: criticalv2.ManagedBy, criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage,
		},
	}}
}

func table(t *testing.T, listeners ...listener.Listener) *corev1.ConfigMap {
	t.Helper()
	data, err := (&listener.Table{Listeners: listeners}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return labelled(&corev1.ConfigMap{Data: map[string]string{listener.Key: string(data)}})
}

func labelled(config *corev1.ConfigMap) *corev1.ConfigMap {
	config = config.DeepCopy()
	config.Labels = map[string]string{criticalv2.LabelResponder: criticalv2.ResponderListeners}
	return config
}

func in(config *corev1.ConfigMap, version string) *corev1.ConfigMap {
	config = config.DeepCopy()
	config.Namespace, config.Name, config.UID, config.ResourceVersion = "shop", criticalv2.ResponderName, "table", version
	return config
}
