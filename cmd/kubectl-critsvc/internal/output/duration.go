package output

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Age is how long ago something was, as kubectl says it.
func Age(then, now time.Time) string {
	if then.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(then))
}

// Took is a duration of which parts of a second matter while it is short.
func Took(took time.Duration) string {
	switch {
	case took < 0:
		return "0s"
	case took < time.Second:
		return took.Round(time.Millisecond).String()
	case took < 10*time.Second:
		return took.Round(100 * time.Millisecond).String()
	default:
		return duration.HumanDuration(took)
	}
}
