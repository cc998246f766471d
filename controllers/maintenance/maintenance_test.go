package maintenance_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

func TestAMaintenanceEndsByItself(t *testing.T) {
	w := newWorld(t)
	w.permit()
	config := w.announce(soon())
	w.start()
	w.Eventually(w.replicas).Should(Equal(int32(3)), "the workload gets back what it had")
	w.Eventually(func() map[string]string { w.Expect(w.Exists(config)).To(BeTrue()); return config.Data }).
		ShouldNot(Or(HaveKey("workload"), HaveKey("replicas")), "what was given back is owed no more")
	w.Eventually(w.EventsOf(w.service, "WorkloadRestored")).Should(HaveLen(1))
	w.Expect(w.Exists(config)).To(BeTrue(), "the page stays until the application is back")

	w.comeBack()
	w.Eventually(w.Exists).WithArguments(config).Should(BeFalse())
	w.Eventually(w.EventsOf(w.service, "MaintenanceEnded")).Should(HaveLen(1))
	w.Expect(w.scalings()).To(HaveLen(1))
}

func TestBeforeItsEndNothingIsAsked(t *testing.T) {
	w := newWorld(t)
	w.permit()
	config := w.announce(time.Now().Add(time.Hour))
	w.comeBack()
	w.start()
	w.Eventually(func() int { return w.operator.Reconciles("maintenance", w.Namespace, config.Name) }).Should(BeNumerically(">", 0))
	testenv.Update(w.World, config, func(c *corev1.ConfigMap) { c.Data["message"] = "We still move house." })
	w.Eventually(func() int { return w.operator.Reconciles("maintenance", w.Namespace, config.Name) }).Should(BeNumerically(">", 1))
	w.Expect(w.operator.Traffic.Requests(func(r testenv.Request) bool {
		return r.Writes() || r.Resource() == "deployments/scale"
	})).To(BeEmpty())
}

func TestAMaintenanceIsEndedByTheNextOperator(t *testing.T) {
	w := newWorld(t)
	w.permit()
	config := w.announce(soon())
	w.start()
	w.Eventually(func() int { return w.operator.Reconciles("maintenance", w.Namespace, config.Name) }).Should(BeNumerically(">", 0))
	w.stop()
	testenv.Update(w.World, config, func(c *corev1.ConfigMap) { c.Data["until"] = over().Format(time.RFC3339) })
	w.start()
	w.Eventually(w.replicas).Should(Equal(int32(3)))
	w.comeBack()
	w.Eventually(w.Exists).WithArguments(config).Should(BeFalse())
}

func TestAnAnswerThatIsLostDoesNotGiveBackTwice(t *testing.T) {
	w := newWorld(t)
	w.permit()
	var lost atomic.Int32
	w.start(func(r testenv.Request) testenv.Verdict {
		if r.Method == http.MethodPatch && r.Resource() == "deployments/scale" && lost.Add(1) == 1 {
			return testenv.LoseAnswer
		}
		return testenv.Pass
	})
	config := w.announce(over())
	w.Eventually(func() map[string]string { w.Expect(w.Exists(config)).To(BeTrue()); return config.Data }).ShouldNot(HaveKey("workload"))
	w.Expect(w.replicas()).To(Equal(int32(3)))
	w.Expect(w.scalings()).To(HaveLen(1), "it was given back, and seen to be")

	w.scale(0) // A user wants it so.
	testenv.Update(w.World, config, func(c *corev1.ConfigMap) { c.Data["message"] = "Almost." })
	w.comeBack()
	w.Eventually(w.Exists).WithArguments(config).Should(BeFalse())
	w.Expect(w.replicas()).To(Equal(int32(0)), "what was given back once is not given back again")
}

func TestAWorkloadThatWasScaledIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.scale(1)
	w.comeBack()
	w.start()
	config := w.announce(over())
	w.Eventually(w.Exists).WithArguments(config).Should(BeFalse())
	w.Expect(w.replicas()).To(Equal(int32(1)))
	w.Expect(w.scalings()).To(BeEmpty())
}

func TestASilentMaintenanceEndsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.start()
	config := w.announce(over(), "announce", "false")
	w.Eventually(w.Exists).WithArguments(config).Should(BeFalse())
	w.Expect(w.replicas()).To(Equal(int32(3)))
}

