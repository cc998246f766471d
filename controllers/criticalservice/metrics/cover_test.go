package metrics

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestTheLatestOutageIsComparedWithWhatIsUsual(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	const never = -time.Second
	for name, test := range map[string]struct {
		// covers are how long it took in each outage, the latest first, which began so long ago; then one a day.
		began  time.Duration
		covers []time.Duration
		want   cover
	}{
		"the median of the earlier ones is usual": {
			began: time.Minute, covers: []time.Duration{9 * time.Second, time.Second, 60 * time.Second, 2 * time.Second},
			want: cover{last: 9 * time.Second, usual: 2 * time.Second, isKnown: true},
		},
		"standbys that answer at once": {
			began: time.Minute, covers: []time.Duration{0, 0, 0, 0}, want: cover{isKnown: true},
		},
		"an earlier one in which nothing answered does not count": {
			began: time.Minute, covers: []time.Duration{4 * time.Second, never, 3 * time.Second, 1, 2 * time.Second},
			want: cover{last: 4 * time.Second, usual: 2 * time.Second, isKnown: true},
		},
		"two are too few to know":                  {began: time.Minute, covers: []time.Duration{9 * time.Second, 1, never, 1}},
		"nothing answers in the latest":            {began: time.Minute, covers: []time.Duration{never, 1, 1, 1}},
		"the latest is an hour ago":                {began: recent + 1, covers: []time.Duration{9 * time.Second, 1, 1, 1}},
		"a Service that never had an outage":       {},
		"the moment before the hour is over is in": {began: recent, covers: []time.Duration{1, 1, 1, 1}, want: cover{last: 1, usual: 1, isKnown: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var outages []criticalv2.Outage
			for i, took := range test.covers {
				began := now.Add(-test.began - time.Duration(i)*24*time.Hour)
				outage := criticalv2.Outage{Began: metav1.NewMicroTime(began)}
				if took != never {
					outage.Covered = new(metav1.NewMicroTime(began.Add(took)))
				}
				outages = append(outages, outage)
			}
			NewWithT(t).Expect(coverOf(outages, now)).To(Equal(test.want))
		})
	}
}
