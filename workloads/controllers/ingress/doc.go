// Package ingress keeps annotations on Ingresses, and says on them which of their Services are on
// their fallback.
//
// It is off unless it is set and permitted: its permission is a component of config/ that is not
// installed otherwise. It touches no annotation but its own, by server-side apply, and never
// forces one that another has set.
//
//	Ingress (what decisions read of it) ──┐
//	standby EndpointSlice of the core, ───┼──▶ ingress ──▶ annotations of the Ingress, events
//	 mapped to the Ingresses by an index  │    controller
//	a place to write in the namespace ────┘    key: the Ingress
//
// The four verbs are those of every kind: observe, decide (pure, internal/decide), apply, report.
// There is no state but the objects: which annotations are the operator's is what the API server
// keeps in managedFields.
package ingress
