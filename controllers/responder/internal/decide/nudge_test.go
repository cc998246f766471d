package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/controllers/responder/internal/render"
)

func TestPodsThatAreDeniedAreTriedAgain(t *testing.T) {
	const never = -1
	tests := map[string]struct {
		// since and last are how long the denial, and the last nudge, are ago.
		since, last time.Duration
		nudges      bool
		after       time.Duration
	}{
		"at once":                           {0, never, true, time.Second},
		"a second later":                    {2 * time.Second, time.Second, true, time.Second},
		"not sooner":                        {2 * time.Second, 400 * time.Millisecond, false, 600 * time.Millisecond},
		"less often the longer it lasts":    {30 * time.Second, 2 * time.Second, false, 3 * time.Second},
		"every ten seconds after a minute":  {time.Minute, 10 * time.Second, true, 10 * time.Second},
		"and no less often after hours":     {5 * time.Hour, 9 * time.Second, false, time.Second},
		"whatever a user wrote":             {time.Minute, -time.Hour, true, 10 * time.Second},
		"and where clocks differ, at once":  {-time.Minute, never, true, time.Second},
		"once the last is long ago":         {time.Minute, time.Hour, true, 10 * time.Second},
		"and a nudge of the moment is kept": {time.Second, 0, false, time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := settled(g, snapshot(critical("web", port("http", 80))))
			s.Now = present
			s.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(present.Add(-test.since)),
			}}
			if test.last != never {
				s.Deployment.Annotations[render.AnnotationNudged] = present.Add(-test.last).Format(time.RFC3339Nano)
			}
			plan := decide.Decide(s)
			g.Expect(plan.Nudge != nil).To(Equal(test.nudges))
			g.Expect(plan.RecheckAfter).To(Equal(test.after))
			if test.nudges {
				g.Expect(plan.Nudge.To.Spec).To(Equal(plan.Nudge.From.Spec), "no Pod is replaced for it")
				s.Deployment = plan.Nudge.To
				g.Expect(decide.Decide(s).Nudge).To(BeNil())
			}

			s.Deployment = s.Deployment.DeepCopy()
			s.Deployment.Status.Conditions[0].Status = corev1.ConditionFalse
			plan = decide.Decide(s)
			g.Expect(plan.Nudge).To(BeNil())
			g.Expect(plan.RecheckAfter).To(BeZero())
			g.Expect(plan).To(Satisfy(idle))
		})
	}
}
