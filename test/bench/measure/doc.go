// Package measure is how the benchmarks of both operators read what an operator costs, from
// /proc and from metrics, and how they say it.
//
//	process.go   CPU and memory of a process
//	requests.go  metrics, and requests among them
//	gauges.go    memory and goroutines among them
//	machine.go   where it was measured
//	verdict.go   what was to hold, and did
//	text.go      times and sizes, as the tables have them
package measure
