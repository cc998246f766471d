//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

const moving = "We move house."

// maintained runs `maintenance` with a verb for the Service, and expects that it succeeds.
func (s *service) maintained(verb string, arguments ...string) string {
	s.t.Helper()
	code, stdout, stderr := s.runPlugin(append([]string{"maintenance", verb, "svc/" + s.object.Name}, arguments...)...)
	s.Expect(code).To(Equal(0), "%s%s", stdout, stderr)
	return stdout
}

// page is what a client that wants plain text gets.
func (s *service) page(g Gomega) (response *http.Response, body string) {
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.url(), http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Accept", "text/plain")
	response, err = oneConnectionEach.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return response, string(text)
}

// announces waits until the page says a message and the end, which may be unknown.
func (s *service) announces(message string, until time.Time) {
	s.t.Helper()
	s.Eventually(func(g Gomega) {
		response, body := s.page(g)
		g.Expect(response.StatusCode).To(Equal(http.StatusServiceUnavailable))
		g.Expect(body).To(ContainSubstring(message))
		if until.IsZero() {
			g.Expect(body).NotTo(ContainSubstring("Expected back"))
			return
		}
		g.Expect(body).To(ContainSubstring("Expected back in about "))
		g.Expect(response.Header.Get("Retry-After")).To(Equal(until.UTC().Format(http.TimeFormat)))
	}).Should(Succeed(), "the page of Service %s", s.object.Name)
}

// maintenance is the Maintenance that the plugin makes.
func (s *service) maintenance() *criticalv2.Maintenance {
	return &criticalv2.Maintenance{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.object.Name}}
}

// nothingIsLeft waits until all that a maintenance made is gone.
func (s *service) nothingIsLeft() {
	s.t.Helper()
	meta := s.maintenance().ObjectMeta
	meta.Name += "-maintenance"
	for _, object := range []client.Object{s.maintenance(), &rbacv1.Role{ObjectMeta: meta}, &rbacv1.RoleBinding{ObjectMeta: meta}} {
		s.Eventually(func() bool { return testenv.Gone(s.ctx, s.Client, object) }).Should(BeTrue(), "%T is left", object)
	}
	s.Expect(printed[maintenances](s.world, s, "maintenance", "list").Maintenances).To(BeEmpty())
}

func (w *world) replicas(deployment *appsv1.Deployment) int32 {
	w.t.Helper()
	w.refresh(deployment)
	return *deployment.Spec.Replicas
}

// TestAMaintenanceSurvivesTheOperatorAndEndsByItself is not parallel: it kills the operator.
func TestAMaintenanceSurvivesTheOperatorAndEndsByItself(t *testing.T) {
	w := newWorld(t)
	app := w.deployment("shop")
	shop := w.service("shop").critical() // Its fallback is a Pod; during a maintenance it is the page.
	shop.armed("shop")

	until := time.Now().Add(time.Hour).Truncate(time.Second)
	said := shop.maintained("on", "--message", moving, "--until", until.Format(time.RFC3339), "--scale-down", "--yes")
	w.Expect(said).To(And(ContainSubstring(`Deployment "shop" is scaled from 1 to 0`), ContainSubstring("maintenance off svc/shop -n "+w.namespace)))
	shop.announces(moving, until)
	shop.becomes(criticalv2.StateCovered, criticalv2.ReasonMaintenance, "until "+until.UTC().Format(time.RFC3339))
	w.Eventually(shop.detail(shop.policy)).Should(HaveField("Cause.Reason", criticalv2.CauseMaintenance))
	w.Expect(w.replicas(app)).To(BeZero())

	w.killOperator()
	shop.announces(moving, until)
	shop.becomes(criticalv2.StateCovered, criticalv2.ReasonMaintenance)
	w.Expect(w.replicas(app)).To(BeZero())

	// What was announced changes, and what was not named stays, as does what is owed.
	const almost = "We almost have."
	shop.maintained("on", "--message", almost)
	shop.announces(almost, until)
	soonest := time.Now().Add(30 * time.Second).Truncate(time.Second)
	shop.maintained("on", "--until", soonest.Format(time.RFC3339))
	w.Expect(w.replicas(app)).To(BeZero())

	shop.answeredBy("shop")
	w.Expect(time.Now()).To(BeTemporally(">=", soonest))
	w.Expect(w.replicas(app)).To(Equal(int32(1)))
	ended := shop.maintenance()
	w.Eventually(func(g Gomega) {
		g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(ended), ended)).To(Succeed())
		g.Expect(ended.Status.Ended).NotTo(BeNil())
	}).Should(Succeed())
	w.Expect(ended.Status.Restored).To(Equal(&criticalv2.WorkloadReplicas{Deployment: "shop", Replicas: 1}))
	change(w, ended, func(m *criticalv2.Maintenance) { m.Spec.TTLSecondsAfterFinished = new(int32(0)) })
	shop.nothingIsLeft()
	shop.armed("shop")
}

func TestAMaintenanceIsEndedByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.deployment("shop")
	shop := w.service("shop").withPage().ready()

	shop.maintained("on", "--message", moving, "--scale-down", "--yes")
	shop.announces(moving, time.Time{})
	w.Expect(shop.maintained("off")).To(ContainSubstring("the maintenance is over"))
	shop.answeredBy("shop")
	w.Expect(w.replicas(app)).To(Equal(int32(1)))
	shop.nothingIsLeft()
	shop.standsBy("shop")
	w.Expect(shop.maintained("off")).To(ContainSubstring("no maintenance is announced"), "a second time there is nothing to do")
}

func TestAMaintenanceThatTakesNothingAwayWaitsForTheApplicationToLeave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.deployment("shop")
	shop := w.service("shop").withPage().ready()

	said := shop.maintained("on", "--message", moving, "--scale-down=false")
	w.Expect(said).To(ContainSubstring("The application keeps the traffic"))
	shop.becomes(criticalv2.StateArmed, criticalv2.ReasonMaintenance, "1 endpoint of the Service's own still takes the traffic")
	shop.answeredBy("shop")

	w.scale(app, 0)
	shop.announces(moving, time.Time{})
	shop.becomes(criticalv2.StateCovered, criticalv2.ReasonMaintenance)
	w.scale(app, 1)
	shop.answeredBy("shop")
	shop.maintained("off")
	shop.nothingIsLeft()
	shop.ready()
}

// TestAUserWhoMayNotPermitIsRefused: this user may scale, and may make no Roles.
func TestAUserWhoMayNotPermitIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.deployment("shop")
	shop := w.service("shop").withPage().ready()
	jane, _ := w.user("jane", "edit")
	on := func(arguments ...string) (int, string) {
		code, _, stderr := w.runPlugin(append([]string{"--as=" + jane, "maintenance", "on", "svc/shop", "--message", moving}, arguments...)...)
		return code, stderr
	}
	code, stderr := on("--until", "1h", "--scale-down", "--yes")
	w.Expect(code).To(Equal(exitError))
	w.Expect(stderr).To(And(ContainSubstring("the operator cannot be permitted to give the application back"), ContainSubstring("leave the end out (--until)")))
	w.Expect(w.replicas(app)).To(Equal(int32(1)))
	shop.nothingIsLeft()

	// Without an end this user can announce it, and end it.
	code, stderr = on("--scale-down", "--yes")
	w.Expect(code).To(Equal(0), stderr)
	shop.announces(moving, time.Time{})
	code, _, stderr = w.runPlugin("--as="+jane, "maintenance", "off", "svc/shop", "--yes")
	w.Expect(code).To(Equal(0), stderr)
	shop.answeredBy("shop")
	shop.nothingIsLeft()
}

// TestAMaintenanceFromAFile is what Git brings: of two Services, and recurring.
func TestAMaintenanceFromAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	application := w.deployment("shop")
	shop := w.service("shop").withPage().ready()
	once := &criticalv2.Maintenance{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "planned"},
		Spec: criticalv2.MaintenanceSpec{
			Services: []string{"shop", "other"}, Message: moving, Until: new(metav1.NewTime(time.Now().Add(time.Hour))), RetryAfterSeconds: new(int32(77)),
		},
	}
	w.create(once)
	shop.becomes(criticalv2.StateArmed, criticalv2.ReasonMaintenance)
	change(w, once, func(m *criticalv2.Maintenance) { m.Spec.Until = new(metav1.NewTime(time.Now().Add(-time.Hour))) })
	shop.becomes(criticalv2.StateArmed, criticalv2.ReasonStandbyReady)

	// A window begins each day in this minute, and lasts an hour.
	began := time.Now().UTC()
	recurring := &criticalv2.Maintenance{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "recurring"},
		Spec: criticalv2.MaintenanceSpec{
			Services: []string{"shop"}, Message: moving,
			Recurring: &criticalv2.Recurring{
				Schedule: fmt.Sprintf("%d %d * * *", began.Minute(), began.Hour()), TimeZone: "UTC", Duration: metav1.Duration{Duration: time.Hour},
			},
		},
	}
	w.create(recurring)
	shop.becomes(criticalv2.StateArmed, criticalv2.ReasonMaintenance)
	w.scale(application, 0)
	shop.becomes(criticalv2.StateCovered, criticalv2.ReasonMaintenance)
	w.Eventually(func(g Gomega) {
		g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(recurring), recurring)).To(Succeed())
		response, text := shop.page(g)
		g.Expect(text).To(ContainSubstring("Expected back in about "))
		g.Expect(response.Header.Get("Retry-After")).To(Equal(recurring.Status.Until.UTC().Format(http.TimeFormat)))
	}).Should(Succeed(), "the page says the end of the window that runs")
	w.remove(recurring)
	shop.becomes(criticalv2.StateCovered, criticalv2.ReasonFallbackServing)
	w.scale(application, 1)
	shop.ready()
}
