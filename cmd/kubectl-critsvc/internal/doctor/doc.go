// Package doctor is `kubectl critsvc doctor`: it checks an installation and its
// Services before the outage, and reports what would block the next failover.
//
//	collect ─▶ checkup.World ─▶ checkup.Examine ─▶ checkup.Report ─▶ print
//
// What the user may not read is a finding of its own, and no error.
package doctor
