// Package olmv1 has the manifests of OLM v1 as the devcluster runs it, and of
// cert-manager, which makes its certificates.
package olmv1

import _ "embed"

//go:embed cert-manager.yaml
var certManager []byte

//go:embed olmv1.yaml
var manifests []byte

// Stage is what is applied at once. Its Deployments must run before the next one.
type Stage struct {
	Name      string
	Namespace string
	Manifests []byte
}

// Stages in the order in which they are applied, and, the other way, removed.
func Stages() []Stage {
	return []Stage{
		{Name: "cert-manager", Namespace: "cert-manager", Manifests: certManager},
		{Name: "OLM v1", Namespace: "olmv1-system", Manifests: manifests},
	}
}
