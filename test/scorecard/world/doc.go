// Package world is what every scorecard test has of the cluster: a namespace of its own with an application,
// CriticalServices that match nothing else, and the means to look, to wait and to ask. All of it goes at the
// end, whatever the end is.
package world
