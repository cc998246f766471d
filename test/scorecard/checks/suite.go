// Package checks are the core's scorecard tests: what each of them does, and what must come of it.
package checks

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/suite"
	"github.com/critical-service/operator/test/scorecard/world"
)

// Suite are the tests of the core.
var Suite = suite.Suite{
	Operator: world.Operator{
		Name: "critical-service-operator", Kind: &criticalv2.CriticalServiceList{}, Scheme: scheme,
		Evidence: []world.Listing{
			{Name: "criticalservices", List: &criticalv2.CriticalServiceList{}, ByLabel: true},
			{Name: "services", List: &corev1.ServiceList{}},
			{Name: "endpointslices", List: &discoveryv1.EndpointSliceList{}},
			{Name: "pods", List: &corev1.PodList{}},
			{Name: "deployments", List: &appsv1.DeploymentList{}},
			{Name: "configmaps", List: &corev1.ConfigMapList{}},
			{Name: "poddisruptionbudgets", List: &policyv1.PodDisruptionBudgetList{}},
			{Name: "events", List: &corev1.EventList{}},
		},
	},
	Checks: []suite.Check{
		{Name: "armed", Sentence: "A Service that a CriticalService matches becomes Armed.", Run: armed},
		{Name: "outage", Sentence: "A real outage is answered by the fallback.", Run: outage},
		{Name: "recovery", Sentence: "Recovery withdraws the fallback.", Run: recovery},
		{Name: "deletion", Sentence: "Deleting the CriticalService leaves nothing of the operator's.", Run: deletion},
		{Name: "refusal", Sentence: "Objects of the operator's kinds that are not valid are refused, with the documented message.", Run: refusal},
		{Name: "conversion", Sentence: "Both API versions convert, and every example of the bundle is accepted.", Run: conversion},
		{Name: "restricted", Sentence: "All that the operator makes conforms to Pod Security restricted.", Run: restricted},
	},
}

// scheme knows the kinds that the tests use.
func scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), criticalv1.AddToScheme(scheme), criticalv2.AddToScheme(scheme))
}
