// Package v2 is the contract of the CriticalService kind: which Services are
// critical, what answers in their place, and what the operator reports about
// them. It is the storage version, and the hub that other versions convert to.
//
// It holds types, the vocabulary of states, reasons and conditions, and the
// names that the operator writes on other objects. It imports no client, so
// that any project may use it.
//
// +kubebuilder:object:generate=true
// +groupName=mycrd.com
package v2
