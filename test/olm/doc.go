// Package olm tests the operator as it comes out of its catalog: installed, upgraded and removed by a
// real Operator Lifecycle Manager, with real images, Pods and requests.
//
// The tests are behind the build tag "e2e", because they need a cluster with OLM and a registry under
// the images' real names; 'make e2e-olm' provides both, on the devcluster, and runs them. Each test is
// one story, whose stages follow from one another. A story begins and ends with a cluster in which
// nothing of the operator is left, so that each can be run alone, and again after a failure.
//
//	main_test.go          finds out whether the tests can run at all
//	world_test.go         a story: its namespaces, its stages, and how it is swept away
//	guide_test.go         what docs/install.md and docs/workloads.md tell a user to do, done
//	install_test.go       what OLM makes of it: versions, approval, the operator's Pods
//	service_test.go       a Service, and what can be expected of it
//	maintenance_test.go   a Maintenance that owes an application its replicas
//	extension_test.go     what OLM v1 makes of it
//	watch_test.go         requests at a fixed rate, and who answered them
//	condition_test.go     every value that the Upgradeable condition takes
//	certificate_test.go   the certificate that OLM makes, and that the operator serves
//	inventory_test.go     everything that is in the cluster, to see what is left of the operator
//	program_test.go       operator-sdk and hack/run-bundle.sh, as a user runs them
//	scorecard_test.go     its tests of the bundle
//	report_test.go        what is printed when a story fails
//
// All other files are stories.
package olm
