package recheck_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/controller/recheck"
)

var (
	now    = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	shop   = types.NamespacedName{Namespace: "web", Name: "shop"}
	bounds = recheck.Bounds{Shortest: 2 * time.Second, Longest: 5 * time.Minute}
)

// ready is a condition that became False a day ago.
func ready(reason string) []metav1.Condition {
	return []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.NewTime(now.Add(-24 * time.Hour))}}
}

func TestHowLongAConditionHasHadItsReason(t *testing.T) {
	g := NewWithT(t)
	var reasons recheck.Reasons
	ages := reasons.Observe(shop, ready("Suspended"), now)
	g.Expect(ages.Of("Ready", "Suspended", now)).To(Equal(24*time.Hour), "what was before the start is as old as the status")
	g.Expect(ages.Of("Ready", "SecretInvalid", now)).To(BeZero(), "a reason that comes now is new, though the status is old")
	g.Expect(ages.Of("Protected", "Suspended", now)).To(BeZero(), "each condition counts for itself")

	ages = reasons.Observe(shop, ready("SecretInvalid"), now)
	g.Expect(ages.Of("Ready", "SecretInvalid", now.Add(time.Second))).To(Equal(time.Second))
	ages = reasons.Observe(shop, ready("SecretInvalid"), now.Add(time.Minute))
	g.Expect(ages.Of("Ready", "SecretInvalid", now.Add(time.Minute))).To(Equal(time.Minute), "it grows old")

	reasons.Observe(shop, nil, now)
	ages = reasons.Observe(shop, ready("SecretInvalid"), now)
	g.Expect(ages.Of("Ready", "SecretInvalid", now)).To(Equal(24*time.Hour), "an object without conditions is forgotten")
	g.Expect(ages.Of("Ready", "SecretInvalid", now.Add(-48*time.Hour))).To(BeZero(), "a clock may go back")
}

func TestLooksBecomeMoreSeldom(t *testing.T) {
	for sentence, test := range map[string]struct{ age, least, most time.Duration }{
		"what is new is looked at soon":         {0, 2 * time.Second, 3 * time.Second},
		"then after as long as it has been so":  {time.Minute, time.Minute, 90 * time.Second},
		"and never later than the longest time": {24 * time.Hour, 5 * time.Minute, 450 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			waits := map[time.Duration]bool{}
			for i := range 100 {
				wait := bounds.After(test.age, types.UID(fmt.Sprint("uid-", i)))
				g.Expect(wait).To(And(BeNumerically(">=", test.least), BeNumerically("<=", test.most)))
				waits[wait] = true
			}
			g.Expect(len(waits)).To(BeNumerically(">", 50), "many objects do not come at once")
		})
	}
}

func TestTheEarlierOfTwoTimesCounts(t *testing.T) {
	for sentence, c := range map[string]struct{ after, wait, becomes time.Duration }{
		"nothing was to be checked":        {0, time.Minute, time.Minute},
		"what comes later changes nothing": {time.Second, time.Minute, time.Second},
		"what comes before counts":         {time.Minute, time.Second, time.Second},
		"never changes nothing":            {time.Minute, 0, time.Minute},
		"what is past changes nothing":     {0, -time.Second, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(recheck.Earlier(c.after, c.wait)).To(Equal(c.becomes))
		})
	}
}
