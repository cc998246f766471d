// Package nodes shows what becomes of critical Services when nodes are lost or drained: on a devcluster of three
// nodes, with the operator deployed from its image, while clients ask all the time.
//
// It is behind the build tag "e2e", because it needs the devcluster, whose nodes it switches off: 'make e2e-nodes'.
// The first node is the machine itself, with the control plane. It is drained, and never lost.
//
//	main_test.go     its settings; installs the operator
//	world_test.go    the namespace of a scenario, an application, a page
//	node_test.go     what is done to nodes
//	traffic_test.go  the clients, and what they missed
//	lost_test.go     a node is lost: with the application, with a responder, with the leading operator
//	drain_test.go    each node is drained in turn
//	spread_test.go   the operator's Pods are on different nodes
//	local_test.go    Services with a policy Local
package nodes
