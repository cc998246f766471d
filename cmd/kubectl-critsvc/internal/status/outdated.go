package status

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
)

// doubts are the Services whose status says that they answer and whose endpoints say that
// they do not, with when that was first seen.
type doubts map[types.NamespacedName]time.Time

// holds reports whether it is too early to say of a Service that the operator does not
// seem to run. Without doubts it never is.
func (d doubts) holds(name types.NamespacedName, outdated bool, now time.Time) bool {
	if d == nil || !outdated {
		delete(d, name)
		return false
	}
	if _, known := d[name]; !known {
		d[name] = now
	}
	return now.Sub(d[name]) < endpoints.Noticing
}

// isLate reports whether the operator is about to report an outage.
func (v *View) isLate() bool {
	return slices.ContainsFunc(v.Services, func(s Service) bool { return s.late })
}

// outdated names the Services of which the endpoints say something else than the status.
func (v *View) outdated() []string {
	var notices []string
	for i := range v.Services {
		service := &v.Services[i]
		down := service.State == criticalv2.StateExposed || service.State == criticalv2.StateCovered
		name := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
		switch {
		case service.Outdated:
			notices = append(notices, fmt.Sprintf("Service %s has no ready endpoint, and its status still says %s: the operator does not seem to run (see `kubectl critsvc doctor`).",
				name, service.State))
		case down && service.Endpoints != nil && service.Endpoints.Ready > 0:
			notices = append(notices, fmt.Sprintf("Service %s has a ready endpoint again, and its status still says %s: the operator is about to see it, or it does not run (see `kubectl critsvc doctor`).",
				name, service.State))
		}
	}
	return notices
}
