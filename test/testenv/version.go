package testenv

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Version is that of an API server, for example "v1.37.1".
func Version(of *rest.Config) (string, error) {
	clients, err := discovery.NewDiscoveryClientForConfig(of)
	if err != nil {
		return "", err
	}
	server, err := clients.ServerVersion()
	if err != nil {
		return "", err
	}
	return server.GitVersion, nil
}

// IsSince reports whether an API server has a minor version of Kubernetes, or a later one.
func IsSince(of *rest.Config, minor string) (bool, error) {
	server, err := Version(of)
	return err == nil && !version.MustParseGeneric(server).LessThan(version.MustParseGeneric(minor)), err
}

// Since skips a test where the API server is older than a minor version of Kubernetes that has what it needs.
func Since(t testing.TB, of *rest.Config, minor, what string) {
	t.Helper()
	since, err := IsSince(of, minor)
	if err != nil {
		t.Fatal(err)
	}
	if !since {
		t.Skipf("this API server has no %s, as Kubernetes %s has", what, minor)
	}
}

// Since is Since of its API server.
func (c *Cluster) Since(t testing.TB, minor, what string) {
	t.Helper()
	Since(t, c.Admin, minor, what)
}
