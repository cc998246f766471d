// Package webapp runs WebApps: Pods behind a Service of the name of each, and a Database.
//
//	WebApp, its AppConfig ────────────┐                     ServiceFallback ──▶ the core
//	Deployment, Pods, Service, ───────┼──▶ webapp ───────▶ Deployment, Service, PodDisruptionBudget
//	 PodDisruptionBudget, Database    │    controller       Database ──▶ the database controller
//	ServiceFallback, autoscalers ─────┤    key: the WebApp  its status, events
//	the traffic (internal/traffic) ───┘
//
// The four verbs are those of every kind: observe, decide (pure: internal/decide, and
// internal/scale for how many Pods the traffic needs), apply, report.
//
// # State
//
// There is none but the objects, and the traffic of the last minutes: an operator that starts takes
// no Pod away before it has seen the traffic of five minutes itself.
package webapp
