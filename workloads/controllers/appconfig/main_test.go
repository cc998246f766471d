package appconfig_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/internal/conversion"
)

var cluster *testenv.Cluster

func TestMain(m *testing.M) {
	testenv.MainOf(m, testenv.Installation{
		Config: "workloads/config", Namespace: "critical-service-workloads-system", Account: workloadsv1.ManagedBy,
		Definitions: []string{"config/crd/bases"}, Policies: []string{"own.yaml", "pods.yaml"}, Conversion: conversion.Handler,
	}, scheme, &cluster, func(context.Context) error { return nil })
}

func scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, criticalv2.AddToScheme, workloadsv1.AddToScheme, workloadsv2.AddToScheme)
	return scheme, add.AddToScheme(scheme)
}
