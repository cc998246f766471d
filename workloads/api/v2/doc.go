// Package v2 is the second version of AppConfig: the hub that other versions convert to, and the
// version that is stored.
//
// It imports no client, so that any project may use it.
//
// +kubebuilder:object:generate=true
// +groupName=mycrd.com
package v2
