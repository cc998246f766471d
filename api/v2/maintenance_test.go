package v2_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestWhenAMaintenanceIsAnnounced(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	moment := func(after time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(after))) }
	once := func(until *metav1.Time) *criticalv2.Maintenance {
		return &criticalv2.Maintenance{Spec: criticalv2.MaintenanceSpec{Until: until}}
	}
	recurring := func(since, until time.Duration) *criticalv2.Maintenance {
		return &criticalv2.Maintenance{
			Spec:   criticalv2.MaintenanceSpec{Recurring: &criticalv2.Recurring{}},
			Status: criticalv2.MaintenanceStatus{Since: moment(since), Until: moment(until)},
		}
	}
	drill := once(moment(time.Hour))
	drill.Spec.Purpose = criticalv2.PurposeDrill
	deleted := once(nil)
	deleted.DeletionTimestamp = moment(0)
	for sentence, c := range map[string]struct {
		m         *criticalv2.Maintenance
		announces bool
		over      bool
	}{
		"one without an end always":                        {once(nil), true, false},
		"one before its end":                               {once(moment(time.Second)), true, false},
		"one at its end, while the application comes back": {once(moment(0)), true, true},
		"not one that ended five minutes ago":              {once(moment(-criticalv2.MaintenanceGrace)), false, true},
		"not a drill":                                      {drill, false, false},
		"not one that is about to be deleted":              {deleted, false, false},
		"a window that runs":                               {recurring(-time.Hour, time.Hour), true, false},
		"a window that ended a minute ago":                 {recurring(-time.Hour, -time.Minute), true, true},
		"not a window that ended an hour ago":              {recurring(-2*time.Hour, -time.Hour), false, true},
		"not a window that is to come":                     {recurring(time.Hour, 2*time.Hour), false, false},
		"not one whose windows are not known yet":          {&criticalv2.Maintenance{Spec: criticalv2.MaintenanceSpec{Recurring: &criticalv2.Recurring{}}}, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(c.m.Announces(now)).To(Equal(c.announces))
			g.Expect(c.m.IsOver(now)).To(Equal(c.over))
		})
	}
}
