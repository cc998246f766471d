// Package controllers is the one list of everything that the workloads operator runs.
package controllers

import (
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	criticalv2 "github.com/critical-service/operator/api/v2"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// Scheme knows every kind that a controller reads or writes, and every version that is served.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, criticalv2.AddToScheme, workloadsv1.AddToScheme, workloadsv2.AddToScheme)
	return scheme, add.AddToScheme(scheme)
}
