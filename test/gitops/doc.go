// Package gitops holds docs/gitops.md to what Argo CD and Flux make of objects that the
// operator's code wrote: it runs the Lua and the expressions of the page, and kstatus.
package gitops
