// Package responder runs, in every namespace that asks for it, the responder: the
// Pods that answer in the place of critical Services.
//
// # Terms
//
// A standby slice is an EndpointSlice of the operator's that says what answers
// for a Service when nothing of its own does. Where that is a page, the request slice
// of the Service carries the page and asks for the responder, and a Pod slice for each
// Pod of the responder publishes it. The responder listens on a range
// of ports; a listener is one of them, and stands in for one port of one Service.
// The table, in a ConfigMap, says which for which. Content is what a team wants
// to be shown, in a ConfigMap of its own.
//
// # Who wakes whom
//
//	EndpointSlice (standby, page) ──┐
//	Service (ports) ────────────────┤                        ConfigMap (table)
//	ConfigMap (table, content) ─────┼──▶ responder ────────▶ Deployment
//	Deployment, PodDisruptionBudget ┤    controller          PodDisruptionBudget
//	HorizontalPodAutoscaler ────────┤    key: the Namespace  HorizontalPodAutoscaler
//	Pod (the responder's) ──────────┤                        Pod (one annotation,
//	EndpointSlice (of a Pod) ───────┘                             one condition)
//
// The controller of Services publishes the slices. It takes the ports from the
// table and the endpoints from the responder's Pods; neither controller knows the
// other, they talk through these objects. This one never writes a slice. A Deployment
// that has come up with a new version wakes namespaces that wait for that.
//
// The four verbs are those of every kind:
//
//	observe   read everything that matters into a Snapshot
//	decide    turn the Snapshot into a Plan (pure, internal/decide)
//	apply     write what the Plan says
//	report    events, logs
//
// # What a Pod listens on
//
// From its start, a Pod listens on every port of the range that its annotation
// names, and its probes succeed only when it does. So a new Service needs no rollout,
// and "ready" means that the Service's port is open. Only a range that is full
// grows, up to fourfold, by a rollout that starts the new Pods before it ends the old ones.
// The ranges of namespaces do not overlap while there is room beside them.
//
// # When a Pod may go
//
// A Pod is ready once it is published wherever any other is: its readiness gate. So
// no rollout and no eviction takes the last Pod that is published, though no operator
// may be there to publish another.
//
// # What is remembered, and where
//
// Which port stands in for what is remembered in the table, and if that is lost
// in the slices; the range, the version of the Pods and the last nudge in the
// Deployment. Only the API server's result of the last write, and what was decided and
// the cache does not show yet, are kept in memory: they can be found out again.
package responder
