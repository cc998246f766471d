//go:build e2e

package olm

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// namePrefix is a setting by which the Subscription changes what can be seen in the cluster.
const namePrefix = "lifeboat"

// TestTheCatalogInstallsAndUpgrades is the life of an install from the catalog, where Pod Security is
// restricted: settings, both versions of the API, an upgrade and a new certificate while Services are
// in outage, and the end.
func TestTheCatalogInstallsAndUpgrades(t *testing.T) {
	w := newWorld(t, catalogHome, restricted)
	var cart, storefront, team, moved *service
	var cartOnPod, storefrontOnPage, movedOnPage *watch
	var move *criticalv2.Maintenance

	w.stage("the previous version is installed where Pod Security is restricted", func() {
		w.install(previous, map[string]any{"spec.config.env": []any{
			map[string]any{"name": "POD_NAME_PREFIX", "value": namePrefix},
			map[string]any{"name": "LOG_LEVEL", "value": "debug"},
		}})
		w.fallbackTemplate()
		w.shell(w.guide("OLM", "sh", "kubectl -n critical-service-system wait"))
		w.succeeds(previous)
		w.certificateInUse()
		w.refuses()
		w.Expect(w.storedVersions(w)).To(HaveExactElements("v1"), "the previous version stores version 1")
		w.heard(previous, metav1.ConditionTrue)
	})
	w.stage("a CriticalService of version 1 protects, with the settings of the Subscription", func() {
		cart = w.service("cart").critical().becomes(criticalv2.StateArmed).answeredBy("cart")
		cart.standsIn(fallbackName).recovers()
		cart.standsIn(fallbackName)
		w.Eventually(cart.fallbacks).Should(HaveExactElements(HaveField("Name", namePrefix+"-cart")))
		w.Expect(w.operatorLog()).To(ContainSubstring(`"level":"debug"`))
	})
	w.stage("a CriticalService of version 2 protects", func() {
		storefront = w.service("storefront").withPage().becomes(criticalv2.StateArmed).answeredBy("storefront")
		storefront.standsIn(thePage).recovers()
		storefront.standsIn(thePage)
	})
	w.stage("a ServiceFallback of an editor protects", func() {
		w.usersMay()
		team = w.service("team").withTeam().becomes(criticalv2.StateArmed).answeredBy("team")
		team.standsIn(thePage)
	})
	w.stage("a Maintenance of an editor owes an application its replicas", func() {
		moved = w.service("moved").withTeam().becomes(criticalv2.StateArmed).answeredBy("moved")
		move = moved.maintained()
	})
	w.stage("each version can be read as the other", func() { w.bothVersionsOf(cart, storefront) })

	w.stage("the channel upgrades in the middle of outages, without a failed request", func() {
		conditions := w.followConditions()
		cartOnPod, storefrontOnPage, movedOnPage = cart.watched(), storefront.watched(), moved.watched()
		w.offers(current)
		w.succeeds(current)
		w.respondersRun(current)
		w.Eventually(w.storedVersions).Should(HaveExactElements("v2"), "all objects are stored in version 2")
		w.heard(current, metav1.ConditionTrue)
		w.sayMigration(conditions)
		cart.becomes(criticalv2.StateCovered)
		storefront.becomes(criticalv2.StateCovered)
		team.becomes(criticalv2.StateCovered)
		moved.becomes(criticalv2.StateCovered)
		w.Expect(w.statusOf(move)(w)).To(HaveField("Owed", Equal(move.Spec.Restore)), "what is owed survives the upgrade")
	})
	w.stage("each version can still be read as the other", func() { w.bothVersionsOf(cart, storefront) })
	w.stage("OLM renews the certificate before it ends", func() {
		old := w.certificateInUse()
		w.agesCertificate()
		renewed := w.certificateInUse(func(g Gomega, used *x509.Certificate) {
			g.Expect(used.Equal(old)).To(BeFalse())
			g.Expect(time.Until(used.NotAfter)).To(BeNumerically(">", 30*24*time.Hour), "OLM has made it")
		})
		w.Expect(renewed.SerialNumber).NotTo(Equal(old.SerialNumber))
		w.succeeds(current)
		w.bothVersionsOf(cart, storefront)
		w.refuses()
		cartOnPod.answeredOnlyBy(fallbackName)
		storefrontOnPage.answeredOnlyBy(thePage)
		movedOnPage.answeredOnlyBy(thePage)
	})
	w.stage("the outages end, and the next ones are answered", func() {
		cart.recovers()
		storefront.recovers()
		team.recovers()
		moved.isGivenBack(move)
		cart.standsIn(fallbackName)
		storefront.standsIn(thePage)
		team.standsIn(thePage)
	})
	w.stage("the documented uninstall leaves nothing", func() {
		w.uninstall()
		cart.isRefused()
		storefront.isRefused()
		team.isRefused()
		cart.closes()
		storefront.closes()
		team.closes()
		moved.closes()
		w.leavesNothing(w.sweepUp)
	})
}

