// Package drill is `kubectl critsvc drill`: it proves that what stands by for a
// Service answers, on every port, without touching live traffic (a dry run); and with
// --live it makes a real outage, and measures what clients lost.
//
//	survey ─▶ prober Pod ─▶ lines of `responder probe` ─▶ dry run or measurement ─▶ write
//
// The questions are asked by a Pod inside the cluster, as clients would ask them. It
// runs the operator's image, has no token, and goes when the drill ends, or by its
// deadline.
package drill
