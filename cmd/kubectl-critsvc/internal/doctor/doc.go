// Package doctor is `kubectl critsvc doctor`: it looks at an installation and its
// Services before the outage, and tells what would hinder the next failover.
//
//	collect ─▶ checkup.World ─▶ checkup.Examine ─▶ checkup.Report ─▶ print
//
// What the user may not read is a finding of its own, and no error.
package doctor
