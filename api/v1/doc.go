// Package v1 is the contract of the CriticalService kind: which Services are
// critical, and what the operator reports about them.
//
// It holds types, the vocabulary of states, reasons and conditions, and the
// names that the operator writes on other objects. It imports no client, so
// that anybody may use it.
//
// +kubebuilder:object:generate=true
// +groupName=mycrd.com
package v1