func TestAMissingPermissionIsReportedOnce(t *testing.T) {
	w := newWorld(t)
	w.start()
	config := w.announce(over())
	w.Eventually(w.EventsOf(config, "MaintenanceStuck")).Should(HaveLen(1))
	event := w.Events(config, "MaintenanceStuck")[0]
	w.Expect(event.Message).To(And(ContainSubstring("deployments"), ContainSubstring("forbidden"), ContainSubstring("maintenance off svc/shop")))

	reconciles := w.operator.Reconciles("maintenance", w.Namespace, config.Name)
	testenv.Update(w.World, config, func(c *corev1.ConfigMap) { c.Data["message"] = "Almost." })
	w.Eventually(func() int { return w.operator.Reconciles("maintenance", w.Namespace, config.Name) }).Should(BeNumerically(">", reconciles))
	w.Expect(w.Exists(config)).To(BeTrue())
	w.Expect(w.replicas()).To(Equal(int32(0)))

	w.permit()
	testenv.Update(w.World, config, func(c *corev1.ConfigMap) { c.Data["message"] = "Now." })
	w.Eventually(w.replicas).Should(Equal(int32(3)), "with the permission it goes on")
	w.Eventually(w.EventsOf(w.service, "WorkloadRestored")).Should(HaveLen(1))
	w.Expect(w.Events(config, "MaintenanceStuck")[0].Series).To(BeNil(), "the problem was reported once, however often it was checked")
}

func TestWithoutAWorkloadOnlyTheConfigMapIsInTheWay(t *testing.T) {
	w := newWorld(t)
	w.comeBack()
	w.start()
	config := w.announce(over(), "workload", "")
	w.Eventually(w.EventsOf(config, "MaintenanceStuck")).Should(HaveLen(1))
	w.Expect(w.Events(config, "MaintenanceStuck")[0].Message).To(ContainSubstring("configmaps"))
	w.Expect(w.Exists(config)).To(BeTrue())
}

func TestAnInvalidConfigMapIsReported(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.start()
	config := w.announce(over(), "until", "at six")
	w.Eventually(w.EventsOf(config, "MaintenanceInvalid")).Should(HaveLen(1))
	w.Expect(w.Events(config, "MaintenanceInvalid")[0].Message).To(ContainSubstring(`key "until": "at six" is not a date`))
	w.Expect(w.Exists(config)).To(BeTrue())
	w.Expect(w.replicas()).To(Equal(int32(0)))
}

func TestAnInvalidConfigMapGivesBackWhatItOwes(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.start()
	config := w.announce(over(), "message", "a\nb")
	w.Eventually(w.replicas).Should(Equal(int32(3)))
	w.Eventually(func() map[string]string { w.Expect(w.Exists(config)).To(BeTrue()); return config.Data }).ShouldNot(HaveKey("workload"))
	w.Eventually(w.EventsOf(w.service, "WorkloadRestored")).Should(HaveLen(1))
	w.Eventually(w.EventsOf(config, "MaintenanceInvalid")).Should(HaveLen(1))
	w.Expect(w.Events(config, "MaintenanceInvalid")[0].Message).To(ContainSubstring("deployments.apps/shop gets its 3 replicas back at"))
}

func TestTheRoleOfOneMaintenanceIsNotAnothers(t *testing.T) {
	for sentence, c := range map[string]struct {
		name, service, says string
		younger             bool
	}{
		"one of another name":                {name: "cart", service: "shop", says: `must be named "shop-maintenance"`},
		"one without a permission":           {name: "cart-maintenance", service: "cart", says: `configmaps "cart-maintenance" is forbidden`},
		"one that was there after the other": {name: "stock-maintenance", service: "stock", says: `ConfigMap "shop-maintenance" is older`, younger: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.permit()
			if c.younger {
				w.announce(time.Now().Add(time.Hour)) // In the same second, the names decide.
			}
			other := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: c.name, Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderMaintenance}},
				Data: map[string]string{
					"service": c.service, "until": over().Format(time.RFC3339), "workload": "deployments.apps/shop", "replicas": "1000",
				},
			}
			w.Create(other)
			w.start()
			w.Eventually(w.EventsOf(other, "MaintenanceStuck")).Should(HaveLen(1))
			w.Expect(w.Events(other, "MaintenanceStuck")[0].Message).To(ContainSubstring(c.says))
			w.Expect(w.scalings()).To(BeEmpty())
			w.Expect(w.replicas()).To(BeZero())
			w.Expect(w.Exists(other)).To(BeTrue())
		})
	}
}

func TestAFallbackIsNotTheApplication(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.start()
	fallback := w.Pod("fallback", w.service, func(p *corev1.Pod) {
		p.Labels = map[string]string{
			"app": "shop", criticalv2.LabelFallbackFor: "shop",
		}
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
			&criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "front", UID: "front"}}, criticalv2.CriticalServiceKind)}
	})
	w.MakeReady(fallback)
	w.PublishEndpoints(w.service)
	config := w.announce(over())
	w.Eventually(func() map[string]string { w.Expect(w.Exists(config)).To(BeTrue()); return config.Data }).ShouldNot(HaveKey("workload"))
	reconciles := w.operator.Reconciles("maintenance", w.Namespace, config.Name)
	metav1.SetMetaDataAnnotation(&config.ObjectMeta, "example.com/touched", "yes")
	w.Expect(w.Cluster.Client.Update(w.T.Context(), config)).To(Succeed())
	w.Eventually(func() int { return w.operator.Reconciles("maintenance", w.Namespace, config.Name) }).Should(BeNumerically(">", reconciles))
	w.Expect(w.Exists(config)).To(BeTrue(), "only the application itself ends it")
}
