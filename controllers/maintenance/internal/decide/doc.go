// Package decide computes a Plan from a Snapshot of one announced maintenance. It is
// pure: no client, no clock, no log.
package decide
