package selftest

import (
	"hash/crc32"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
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

// answerOf is what is known of the fallback Pod of a Service after a test: that it has answered on every port, and that it
// answers on none any more. One that never answered is not silent: what it runs does not listen there, and another one
// would not either.
func answerOf(pods []corev1.Pod, questions []question, silent, confirmed []silence, last memory.Answer) memory.Answer {
	for i := range pods {
		pod := pods[i].UID
		asked := count(questions, func(q question) bool { return q.isAbout(pod) })
		isAbout := func(s silence) bool { return s.isAbout(pod) }
		switch {
		case asked == 0:
		case count(silent, isAbout) == 0:
			return memory.Answer{Pod: pod}
		case last.Pod == pod && count(confirmed, isAbout) == asked:
			return memory.Answer{Pod: pod, Fell: true}
		}
	}
	return last
}

func count[E any](all []E, counts func(E) bool) (number int) {
	for _, each := range all {
		if counts(each) {
			number++
		}
	}
	return number
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
	// isNews is true if the check is to be remembered, and the status must change.
	isNews bool
	// event is the reason of the event that it is worth; empty if none.
	event string
}

// compare compares a check with the last one; before the first one, the status counts.
// The last one stays where the same is silent in the same way: a server may word its
// answer differently each time.
func compare(last *summary.Check, check summary.Check, reportedSilent bool) comparison {
	wasSilent, isSilent := reportedSilent, check.Silence != nil
	if last != nil {
		wasSilent = last.Silence != nil
		if last.Same(&check) {
			return comparison{}
		}
	}
	switch {
	case isSilent && !wasSilent:
		return comparison{isNews: true, event: criticalv2.ConditionReasonStandbySilent}
	case wasSilent && !isSilent && check.Asked > 0:
		return comparison{isNews: true, event: criticalv2.ConditionReasonStandbyAnswers}
	default:
		return comparison{isNews: true}
	}
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
