// Package e2e tests the workloads operator as its users meet it: deployed from its image in a real cluster, beside the
// operator that protects Services.
//
// The tests are behind the build tag "e2e", because they need a cluster; 'make e2e-workloads' provides one and runs
// them. They must run on a node of the cluster (or where the Services' addresses are routed).
package e2e
