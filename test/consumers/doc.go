// Package consumers runs real programs that read the endpoints of Services, so that tests can see
// with real requests what each of them does with a standby endpoint.
//
// Some consumers honour a standby: they send traffic to an endpoint that is not ready, but serving
// and terminating, once the Service has no ready endpoint left. The others look at ready endpoints
// only, and need the standby promoted. Which is which is the table in honours_test.go: it is
// asserted stage by stage, with slices published by hand and no operator in the cluster.
//
//	proxy.go      an ingress controller as a process of this machine
//	traefik.go    Traefik
//	haproxy.go    HAProxy Ingress, with Debian's HAProxy
//	ingress.go    its class, and an Ingress through it
//	outside.go    a client outside the cluster, in a network namespace of its own
//	dns.go        the cluster's DNS
//	kubeproxy.go  which mode kube-proxy is in
//	answer.go     one request, and who answered it
//	build.sh      builds the ingress controllers into bin/consumers, once
//
// The programs run outside the cluster, with its kubeconfig: they need no image, and the Pods'
// addresses are routed on a node. The tests are behind the build tag "e2e", need root and Linux, and
// must not run at the same time as other tests: names of the machine are theirs.
package consumers
