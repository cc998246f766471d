package maintenance

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage/outagetest"
)

// patience is more than any wait takes.
const patience = time.Minute

// owedThree is what the workload of the tests is owed.
var owedThree = &criticalv2.WorkloadReplicas{Deployment: "web", Replicas: 3}

func TestAMaintenanceIsAnnouncedAndTheApplicationTakenAway(t *testing.T) {
	w := newWorld(t)
	w.Expect(w.on(t.Context())).To(Succeed())
	w.Expect(w.out.String()).To(And(ContainSubstring("a maintenance is announced."), ContainSubstring(`Deployment "web" is scaled from 3 to 0`)))
	w.Expect(w.Replicas()).To(BeZero())
	m := w.Maintenance()
	w.Expect(m.Spec).To(Equal(criticalv2.MaintenanceSpec{
		Services: []string{"web"}, Message: "We move house.", Restore: owedThree, TTLSecondsAfterFinished: new(int32(3600)),
	}))
	w.Expect(m.Status.Owed).To(Equal(owedThree))

	w.Expect(w.on(t.Context())).To(Succeed(), "a second time")
	w.Expect(w.out.String()).To(ContainSubstring("was scaled to zero before, and gets 3 replicas back"))
	w.Expect(w.off()).To(Succeed())
	w.Expect(w.out.String()).To(ContainSubstring("deployments.apps/web has its 3 replicas back."))
	w.Expect(w.Replicas()).To(BeEquivalentTo(3))
	w.Expect(w.Maintenance()).To(BeNil())
}

func TestAnApplicationThatWasTakenAwayIsGivenBackBeforeThatIsForgotten(t *testing.T) {
	lost := errors.New("connection lost")
	for sentence, c := range map[string]struct {
		before []client.Object
		// stuck refuses to give back as well.
		stuck bool
		says  []string
		// replicas and owed hold afterwards; announced reports whether anything is.
		replicas  int32
		announced bool
	}{
		"something new": {
			says: []string{"connection lost", "the application has its replicas", "the announcement is taken back"}, replicas: 3,
		},
		"something that was announced": {
			before:   []client.Object{outagetest.Existing(unscaled)},
			says:     []string{"connection lost", "the application has its replicas", `Maintenance "web" goes on saying what Deployment "web" gets back`},
			replicas: 3, announced: true,
		},
		"something new that cannot be given back": {
			stuck: true, says: []string{`Maintenance "web"`, "is kept", "maintenance off svc/web -n shop"}, announced: true,
		},
		"something that was announced and cannot be given back": {
			before: []client.Object{outagetest.Existing(unscaled)}, stuck: true, says: []string{"is kept"}, announced: true,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, c.before...)
			ctx, interrupt := context.WithCancel(t.Context())
			w.Scaled = func(replicas int32) error {
				if replicas > 0 {
					return nil
				}
				interrupt()
				if c.stuck {
					w.Refuse = func(verb string, _ client.Object) error {
						if verb == "scale" {
							return errors.New("the API server is away")
						}
						return nil
					}
				}
				return lost // The scale is written, and the response is lost.
			}
			err := w.on(ctx)
			for _, says := range c.says {
				w.Expect(err).To(MatchError(ContainSubstring(says)))
			}
			w.Expect(w.Replicas()).To(Equal(c.replicas))
			if !c.announced {
				w.Expect(w.Maintenance()).To(BeNil())
				return
			}
			w.Expect(w.Maintenance().Spec.Restore).To(Equal(owedThree))
		})
	}
}

func TestWhatIsOwedDoesNotProveThatItWasScaledDown(t *testing.T) {
	for sentence, c := range map[string]struct {
		replicas  int32
		flags     func(*announcement)
		says      string
		fails     string
		remaining int32
	}{
		"it was taken away":              {says: `was scaled to zero before, and gets 3 replicas back`},
		"it runs, and is taken away now": {replicas: 3, says: `Deployment "web" is scaled from 3 to 0`},
		"it runs, and is wanted": {
			replicas: 3, flags: func(a *announcement) { a.scaleDown = false }, says: "The application keeps the traffic", remaining: 3,
		},
		"it has other replicas than it is owed": {replicas: 5, fails: "end it by `kubectl critsvc maintenance off`", remaining: 5},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, outagetest.Existing())
			w.Scale(c.replicas)
			if c.flags == nil {
				c.flags = func(*announcement) {}
			}
			if err := w.on(t.Context(), c.flags); c.fails != "" {
				w.Expect(err).To(MatchError(ContainSubstring(c.fails)))
			} else {
				w.Expect(err).NotTo(HaveOccurred())
			}
			w.Expect(w.out.String()).To(ContainSubstring(c.says))
			w.Expect(w.Replicas()).To(Equal(c.remaining))
			w.Expect(w.Maintenance().Status.Owed).To(Equal(owedThree))
		})
	}
}

