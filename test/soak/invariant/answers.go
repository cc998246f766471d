package invariant

import "time"

// ofLate is how many of the latest requests count: those of a second, at the rate of the soak's clients.
const ofLate = 100

// Answers are those that the clients of one Service got of late. Before the first request all were answered.
type Answers struct {
	// failed says of the latest requests, the next of which takes the place of the oldest, whether they were not answered.
	failed        [ofLate]bool
	next, failing int
	latest        time.Time
}

// AnsweredAt are those of a Service that was answered at some moment, and of which nothing else is known.
func AnsweredAt(moment time.Time) *Answers { return &Answers{latest: moment} }

// Add adds what came of a request.
func (a *Answers) Add(sent time.Time, answered bool) {
	if a.failed[a.next] {
		a.failing--
	}
	if !answered {
		a.failing++
	}
	a.failed[a.next] = !answered
	a.next = (a.next + 1) % ofLate
	if answered && a.failing <= ofLate/2 {
		a.latest = sent
	}
}

// Latest is when the latest request was sent that was answered, like at least half of those of the second before it. A Service
// that loses most requests is not answered.
func (a *Answers) Latest() time.Time { return a.latest }
