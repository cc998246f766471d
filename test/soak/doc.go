// Package soak lets an operator, deployed from its image in a real cluster, live for hours with faults every few
// seconds, while clients ask the Services that it protects all the time.
//
// It is behind the build tag "e2e", because it needs a cluster, and runs on a node of it: 'make soak'. What decides is
// pure and in packages of its own, with tests that need none: fault (what happens when), invariant (what must hold) and
// figures (the report).
//
//	soak_test.go         the run: settle, inject, look, settle again
//	main_test.go         its settings; installs the operator
//	world_test.go        the namespace, and an application for each Service
//	protection_test.go   how each Service is protected: every kind of fallback
//	injection_test.go    how each kind of fault is done
//	look_test.go         reads what the invariants are held against
//	traffic_test.go      the clients
//	operator_test.go     what the operator uses
package soak
