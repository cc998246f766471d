// Package made checks what `make release` has made, in the folder DIST: the images of every architecture, what is in them,
// and that all of it is signed and verified by the documented commands. `make release-check` runs it, and `make release-test`
// makes a release for it. Nothing but a registry on this machine is asked.
package made
