// Package v1 is the contract of the kinds that the workloads operator runs: databases, and the
// first version of the configuration of an application.
//
// It imports no client, so that any project may use it.
//
// +kubebuilder:object:generate=true
// +groupName=mycrd.com
package v1
