// Package testenv runs controllers against a real API server.
//
// One etcd and one kube-apiserver serve a whole test package. There are no nodes
// and no controllers but the ones under test: what kubelet, endpoint controller
// and garbage collector would do, a test does by hand, so that it decides what
// happens and in which order. The controllers run under the permissions that
// config/rbac gives the operator, not as an administrator.
//
// It knows no kind: the test package says what to run.
package testenv
