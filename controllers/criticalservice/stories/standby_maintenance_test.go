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

// announce announces a maintenance of a Service.
func (w *world) announce(service *corev1.Service, changes ...func(*criticalv2.Maintenance)) *criticalv2.Maintenance {
	w.T.Helper()
	m := &criticalv2.Maintenance{
		ObjectMeta: metav1.ObjectMeta{Name: "planned"},
		Spec:       criticalv2.MaintenanceSpec{Services: []string{service.Name}, Message: "We move house."},
	}
	for _, change := range changes {
		change(m)
	}
	w.Create(m)
	return m
}

// announced is the announcement in the responder's table for a Service; nil if there is none.
func (w *world) announced(service *corev1.Service) *criticalv2.Announcement {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: criticalv2.ResponderName}}
	if !w.Exists(config) {
		return nil
	}
	table, err := listener.Parse([]byte(config.Data[listener.Key]))
	w.Expect(err).NotTo(HaveOccurred())
	for _, l := range table.Listeners {
		if l.Service == service.Name && l.Maintenance != nil {
			return l.Maintenance
		}
	}
	return nil
}

// said is the message of the announcement.
func (w *world) said(service *corev1.Service) func() string {
	return func() string {
		if announced := w.announced(service); announced != nil {
			return announced.Message
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

	until := metav1.NewTime(time.Now().Add(time.Hour).Truncate(time.Second))
	planned := w.announce(service, func(m *criticalv2.Maintenance) { m.Spec.Until, m.Spec.RetryAfterSeconds = &until, new(int32(77)) })
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/Maintenance"))
	w.Eventually(w.said(service)).Should(Equal("We move house."))
	w.Expect(w.announced(service).Until.Time).To(BeTemporally("==", until.Time))
	w.Expect(w.announced(service).RetryAfterSeconds).To(HaveValue(BeEquivalentTo(77)))
	w.Expect(w.published(service)()).To(Equal("page: responder-1 on http=20000, standby"), "the application keeps the traffic")

	w.fail(service, real)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/Maintenance"))
	testenv.Update(w.World, planned, func(m *criticalv2.Maintenance) { m.Spec.Message = "Almost." })
	w.Eventually(w.said(service)).Should(Equal("Almost."))
	w.Expect(w.said(other)()).To(Equal("nothing"), "it is announced for one Service")
	w.Expect(w.stateOf(policy, other)()).To(Equal("Armed/StandbyReady"))

	// It may be about another Service now: both follow.
	testenv.Update(w.World, planned, func(m *criticalv2.Maintenance) { m.Spec.Services = []string{other.Name} })
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.stateOf(policy, other)).Should(Equal("Armed/Maintenance"))
	w.Eventually(w.said(service)).Should(Equal("nothing"))

	w.Delete(planned)
	w.Eventually(w.stateOf(policy, other)).Should(Equal("Armed/StandbyReady"))
	w.Eventually(w.said(other)).Should(Equal("nothing"))
}

func TestAMaintenanceIsOverByItself(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, _ := w.armed(policy, "web")
	planned := w.announce(service, func(m *criticalv2.Maintenance) { m.Spec.Until = new(metav1.NewTime(time.Now().Add(3 * time.Second))) })
	// It may be over before it is observed; only its end is certain.
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.Eventually(w.EventsOf(planned, "MaintenanceEnded")).Should(HaveLen(1))
	w.Eventually(w.said(service)).Should(Equal("nothing"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
}

// A Service without a page is woken by the Maintenance alone.
func TestAMaintenanceBringsThePageToAServiceThatHasAnotherFallback(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toBackup("spare"))
	service, _ := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/BackupNotFound"))

	planned := w.announce(service)
	w.responder("responder-1")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/Maintenance"))
	w.Eventually(w.said(service)).Should(Equal("We move house."))
	w.Delete(planned)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/BackupNotFound"))
}
