// Package e2e tests the operator as its users meet it: deployed from its image in a real cluster,
// with real Pods and real requests through ClusterIPs and NodePorts.
//
// The tests are behind the build tag "e2e", because they need a cluster; 'make e2e' provides one and
// runs them. They must run on a node of the cluster (or where the Services' addresses are routed).
//
//	main_test.go         installs the operator, and finds out whether the tests can run at all
//	world_test.go        a scenario's own namespace, and what can be put into it
//	service_test.go      a Service, and what can be expected of it
//	critical_test.go     how it is declared critical, and what can be expected of its standby
//	application_test.go  a Service whose Pods can be lost in many ways
//	watch_test.go        requests, one by one or at a fixed rate, and who answered them
//	node_test.go         what is done on the node itself: to kill, to measure, to stop the API server
//	editor_test.go       a user with the role edit in one namespace, and what is written as that user
//	critsvc_test.go      the kubectl plugin as a program: its exit codes and documents
//	operator_test.go     the operator's own Pod: stop, start, freeze, kill, change its image
//	report_test.go       what is printed when a scenario fails
//
// All other files are scenarios. Settings of the operator hold for the whole process, and so there
// is one default PodTemplate for all scenarios: its Pod answers as "fallback" on the ports 80 and
// 8080, and runs as root, so that a namespace with Pod Security level "restricted" denies it.
package e2e
