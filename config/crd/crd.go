// Package crd holds the CustomResourceDefinition that is generated from api/.
package crd

import _ "embed"

// CriticalServices is the CustomResourceDefinition of CriticalServices, as YAML.
//
//go:embed bases/mycrd.com_criticalservices.yaml
var CriticalServices []byte
