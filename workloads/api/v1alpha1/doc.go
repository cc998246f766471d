// Package v1alpha1 is the contract of the kinds of the workloads operator that may still change:
// ETCDInstance.
//
// It imports no client, so that any project may use it.
//
// +kubebuilder:object:generate=true
// +groupName=mycrd.com
package v1alpha1
