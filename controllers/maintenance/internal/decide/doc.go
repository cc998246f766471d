// Package decide says what is to be done about one announced maintenance: from a
// Snapshot of all that matters to a Plan of what is to be written. It is pure: no
// client, no clock, no log.
package decide
