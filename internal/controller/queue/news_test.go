package queue_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/queue"
)

// A decision from a cache that has not followed yet may come to the status of before, and writes
// nothing: what wakes the controller then is its own write.
func TestWhatIsNewsToTheControllerThatWroteIt(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: "Ready", Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(time.Unix(1, 0))}}
	}
	for sentence, c := range map[string]struct {
		change func(*criticalv2.Maintenance)
		want   bool
	}{
		"its own status":                      {func(m *criticalv2.Maintenance) { m.Status.Conditions = ready("False", "NotFound", "away") }, true},
		"another reason":                      {func(m *criticalv2.Maintenance) { m.Status.Conditions = ready("True", "Other", "fine") }, true},
		"another spec":                        {func(m *criticalv2.Maintenance) { m.Spec.Message = "back at noon" }, true},
		"its deletion":                        {func(m *criticalv2.Maintenance) { m.DeletionTimestamp = new(metav1.Now()) }, true},
		"a refusal that reads otherwise":      {func(m *criticalv2.Maintenance) { m.Status.Conditions[0].Message = "fine at 12:01" }, false},
		"the time at which that was written":  {func(m *criticalv2.Maintenance) { m.Status.Conditions[0].LastTransitionTime = metav1.Now() }, false},
		"a version, as of each resync":        {func(m *criticalv2.Maintenance) { m.ResourceVersion = "2" }, false},
		"who has written which of its fields": {func(m *criticalv2.Maintenance) { m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}} }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			before := &criticalv2.Maintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "move", ResourceVersion: "1"}}
			before.Status.Conditions = ready("True", "Running", "fine")
			now := before.DeepCopy()
			c.change(now)
			kept := now.DeepCopy()
			news := queue.News(func(m *criticalv2.Maintenance) { queue.Wordless(m.Status.Conditions) })
			g.Expect(news.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now})).To(Equal(c.want))
			g.Expect(now).To(Equal(kept), "what the cache holds is unchanged")
		})
	}
}
