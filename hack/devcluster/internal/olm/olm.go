// Package olm is the Operator Lifecycle Manager as the devcluster runs it: its
// manifests, the images that it and operator-sdk use, and what it consists of in
// the cluster.
package olm

import (
	_ "embed"
)

// Namespaces of OLM's own: that of its components, and that for operators which
// watch the whole cluster.
const (
	Namespace          = "olm"
	OperatorsNamespace = "operators"
)

//go:embed olm.yaml
var manifests []byte

// Manifests are OLM's objects, its CustomResourceDefinitions excepted.
func Manifests() []byte { return manifests }
