package access

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// StatusOf is the status that the operator reports of a Service, by the policy that governs
// it; nil if none does. It is an error where only a policy could say so that the user may
// not read.
func StatusOf(ctx context.Context, from client.Reader, service types.NamespacedName) (*criticalv2.ServiceStatus, error) {
	policies, unseen, err := Policies(ctx, from, service.Namespace, Unseen{})
	if err != nil {
		return nil, err
	}
	status := StatusIn(policies, service)
	if status == nil {
		return nil, unseen.Err()
	}
	return status, nil
}

// StatusIn is the same of policies that were read. All that match the Service list it, and
// those that do not govern it call it Ignored.
func StatusIn(policies []criticalv2.Policy, service types.NamespacedName) *criticalv2.ServiceStatus {
	var ignored *criticalv2.ServiceStatus
	for _, policy := range policies {
		if !protection.IsActive(policy) {
			continue
		}
		detail := policy.Observed().DetailOf(service.Namespace, service.Name)
		switch {
		case detail == nil:
		case detail.State != criticalv2.StateIgnored:
			return detail
		case ignored == nil || ignored.Reason == criticalv2.ReasonOverridden:
			ignored = detail
		}
	}
	return ignored
}
