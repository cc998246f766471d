// Package diagnosis says why a Service has no ready endpoint of its own.
//
// Diagnose turns Evidence, which package evidence reads, into one sentence that
// names the object. It is pure: the same Evidence gives the same sentence, in
// whichever order its lists are.
//
// A wrong guess costs the person on call more than none. So every sentence says
// only what an object of the cluster says now, and what cannot be read proves
// nothing: where a list is incomplete, nothing is concluded from what is not in it.
//
// Causes are asked for from the most specific to the most general:
//
//	pods.go        live Pods, the cause that most of them have:
//	containers.go  image, configuration, memory, crashes, init containers
//	probes.go      startup, readiness and liveness probes
//	ports.go       a named targetPort that no Pod has
//	workloads.go   what should make Pods: refused, scaled to zero
//	scale.go       what scaled it to zero
//	labels.go      a selector that matches nothing, and the nearest labels
//	words.go       one line, no secrets; what texts of Kubernetes say
package diagnosis
