//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/consumers"
)

// standInName is what a Pod made from the scenario's own PodTemplate answers with.
const standInName = "stand-in"

// podTemplate makes a PodTemplate in the scenario's namespace, whose Pod listens on one port, and
// returns the fallback that names it.
func (w *world) podTemplate(port int32, activation criticalv2.Activation) criticalv2.Fallback {
	w.t.Helper()
	template := &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: standInName},
		Template:   corev1.PodTemplateSpec{Spec: webPod(standInName, fmt.Sprintf("--port=%d", port))},
	}
	container := &template.Template.Spec.Containers[0]
	container.Ports[0].ContainerPort = port
	container.ReadinessProbe.HTTPGet.Port = intstr.FromInt32(port)
	w.create(template)
	return criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{
		Name: standInName, Namespace: w.namespace, Activation: activation,
	}}
}

// TestAPublishedPodStandsIn: the Pod listens on another port than the application, and the Service
// dials a port by a name that it does not have. Only its real port is published.
func TestAPublishedPodStandsIn(t *testing.T) {
	t.Parallel()
	for _, activation := range []criticalv2.Activation{criticalv2.ActivationOnDemand, criticalv2.ActivationStandby} {
		t.Run(string(activation), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			app := w.pod("shop", labels{"app": "shop"})
			shop := w.service("shop")
			shop.answeredBy("shop")
			shop.withFallback(w.podTemplate(9090, activation))
			standby := activation == criticalv2.ActivationStandby
			if standby {
				shop.ready()
				w.Expect(shop.fallbacks(w)).To(HaveLen(1), "the Pod runs before the outage")
			} else {
				shop.becomes(criticalv2.StateArmed, criticalv2.ReasonEndpointsReady)
				shop.staysWithoutFallback()
			}

			w.remove(app)
			shop.standsIn(standInName)
			fallback := shop.fallbacks(w)[0]
			w.Expect(fallback.Labels).NotTo(HaveKey("app"), "a label of the application")
			w.Expect(shop.readyEndpoints(w)).To(HaveExactElements(fallback.Name))
			shop.keeps(&fallback)

			w.pod("shop-again", labels{"app": "shop"})
			if standby {
				shop.standsBy("shop-again")
				shop.keeps(&fallback)
				return
			}
			shop.armed("shop-again")
		})
	}
}

func TestAPublishedPodThatAUserDeletesIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop").withFallback(w.podTemplate(9090, criticalv2.ActivationStandby))
	shop.standsIn(standInName)
	first := shop.fallbacks(w)[0]

	w.remove(&first)
	w.Eventually(shop.fallbacks).Should(HaveExactElements(Not(HaveField("UID", first.UID))))
	shop.standsIn(standInName)
}

func TestAPodOfVersionTwoThatCarriesTheApplicationsLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop").withFallback(criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{
		Publish: criticalv2.PublishSelectorLabels,
	}})
	fallback := shop.covered()
	w.Expect(fallback.Labels).To(HaveKeyWithValue("app", "shop"))
	w.pod("shop", labels{"app": "shop"})
	shop.armed("shop")
}

// TestAHeadlessServiceIsCoveredByName: its clients ask the cluster's DNS for addresses, and dial the
// port of the Pod itself.
func TestAHeadlessServiceIsCoveredByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.pod("shop", labels{"app": "shop"})
	shop := w.service("shop", func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }).
		withFallback(w.podTemplate(8080, criticalv2.ActivationStandby)).ready()
	names := w.clusterDNS()
	addresses := func() ([]string, error) {
		return names.Addresses(w.ctx, "shop."+w.namespace+".svc.cluster.local")
	}
	w.refresh(app)
	w.Eventually(addresses).Should(HaveExactElements(app.Status.PodIP))

	w.remove(app)
	shop.becomes(criticalv2.StateCovered, criticalv2.ReasonFallbackServing)
	fallback := shop.fallbacks(w)[0]
	w.Eventually(addresses).Should(HaveExactElements(fallback.Status.PodIP), "the addresses of the name")
	w.Expect(ask(urlOf(fallback.Status.PodIP, 8080))).To(Equal(standInName))

	again := w.pod("shop-again", labels{"app": "shop"})
	shop.ready()
	w.refresh(again)
	w.Eventually(addresses).Should(HaveExactElements(again.Status.PodIP), "the addresses of the name")
}

// clusterDNS is the cluster's DNS server.
func (w *world) clusterDNS() *consumers.DNS {
	w.t.Helper()
	var dns corev1.Service
	w.Expect(w.Get(w.ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kube-dns"}, &dns)).To(Succeed())
	return consumers.NewDNS(net.JoinHostPort(dns.Spec.ClusterIP, "53"))
}

func TestABackupServiceStandsIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.pod("shop", labels{"app": "shop"})
	spare := w.deployment("spare", "--port=9090", "--port=8080")
	w.service("spare", dialling(9090))
	shop := w.service("shop").withFallback(criticalv2.Fallback{Service: &criticalv2.BackupFallback{Name: "spare"}}).ready()
	shop.answeredBy("shop")

	w.remove(app)
	shop.standsIn("spare")

	// The standby is kept in step with the backup, and never a dead endpoint.
	w.scale(spare, 2)
	w.Eventually(shop.standbyEndpoints).Should(HaveLen(2))
	w.scale(spare, 0)
	shop.becomes(criticalv2.StateExposed, criticalv2.ReasonBackupNotReady, "spare")
	w.Eventually(shop.standbyEndpoints).Should(BeEmpty())
	shop.answeredByNoOne()
	w.scale(spare, 1)
	shop.standsIn("spare")

	w.pod("shop-again", labels{"app": "shop"})
	shop.standsBy("shop-again")
}
