package checkup

import (
	"fmt"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

const checkAPIs = "apis"

// API is an APIService of the workloads operator.
type API struct {
	Name string
	// Unavailable is why the API server gets no answer; empty if it does.
	Unavailable string
}

// apis looks for APIs that are turned on, and that no one answers.
func apis(w *World) (findings []Finding) {
	if w.APIs.Problem != "" {
		return unchecked(checkAPIs, "the APIs of the workloads operator: "+w.APIs.Problem, "run it with the right to get apiservices (apiregistration.k8s.io)")
	}
	for _, api := range w.APIs.Value {
		if api.Unavailable == "" {
			findings = append(findings, ok(checkAPIs, fmt.Sprintf("APIService %s is available", api.Name))...)
			continue
		}
		findings = append(findings, Finding{
			Check: checkAPIs, Severity: Warning, What: fmt.Sprintf("APIService %s is not available: %s", api.Name, api.Unavailable),
			Why: "while an API does not answer, Kubernetes does not finish the deletion of any namespace",
			Fix: fmt.Sprintf("start the workloads operator, or turn the API off by kubectl delete apiservice %s: %setcd-backup.md", api.Name, output.Docs),
		})
	}
	return findings
}
