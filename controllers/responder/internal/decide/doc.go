// Package decide is the brain of this kind, and knows nothing of the world but
// what a Snapshot tells it: it turns the Snapshot of a namespace into a Plan.
//
// It is pure. It reads no API, writes nothing, logs nothing, knows no clock and
// cannot fail; the same Snapshot, in whatever order its lists are, gives the
// same Plan. All tests of it are tables and properties.
//
// decide.go has the order in which questions are asked, table.go which port
// stands in for which port of a Service, pages.go what the slices ask for, and
// drift.go whether an object is as it must be.
package decide
