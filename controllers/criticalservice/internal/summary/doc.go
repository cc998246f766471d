// Package summary projects what was decided about Services into the status of a
// CriticalService: counts, conditions, details, and the history of outages.
//
// It is pure: no client, no clock, no log, no error. What must be remembered is in the
// status that was written before.
package summary
