// Package e2e tests the workloads operator as its users meet it: deployed from its image in a real cluster, beside the
// operator that protects Services.
//
// The tests are behind the build tag "e2e", because they need a cluster; 'make e2e-workloads' provides one and runs
// them. They must run on a node of the cluster (or where the Services' addresses are routed).
//
//	main_test.go         installs both operators
//	world_test.go        a scenario's own namespace, and what is done with any object
//	database_test.go     a Database, and what can be expected of it
//	webapp_world_test.go a WebApp, and what can be expected of it
//	visitors_test.go     who asks a WebApp at a fixed rate, and what becomes of each request
//	client_test.go       the programs that people use: one statement, or a client that lives through outages
//
//	walkthrough_test.go  document 004, with its own YAML and commands
//	data_test.go         what is written outlives Pods and processes; two Databases do not mix
//	outage_test.go       what clients get while a Database is away
//	refused_test.go      what is refused in words, or said with its remedy, while what runs goes on
//	core_test.go         the operator without the one that protects Services, which comes and goes
//	operator_test.go     both replicas, killed in the middle of a replacement
//	appconfig_test.go    the exercise of document 002; rollouts; the page of a Service
//	webapp_test.go       WebApps: the seven fields, outages, what is refused, while what runs goes on
//	autoscaling_test.go, webapp_picture_test.go   their number of Pods follows the traffic, measured and drawn
//	webapp_survival_test.go  what an application made of one WebApp loses and survives, measured
//	webapp_document_test.go  the other exercise of document 002, as docs/webapp.md has it
//	etcd_test.go         members of an etcd that come and go under writes, and what is left without a quorum
//	etcd_snapshot_test.go, etcd_document_test.go   what is stored and restored, and document 003
//
// On the devcluster the engines are stand-ins under the official images' names (workloads/test/images): MariaDB for
// mysql:8.0, PostgreSQL 15 for postgres:16, and FerretDB for mongo:4.0. The same protocols and the same variables; the
// originals are not run there.
package e2e