func TestWhoMayNotPermitTheOperatorEndsItAlone(t *testing.T) {
	ending := func(a *announcement) { a.until, a.given = "2h", flags("message", "until") }
	for sentence, c := range map[string]struct {
		flags []func(*announcement)
		fails string
	}{
		"with an end, nothing is done": {flags: []func(*announcement){ending}, fails: "leave the end out (--until)"},
		"without one, a warning":       {},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.Refuse = outagetest.Forbidden[*rbacv1.Role]("create")
			err := w.on(t.Context(), c.flags...)
			if c.fails != "" {
				w.Expect(err).To(MatchError(And(ContainSubstring(c.fails), ContainSubstring(`The ClusterRole "admin"`))))
				w.Expect(w.Replicas()).To(BeEquivalentTo(3))
				w.Expect(w.Maintenance()).To(BeNil())
				return
			}
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(w.errOut.String()).To(ContainSubstring("warning: only `maintenance off` gives the application back"))
			w.Expect(w.Replicas()).To(BeZero())
			w.Expect(w.Maintenance().Spec.Restore).To(Equal(owedThree))
			w.Expect(w.Maintenance().Status.Owed).To(BeNil())
			w.Expect(w.end(true)).To(Succeed())
			w.Expect(w.Replicas()).To(BeEquivalentTo(3))
			w.Expect(w.Maintenance()).To(BeNil())
		})
	}
}

func TestWithoutAnOperatorThatAnswersNothingIsAnnounced(t *testing.T) {
	for sentence, before := range map[string]*criticalv2.Maintenance{"something new": nil, "something that was announced": outagetest.Existing(unscaled, func(m *criticalv2.Maintenance) {
		m.Status.Operator, m.Spec.Message = "", "Earlier."
	})} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var objects []client.Object
				if before != nil {
					objects = append(objects, before)
				}
				w := newWorld(t, objects...)
				w.Operator = ""
				w.Expect(w.on(t.Context())).To(MatchError(And(ContainSubstring("the operator does not answer"), ContainSubstring("nothing was scaled"))))
				w.Expect(w.Replicas()).To(BeEquivalentTo(3))
				if before == nil {
					w.Expect(w.Maintenance()).To(BeNil())
				} else {
					w.Expect(w.Maintenance().Spec.Message).To(Equal("Earlier."), "what is announced is as it was")
				}
			})
		})
	}
}

func TestADrillIsNotAnnounced(t *testing.T) {
	w := newWorld(t, outagetest.Existing(func(m *criticalv2.Maintenance) { m.Spec.Purpose = criticalv2.PurposeDrill }))
	w.Expect(w.on(t.Context())).To(MatchError(ContainSubstring(`a live drill of Service shop/web is under way (Maintenance "web")`)))
}

func TestWhatIsAnnouncedChanges(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	six := &metav1.Time{Time: now.Add(6 * time.Hour)}
	announced := &criticalv2.Maintenance{Spec: criticalv2.MaintenanceSpec{
		Services: []string{"web"}, Message: "We move house.", Until: six, RetryAfterSeconds: new(int32(60)), Restore: owedThree,
	}}
	changed := func(change func(*criticalv2.MaintenanceSpec)) criticalv2.MaintenanceSpec {
		spec := *announced.Spec.DeepCopy()
		change(&spec)
		return spec
	}
	for sentence, c := range map[string]struct {
		before *criticalv2.Maintenance
		flags  announcement
		want   criticalv2.MaintenanceSpec
		fails  string
	}{
		"something new": {
			flags: announcement{message: " We move house. ", until: "6h", retryAfter: 90 * time.Second, given: flags("message", "until", "retry-after")},
			want: criticalv2.MaintenanceSpec{
				Services: []string{"web"}, Message: "We move house.", Until: six, RetryAfterSeconds: new(int32(90)), TTLSecondsAfterFinished: new(int32(3600)),
			},
		},
		"nothing said is nothing changed": {before: announced, flags: announcement{given: flags()}, want: announced.Spec},
		"another message": {
			before: announced, flags: announcement{message: "Almost.", given: flags("message")},
			want: changed(func(s *criticalv2.MaintenanceSpec) { s.Message = "Almost." }),
		},
		"no message, no end and no wait any more": {
			before: announced, flags: announcement{given: flags("message", "until", "retry-after")},
			want: criticalv2.MaintenanceSpec{Services: []string{"web"}, Restore: owedThree},
		},
		"a wait of parts of a second": {flags: announcement{retryAfter: 1500 * time.Millisecond, given: flags("retry-after")}, fails: "--retry-after: 1.5s"},
		"a wait of a week":            {flags: announcement{retryAfter: 168 * time.Hour, given: flags("retry-after")}, fails: "--retry-after: 168h0m0s"},
		"an end that has passed": {
			before: &criticalv2.Maintenance{Spec: criticalv2.MaintenanceSpec{Until: outage.Ending(now.Add(-time.Hour))}},
			flags:  announcement{given: flags()}, fails: "give a new end",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			a := c.flags
			a.name, a.existing = outagetest.Web, c.before
			err := a.plan(now)
			if c.fails != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.fails)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(a.m.Spec).To(Equal(c.want))
		})
	}
}

func TestWhatElseGoesDownIsSaidBeforeTheApplicationIsScaled(t *testing.T) {
	critical := map[string]string{"role": "critical"}
	w := newWorld(t,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "admin", Labels: critical}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}},
		&criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Name: "critical"}, Spec: criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: critical}},
		},
	)
	before := ""
	w.Scaled = func(int32) error {
		before = w.errOut.String()
		return nil
	}
	w.Expect(w.on(t.Context())).To(Succeed())
	w.Expect(w.Replicas()).To(BeZero())
	w.Expect(before).To(ContainSubstring(`warning: Other critical Services go down with Deployment "web", because no other Pod behind them is ready: admin.`))
}
