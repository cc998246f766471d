package invariant

import (
	"fmt"
	"time"
)

// Breach is a finding that was there for too long.
type Breach struct {
	Finding
	// Since is when it was found first, without an interruption since.
	Since, At time.Time
}

// String is a breach in one line.
func (b Breach) String() string {
	return fmt.Sprintf("%s, since %s, that is %s", b.Finding, b.Since.UTC().Format(time.TimeOnly), b.At.Sub(b.Since).Truncate(time.Second))
}

// Ledger remembers since when something has been found. The zero value has found nothing.
type Ledger struct {
	since map[about]time.Time
}

// about identifies what is found from look to look: its limit may change with a policy.
type about struct{ invariant, subject string }

// Add takes the findings of the next look, and returns those that have been there for too long.
func (l *Ledger) Add(at time.Time, findings []Finding) []Breach {
	since := map[about]time.Time{}
	var breaches []Breach
	for _, finding := range findings {
		key := about{finding.Invariant, finding.Subject}
		if since[key] = at; !l.since[key].IsZero() {
			since[key] = l.since[key]
		}
		if at.Sub(since[key]) >= finding.Limit {
			breaches = append(breaches, Breach{finding, since[key], at})
		}
	}
	l.since = since
	return breaches
}
