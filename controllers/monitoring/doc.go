// Package monitoring keeps the objects by which Prometheus and Grafana know the operator: a
// ServiceMonitor, a PodMonitor of the responders, the alerts and the dashboard, all in the
// operator's namespace.
//
// They are there while there is a CriticalService or a ServiceFallback, and a kind of the
// Prometheus operator. That one may be installed at any time, so that its kinds are not
// watched: they are looked for, and the objects repaired, every few minutes.
//
// The objects have no owner. One of a policy would be wrong, since all policies share them, and
// with the operator's Deployment the alert would go that reports it missing.
package monitoring
