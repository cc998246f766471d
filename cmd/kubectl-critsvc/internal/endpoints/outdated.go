package endpoints

import criticalv2 "github.com/critical-service/operator/api/v2"

// IsOutdated reports whether a status says that the application of a Service answers,
// and it has no ready endpoint: then the operator does not seem to run.
func IsOutdated(state criticalv2.ServiceState, reason string, ready int) bool {
	isUp := state == criticalv2.StateArmed || state == criticalv2.StateArming
	return isUp && reason != criticalv2.ReasonEndpointsUnknown && ready == 0
}
