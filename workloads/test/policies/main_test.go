package policies_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/testenv"
	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/internal/conversion"
	"github.com/critical-service/operator/workloads/internal/operator"
)

var cluster *testenv.Cluster

func TestMain(m *testing.M) {
	testenv.MainOf(m, testenv.Installation{
		Config: "workloads/config", Namespace: operator.Namespace, Account: operator.Name,
		Definitions: []string{"config/crd/bases"}, Conversion: conversion.Handler, Aggregates: true,
		// Without OwnerReferencesPermissionEnforcement, as most clusters are: it would refuse some attempts first.
		Flags: map[string]string{"enable-admission-plugins": "NamespaceLifecycle"},
	}, controllers.Scheme, &cluster, func(ctx context.Context) error { return apply(ctx, "workloads/config/ingress/role.yaml") })
}

// apply makes what a file has, and remove takes it away.
func apply(ctx context.Context, file string) error {
	return each(file, func(object client.Object) error { return cluster.Client.Create(ctx, object) })
}

func remove(ctx context.Context, file string) error {
	return each(file, func(object client.Object) error { return cluster.Client.Delete(ctx, object) })
}

func each(file string, do func(client.Object) error) error {
	objects, err := testenv.ReadYAML(testenv.Path(file))
	for _, object := range objects {
		if err == nil {
			err = do(object)
		}
	}
	return err
}

// stolen is a client with the operator's credentials, as an attacker has them.
func stolen(g Gomega) client.Client {
	config, err := clientcmd.RESTConfigFromKubeConfig(cluster.OperatorKubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	thief, err := client.New(config, client.Options{Scheme: cluster.Client.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	return thief
}
