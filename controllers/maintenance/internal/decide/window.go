package decide

import (
	"fmt"
	"time"
	_ "time/tzdata" // The operator's image has no zones of its own.

	"github.com/robfig/cron/v3"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// window is when a maintenance is announced.
type window struct {
	// since is when it begins; zero where no window runs or ended a moment ago.
	since time.Time
	// until is when it ends; zero is never.
	until time.Time
	// next is when the next one begins; zero is never.
	next time.Time
}

// isOver reports whether the end has come.
func (w *window) isOver(now time.Time) bool { return !w.until.IsZero() && !now.Before(w.until) }

// isExpired reports whether the end is so long ago that the application is no longer
// waited for.
func (w *window) isExpired(now time.Time) bool {
	return !w.until.IsZero() && !now.Before(w.until.Add(criticalv2.MaintenanceGrace))
}

func windowOf(m *criticalv2.Maintenance, now time.Time) (window, error) {
	if m.Spec.Recurring != nil {
		return recurring(m.Spec.Recurring, now)
	}
	w := window{since: m.CreationTimestamp.Time}
	if m.Spec.Until != nil {
		w.until = m.Spec.Until.Time
	}
	return w, nil
}

// fields are those of a CronJob, and the library is that of Kubernetes.
var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// recurring is the window that runs, or ended so short a time ago that the application is
// still waited for, and the next one. Windows that touch or overlap are refused: what would
// be announced has no end.
func recurring(r *criticalv2.Recurring, now time.Time) (window, error) {
	schedule, err := fields.Parse(r.Schedule)
	if err != nil {
		return window{}, fmt.Errorf("spec.recurring.schedule: %q is not a schedule of five cron fields, such as \"0 2 * * SUN\": %w", r.Schedule, err)
	}
	zone, err := time.LoadLocation(r.TimeZone)
	if err != nil {
		return window{}, fmt.Errorf("spec.recurring.timeZone: %q is not a zone of the IANA database, such as Europe/Berlin", r.TimeZone)
	}
	length := r.Duration.Duration
	w := window{next: schedule.Next(now.In(zone).Add(-length - criticalv2.MaintenanceGrace))}
	for {
		if w.next.IsZero() && w.since.IsZero() {
			return window{}, fmt.Errorf("spec.recurring.schedule: %q is at no time within the next five years", r.Schedule)
		}
		following := schedule.Next(w.next)
		if end := w.next.Add(length); !following.IsZero() && !following.After(end) {
			return window{}, fmt.Errorf("spec.recurring: a window of %s that begins at %s does not end before the next one begins: choose a shorter duration, or a schedule with more time between",
				length, w.next.Format(time.RFC3339))
		}
		if w.next.IsZero() || w.next.After(now) {
			return w, nil
		}
		w = window{since: w.next, until: w.next.Add(length), next: following}
	}
}
