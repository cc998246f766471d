// Package version tells which build of the operator is running. The Makefile
// links the values in.
package version

// Version is the released version, or "dev".
var Version = "dev"

// Commit is the Git commit that the binary was built from.
var Commit = "unknown"
