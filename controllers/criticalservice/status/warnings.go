package status

import (
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// warning is a Warning event that a change of the status is worth.
type warning struct {
	// service is the one that it is about; nil if it is about the CriticalService.
	service         *types.NamespacedName
	reason, message string
}

// warnings are those for every problem that is new, and for every outage that begins
// with a problem. A PodTemplate that does not exist is a problem of the CriticalService,
// reported once for all its Services; each outage that it makes worse is one of a Service.
func warnings(before, after []criticalv2.ServiceStatus) []warning {
	known := map[types.NamespacedName]criticalv2.ServiceStatus{}
	templateMissing := false
	for _, detail := range before {
		known[keyOf(detail)] = detail
		templateMissing = templateMissing || detail.Reason == criticalv2.ReasonTemplateNotFound
	}
	var found []warning
	for _, detail := range after {
		key := keyOf(detail)
		last := known[key]
		begins := detail.State == criticalv2.StateExposed && last.State != criticalv2.StateExposed
		if !protection.NeedsAction(detail.Reason) || detail.Reason == last.Reason && !begins {
			continue
		}
		ofTemplate := detail.Reason == criticalv2.ReasonTemplateNotFound
		switch {
		case !ofTemplate, templateMissing && begins:
			found = append(found, warning{&key, detail.Reason, detail.Message})
		case !templateMissing:
			found = append(found, warning{nil, detail.Reason, detail.Message})
			templateMissing = true
		}
	}
	return found
}

func keyOf(detail criticalv2.ServiceStatus) types.NamespacedName {
	return types.NamespacedName{Namespace: detail.Namespace, Name: detail.Name}
}
