package stories_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/test/testenv"
)

// announce makes a ConfigMap that announces a maintenance of a Service.
func (w *world) announce(service *corev1.Service, data ...string) *corev1.ConfigMap {
	w.T.Helper()
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "planned", Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderMaintenance},
		},
		Data: map[string]string{"service": service.Name, "message": "We move house."},
	}
	for i := 0; i < len(data); i += 2 {
		config.Data[data[i]] = data[i+1]
	}
	w.Create(config)
	return config
}

// said is the announcement in the responder's table for a Service.
func (w *world) said(service *corev1.Service) func() string {
	return func() string {
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: criticalv2.ResponderName}}
		if !w.Exists(config) {
			return "nothing"
		}
		table, err := listener.Parse([]byte(config.Data[listener.Key]))
		w.Expect(err).NotTo(HaveOccurred())
		for _, l := range table.Listeners {
			if l.Service == service.Name && l.Maintenance != nil {
				return l.Maintenance.Message
			}
		}
		return "nothing"
	}
}

func TestAMaintenanceIsAnnouncedFollowedAndForgotten(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, real := w.armed(policy, "web")
	other, _ := w.up("api")
	w.Eventually(w.stateOf(policy, other)).Should(Equal("Armed/StandbyReady"))

	config := w.announce(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/Maintenance"))
	w.Eventually(w.said(service)).Should(Equal("We move house."))
	w.Expect(w.published(service)()).To(Equal("page: responder-1 on http=20000, standby"), "the application keeps the traffic")

	w.fail(service, real)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/Maintenance"))
	testenv.Update(w.World, config, func(c *corev1.ConfigMap) { c.Data["message"] = "Almost." })
	w.Eventually(w.said(service)).Should(Equal("Almost."))
	w.Expect(w.said(other)()).To(Equal("nothing"), "it is announced for one Service")
	w.Expect(w.stateOf(policy, other)()).To(Equal("Armed/StandbyReady"))

	// It may be about another Service now: both follow.
	testenv.Update(w.World, config, func(c *corev1.ConfigMap) { c.Data["service"] = other.Name })
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.stateOf(policy, other)).Should(Equal("Armed/Maintenance"))
	w.Eventually(w.said(service)).Should(Equal("nothing"))

	w.Delete(config)
	w.Eventually(w.stateOf(policy, other)).Should(Equal("Armed/StandbyReady"))
	w.Eventually(w.said(other)).Should(Equal("nothing"))
}

func TestAMaintenanceIsOverWithoutAnybodysDoing(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, _ := w.armed(policy, "web")
	config := w.announce(service, "until", time.Now().Add(3*time.Second).Format(time.RFC3339))
	// It may be over before it is observed; only its end is certain.
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.Eventually(w.EventsOf(config, "MaintenanceStuck")).Should(HaveLen(1), "the operator may not delete it")
	w.Eventually(w.said(service)).Should(Equal("nothing"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
}

// A Service without a page is woken by the ConfigMap alone.
func TestAMaintenanceBringsThePageToAServiceThatHasAnotherFallback(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toBackup("spare"))
	service, _ := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/BackupNotFound"))

	config := w.announce(service)
	w.responder("responder-1")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/Maintenance"))
	w.Eventually(w.said(service)).Should(Equal("We move house."))
	w.Delete(config)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/BackupNotFound"))
}
