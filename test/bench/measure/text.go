package measure

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Percentile is the smallest of some times that at least so many percent do not exceed.
func Percentile(times []time.Duration, percent float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	rank := int(math.Ceil(percent / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// Percentiles are the 50th, the 99th and the greatest of some times.
func Percentiles(times []time.Duration) string {
	if len(times) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f / %.2f / %s", Percentile(times, 50).Seconds(), Percentile(times, 99).Seconds(), Seconds(Percentile(times, 100)))
}

// Seconds is a time as the tables say it.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// Mebibytes is an amount of memory as the tables say it.
func Mebibytes(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
