// Package grafana holds the dashboard.
package grafana

import _ "embed"

// File is the name of the dashboard in its ConfigMap.
const File = "critical-service-operator.json"

// Dashboard is the dashboard, as JSON.
//
//go:embed critical-service-operator.json
var Dashboard string
