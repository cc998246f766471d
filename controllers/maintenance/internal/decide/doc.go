// Package decide decides how a maintenance goes on. It is pure: it reads only the
// Snapshot it is given, and changes nothing.
package decide
