// Package v1 is the first version of the CriticalService kind, as the source
// article has it: which Services are critical. It stays served, and converts to
// v2 and back without loss.
//
// +kubebuilder:object:generate=true
// +groupName=mycrd.com
package v1
