package measure

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestPercentiles(t *testing.T) {
	g := NewWithT(t)
	var times []time.Duration
	for n := 200; n > 0; n-- {
		times = append(times, time.Duration(n)*time.Millisecond)
	}
	for percent, want := range map[float64]int{0: 1, 50: 100, 99: 198, 100: 200} {
		g.Expect(Percentile(times, percent)).To(Equal(times[200-want]), "%v", percent)
	}
	g.Expect(times[0]).To(Equal(200*time.Millisecond), "the input stays as it is")
	g.Expect(Percentile(nil, 99)).To(BeZero())
	g.Expect(Percentiles(times)).To(Equal("0.10 / 0.20 / 0.20 s"))
	g.Expect(Percentiles(nil)).To(BeEmpty())
}

func TestAProcessIsReadFromProc(t *testing.T) {
	g := NewWithT(t)
	started, cpu, err := parseStat("7 (a (b) c) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 9 0 12345 1000 20 18446744073709551615")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cpu).To(Equal(2 * time.Second))
	g.Expect(started).To(Equal(123450 * time.Millisecond))
	_, _, err = parseStat("7 (a) S 1")
	g.Expect(err).To(HaveOccurred())
	g.Expect(kibibytes("Name:\ta\nVmRSS:\t  2048 kB\n", "VmRSS:")).To(BeEquivalentTo(2 << 20))
	g.Expect(modelName("processor\t: 0\nmodel name\t: Fast (R)\n")).To(Equal("Fast (R)"))
}

func TestUsageIsReadFromMetrics(t *testing.T) {
	const goroutines = "# TYPE go_goroutines gauge\ngo_goroutines 312\ngo_goroutines_created_total 7\n"
	tests := map[string]struct {
		text, problem string
		usage         Usage
	}{
		"a scrape has both": {
			text:  goroutines + "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes 4.8234496e+07\n",
			usage: Usage{Memory: 48234496, Goroutines: 312},
		},
		"a scrape without one is an error": {text: goroutines, problem: "process_resident_memory_bytes 0 times"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			usage, err := UsageOf([]byte(test.text))
			if test.problem != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.problem)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(usage).To(Equal(test.usage))
		})
	}
}
