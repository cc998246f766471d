// Package checkup judges, before an outage, whether the next failover will work: it
// turns what was read of a cluster into findings. It is pure: it reads nothing, and
// the same World gives the same findings.
package checkup
