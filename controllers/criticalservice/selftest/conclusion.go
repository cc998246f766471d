package selftest

import (
	"hash/crc32"
	"time"

	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
)

// What follows from a test is decided here. These functions are pure.

// confirm returns the silent ones that were silent the last time, too, and the
// questions that may be confirmed the next time.
func confirm(silent []silence, last map[string]bool) (confirmed []silence, unconfirmed map[string]bool) {
	unconfirmed = map[string]bool{}
	for _, s := range silent {
		unconfirmed[s.id()] = true
		if last[s.id()] {
			confirmed = append(confirmed, s)
		}
	}
	return confirmed, unconfirmed
}

// isConclusive reports whether a test says something: not where all that is silent was
// not silent before.
func isConclusive(silent, confirmed []silence) bool {
	return len(silent) == 0 || len(confirmed) > 0
}

// nextTest is how long it is until the next test of a standby.
func nextTest(key types.NamespacedName, now time.Time, every time.Duration, silent, confirmed []silence) time.Duration {
	switch {
	case !isConclusive(silent, confirmed):
		return min(secondLook, every)
	case len(confirmed) > 0:
		return min(silentLook, every)
	default:
		return untilTurn(now, key, every)
	}
}

// comparison is what a check says that the last one did not.
type comparison struct {
	// check is the one to remember.
	check decide.Check
	// isNews is true if the status must change.
	isNews bool
	// event is the reason of the event that it is worth; empty if none.
	event string
}

// compare compares a check with the last one; before the first one, the status counts.
func compare(last *decide.Check, check decide.Check, reportedSilent bool) comparison {
	wasSilent, isSilent := reportedSilent, check.Problem != ""
	if last != nil {
		wasSilent = last.Problem != ""
		if sameProblem(last.Problem, check.Problem) {
			check.Problem = last.Problem // A server may have other words for it each time.
		}
	}
	result := comparison{check: check}
	if last != nil && last.Problem == check.Problem && (last.Asked == 0) == (check.Asked == 0) {
		return result
	}
	result.isNews = true
	switch {
	case isSilent && !wasSilent:
		result.event = criticalv2.ConditionReasonStandbySilent
	case wasSilent && !isSilent && check.Asked > 0:
		result.event = criticalv2.ConditionReasonStandbyAnswers
	}
	return result
}

// untilTurn spreads the tests of many Services evenly over the interval: each has
// a moment of its own in it, which depends on nothing but its name.
func untilTurn(now time.Time, key types.NamespacedName, every time.Duration) time.Duration {
	moment := int64(float64(every) / (1 << 32) * float64(crc32.ChecksumIEEE([]byte(key.String()))))
	past := (now.UnixNano() - moment) % int64(every)
	if past < 0 {
		past += int64(every)
	}
	wait := every - time.Duration(past)
	if wait < every/2 {
		wait += every // It was tested just now.
	}
	return wait
}
