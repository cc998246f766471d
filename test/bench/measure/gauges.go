package measure

import "fmt"

// Usage is what a process of the operator uses, as its metrics say.
type Usage struct {
	// Memory is its resident memory in bytes.
	Memory int64
	// Goroutines is how many it has.
	Goroutines int
}

// UsageOf reads a scrape of an operator.
func UsageOf(text []byte) (Usage, error) {
	const memory, goroutines = "process_resident_memory_bytes", "go_goroutines"
	found, err := Families(text, memory, goroutines)
	if err != nil {
		return Usage{}, err
	}
	values := map[string]float64{}
	for _, name := range []string{memory, goroutines} {
		samples := found[name].GetMetric()
		if len(samples) != 1 {
			return Usage{}, fmt.Errorf("the operator's metrics have %s %d times, and should have it once", name, len(samples))
		}
		values[name] = samples[0].GetGauge().GetValue()
	}
	return Usage{Memory: int64(values[memory]), Goroutines: int(values[goroutines])}, nil
}
