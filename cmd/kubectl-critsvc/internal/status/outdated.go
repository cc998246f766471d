package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// late names the Services of which the endpoints say something else than the
// status, as they do for a moment at each change, and for good if the operator does
// not run.
func (v *View) late() []string {
	var notices []string
	for i := range v.Services {
		service := &v.Services[i]
		down := service.State == criticalv2.StateExposed || service.State == criticalv2.StateCovered
		name := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
		const hint = "the operator is about to see it, or it does not run (see `kubectl critsvc doctor`)."
		switch {
		case service.Outdated:
			notices = append(notices, fmt.Sprintf("Service %s has no ready endpoint, and its status still says %s: %s", name, service.State, hint))
		case down && service.Endpoints != nil && service.Endpoints.Ready > 0:
			notices = append(notices, fmt.Sprintf("Service %s has a ready endpoint again, and its status still says %s: %s", name, service.State, hint))
		}
	}
	return notices
}