// storedVersions are the versions in which CriticalServices may be stored.
func (w *world) storedVersions(g Gomega) []string {
	crd := customResources()
	g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(crd), crd)).To(Succeed())
	return crd.Status.StoredVersions
}

// operatorLog is what the operator has said so far.
func (w *world) operatorLog() string {
	w.t.Helper()
	var log strings.Builder
	for _, pod := range w.operatorPods(w) {
		said, err := w.Clientset.CoreV1().Pods(w.operator).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(w.ctx)
		w.Expect(err).NotTo(HaveOccurred())
		log.Write(said)
	}
	return log.String()
}

// bothVersionsOf wants what was written in either version to be read, in each, as it was meant.
func (w *world) bothVersionsOf(cart, storefront *service) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		older, newer := w.bothVersions(g, cart.policy)
		g.Expect(older.Namespace).To(Equal(w.shops))
		g.Expect(newer.Namespaces).To(HaveExactElements(w.shops))
		g.Expect(newer.ServiceSelector.MatchLabels).To(Equal(labels{older.MatchLabels[0].Key: older.MatchLabels[0].Value}))
		g.Expect(newer.Fallback.PodTemplate).NotTo(BeNil())
		older, newer = w.bothVersions(g, storefront.policy)
		g.Expect(older.Namespace).To(Equal(w.shops))
		g.Expect(newer.Fallback.Page).To(HaveField("Message", pageSentence))
	}).Should(Succeed(), "CriticalServices in both versions")
}

// sayMigration wants the condition Upgradeable to have been False while objects were rewritten, and at
// no other time. The version that leads when OLM's certificate is there rewrites them: the old one, if
// it is quick.
func (w *world) sayMigration(conditions *conditions) {
	w.t.Helper()
	yes := upgradeable{metav1.ConditionTrue, "NoStorageMigration"}
	no := upgradeable{metav1.ConditionFalse, "StorageMigration"}
	w.Eventually(conditions.of(current)).Should(ContainElement(yes))
	said := conditions.of(current)()
	w.Expect(said[len(said)-1]).To(Equal(yes), "what version %s says in the end", current)
	both := append(conditions.of(previous)(), said...)
	w.t.Logf("%s, while it was upgraded: %v; then %v", operatorsv2.Upgradeable, conditions.of(previous)(), said)
	w.Expect(both).To(ContainElement(no), "the objects were rewritten")
	w.Expect(both).To(HaveEach(BeElementOf(yes, no)))
}

// respondersRun waits until the responder of the Services' namespace is that of a version.
func (w *world) respondersRun(version release) {
	w.t.Helper()
	key := keyOf(w.shops, criticalv2.ResponderName)
	w.Eventually(func(g Gomega) {
		var responder appsv1.Deployment
		g.Expect(w.Get(w.ctx, key, &responder)).To(Succeed())
		g.Expect(responder.Spec.Template.Spec.Containers[0].Image).To(Equal(version.operatorImage()))
		done, state, err := w.DeploymentAvailable(w.ctx, key)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(done).To(BeTrue(), state)
	}).WithTimeout(installLimit).Should(Succeed(), "the responder of version %s runs", version)
}
