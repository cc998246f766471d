package access

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Unseen is which kinds of policies were not read.
type Unseen struct {
	// CriticalServices and ServiceFallbacks are why they may not be listed; nil if they may.
	CriticalServices, ServiceFallbacks error
	// unserved means that the API server knows no ServiceFallbacks, so that there are none.
	unserved bool
}

// Err is why policies were not read; nil if all were.
func (u Unseen) Err() error { return errors.Join(u.CriticalServices, u.ServiceFallbacks) }

// Kinds are the kinds of policies that can be read.
func (u Unseen) Kinds() []client.Object {
	var kinds []client.Object
	if u.CriticalServices == nil {
		kinds = append(kinds, &criticalv2.CriticalService{})
	}
	if u.ServiceFallbacks == nil && !u.unserved {
		kinds = append(kinds, &criticalv2.ServiceFallback{})
	}
	return kinds
}

// Notices say what is missing from an answer.
func (u Unseen) Notices() []string {
	var texts []string
	if u.CriticalServices != nil {
		texts = append(texts, "You may not list CriticalServices: what only they protect is left out, and one that comes before a ServiceFallback is known by the status of the latter alone.")
	}
	if u.ServiceFallbacks != nil {
		texts = append(texts, "You may not list ServiceFallbacks here: what only they protect is left out, and one that comes before a CriticalService is known by the status of the latter alone.")
	}
	return texts
}

// Policies reads what may protect Services of a namespace, or of all if it is empty:
// CriticalServices, and the ServiceFallbacks there. A team may read the latter only, and
// gets these; it is an error if neither may be read. What was unseen before is not read.
func Policies(ctx context.Context, from client.Reader, namespace string, before Unseen) ([]criticalv2.Policy, Unseen, error) {
	unseen := before
	var policies []criticalv2.Policy
	if unseen.CriticalServices == nil {
		var list criticalv2.CriticalServiceList
		if err := from.List(ctx, &list); err != nil {
			unseen.CriticalServices = fmt.Errorf("list CriticalServices: %w", err)
			if !apierrors.IsForbidden(err) {
				return nil, unseen, unseen.CriticalServices
			}
		}
		policies = list.Policies()
	}
	if unseen.ServiceFallbacks == nil && !unseen.unserved {
		var list criticalv2.ServiceFallbackList
		switch err := from.List(ctx, &list, client.InNamespace(namespace)); {
		case err == nil:
			policies = append(policies, list.Policies()...)
		case IsUnserved(err):
			unseen.unserved = true
		case apierrors.IsForbidden(err):
			unseen.ServiceFallbacks = fmt.Errorf("list ServiceFallbacks: %w", err)
		default:
			return nil, unseen, fmt.Errorf("list ServiceFallbacks: %w", err)
		}
	}
	if unseen.CriticalServices != nil && (unseen.ServiceFallbacks != nil || unseen.unserved) {
		return nil, unseen, unseen.Err()
	}
	return policies, unseen, nil
}
