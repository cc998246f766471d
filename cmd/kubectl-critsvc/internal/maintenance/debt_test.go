package maintenance

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is more than any wait takes.
const patience = time.Minute

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
		owed      string
	}{
		"something new": {
			says: []string{"connection lost", "the application has its replicas", "the announcement is taken back"}, replicas: 3,
		},
		"something that was announced": {
			before: []client.Object{existing("workload", "", "replicas", "")}, says: []string{"connection lost", "the application has its replicas"},
			replicas: 3, announced: true,
		},
		"something new that cannot be given back": {
			stuck: true, says: []string{`ConfigMap "web-maintenance"`, "is kept", "maintenance off svc/web -n shop"}, announced: true, owed: "3",
		},
		"something that was announced and cannot be given back": {
			before: []client.Object{existing("workload", "", "replicas", "")}, stuck: true, says: []string{"is kept"}, announced: true, owed: "3",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, c.before...)
			ctx, interrupt := context.WithCancel(t.Context())
			w.scaled = func(replicas int32) error {
				if replicas > 0 {
					return nil
				}
				interrupt()
				return lost // The scale is written, and the response is lost.
			}
			w.refusesRestore = c.stuck
			err := w.on(ctx)
			for _, says := range c.says {
				w.Expect(err).To(MatchError(ContainSubstring(says)))
			}
			w.Expect(w.replicas()).To(Equal(c.replicas))
			w.Expect(w.announced() != nil).To(Equal(c.announced))
			w.Expect(w.announced()["replicas"]).To(Equal(c.owed))
		})
	}
}

func TestWhatIsOwedDoesNotProveThatItWasScaledDown(t *testing.T) {
	for sentence, c := range map[string]struct {
		replicas  int32
		flags     func(*announcement)
		says      string
		not       string
		remaining int32
		owed      string
	}{
		"it was taken away": {says: `was scaled to zero before, and gets 3 replicas back`, not: "is scaled from", owed: "3"},
		"it runs, and is taken away now": {
			replicas: 5, says: `Deployment "web" is scaled from 5 to 0`, not: "taken away before", owed: "5",
		},
		"it runs, and is wanted": {
			replicas: 3, flags: func(a *announcement) { a.scaleDown = false }, says: "The application keeps the traffic", not: "taken away before",
			remaining: 3, owed: "3",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, existing())
			w.scale(c.replicas)
			if c.flags == nil {
				c.flags = func(*announcement) {}
			}
			w.Expect(w.on(t.Context(), c.flags)).To(Succeed())
			w.Expect(w.out.String()).To(ContainSubstring(c.says))
			w.Expect(w.out.String()).NotTo(ContainSubstring(c.not))
			w.Expect(w.replicas()).To(Equal(c.remaining))
			w.Expect(w.announced()).To(HaveKeyWithValue("replicas", c.owed))
		})
	}
}

func TestWhatMayNotBePermittedChangesNothing(t *testing.T) {
	before := existing("workload", "", "replicas", "", "message", "Earlier.")
	w := newWorld(t, before.DeepCopy())
	w.refuse = func(verb string, object client.Object) error {
		if _, is := object.(*rbacv1.Role); is && verb == "create" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, object.GetName(), nil)
		}
		return nil
	}
	err := w.on(t.Context(), func(a *announcement) { a.until, a.untilGiven = "2h", true })
	w.Expect(err).To(MatchError(ContainSubstring("what is announced is as it was")))
	w.Expect(w.replicas()).To(Equal(int32(3)))
	w.Expect(w.announced()).To(Equal(before.Data))
}

func TestTheEndByHandForgetsNoDebt(t *testing.T) {
	for sentence, c := range map[string]struct {
		key, value string
		says       string
		replicas   int32
		announced  bool
	}{
		"all is valid":                {key: "announce", value: "true", replicas: 3},
		"a message of two lines":      {key: "message", value: "a\nb", replicas: 3},
		"an end that is no time":      {key: "until", value: "at six", replicas: 3},
		"no Service is named":         {key: "service", value: "", replicas: 3},
		"replicas that are no number": {key: "replicas", value: "many", says: "kubectl scale -n shop", announced: true},
		"a workload that is none":     {key: "workload", value: "web", says: "nothing is deleted", announced: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, existing(c.key, c.value))
			w.scale(0)
			err := w.off()
			if c.says == "" {
				w.Expect(err).NotTo(HaveOccurred())
			} else {
				w.Expect(err).To(MatchError(ContainSubstring(c.says)))
			}
			w.Expect(w.replicas()).To(Equal(c.replicas))
			w.Expect(w.announced() != nil).To(Equal(c.announced))
		})
	}
}

func TestTheEndByHandLeavesWhatIsAboutOthers(t *testing.T) {
	w := newWorld(t, existing("service", "cart"))
	w.scale(0)
	w.Expect(w.off()).To(Succeed())
	w.Expect(w.out.String()).To(ContainSubstring("no maintenance is announced"))
	w.Expect(w.announced()).NotTo(BeNil())
	w.Expect(w.replicas()).To(BeZero())
}
