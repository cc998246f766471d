// Package autoscale puts a responder of a real cluster under load until Kubernetes' own
// autoscaler has added Pods, takes the load away, and waits until they are gone. Every
// request on the way has an answer. `make autoscale` runs it; the cluster has metrics-server.
package autoscale
