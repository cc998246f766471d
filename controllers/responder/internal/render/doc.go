// Package render makes the objects of a namespace's responder as they must be:
// the ConfigMap with the table of listeners, the Deployment, and the
// PodDisruptionBudget. It is pure: what is wanted does not depend on what is
// there.
package render
