package invariant

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestOnlyWhatIsFoundForTooLongIsABreach(t *testing.T) {
	finding := Finding{Demoted, shop, 3 * time.Second}
	other := Finding{Demoted, "Service cart", 3 * time.Second}
	longer := Finding{Demoted, shop, 10 * time.Second}
	never := Finding{Untouched, shop, 0}
	tests := map[string]struct {
		// looks are a second apart.
		looks [][]Finding
		// want is what the last look has, since which second.
		want map[Finding]int
	}{
		"for less than its limit it may be found":      {looks: [][]Finding{{finding}, {finding}, {finding}}},
		"for its limit it may not":                     {looks: [][]Finding{nil, {finding}, {finding}, {finding}, {finding}}, want: map[Finding]int{finding: 1}},
		"an interruption begins it again":              {looks: [][]Finding{{finding}, {finding}, nil, {finding}, {finding}, {finding}}},
		"each Service has a time of its own":           {looks: [][]Finding{{finding}, {finding}, {other}, {finding, other}}},
		"a limit that changes does not begin it again": {looks: [][]Finding{{longer}, {longer}, {longer}, {finding}}, want: map[Finding]int{finding: 0}},
		"the limit is that of the last look":           {looks: [][]Finding{{finding}, {finding}, {finding}, {longer}}},
		"without a limit it may never be found":        {looks: [][]Finding{{never}}, want: map[Finding]int{never: 0}},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			ledger, breaches := Ledger{}, map[Finding]int{}
			for second, findings := range test.looks {
				clear(breaches)
				for _, breach := range ledger.Add(now.Add(time.Duration(second)*time.Second), findings) {
					breaches[breach.Finding] = int(breach.Since.Sub(now).Seconds())
				}
			}
			NewWithT(t).Expect(breaches).To(HaveLen(len(test.want)))
			for finding, since := range test.want {
				NewWithT(t).Expect(breaches).To(HaveKeyWithValue(finding, since))
			}
		})
	}
}

func TestABreachSaysWhatWhereAndForHowLong(t *testing.T) {
	breach := Breach{Finding{Demoted, shop, 30 * time.Second}, now, now.Add(31 * time.Second)}
	NewWithT(t).Expect(breach.String()).To(Equal(`Service shop: "a fallback is promoted only while the Service has no ready endpoint of its own" ` +
		"does not hold (allowed for 30s), since 12:00:00, that is 31s"))
}
