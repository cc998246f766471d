package monitoring

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/critical-service/operator/controllers/monitoring/internal/decide"
	"github.com/critical-service/operator/internal/controller/write"
)

// outcome is the result of a plan. It lists only what really happened.
type outcome struct {
	applied, removed []*unstructured.Unstructured
	failed           problems
}

// problems are errors by what they are about.
type problems map[string]error

// apply carries a plan out. The failure of one write does not block the others.
func (r *Reconciler) apply(ctx context.Context, plan decide.Plan) outcome {
	done := outcome{failed: problems{}}
	for _, one := range plan.Apply {
		stored, err := write.Apply(ctx, r.client, one.Wanted.DeepCopy(), one.UID)
		if isGone(err) {
			continue
		}
		if err != nil {
			done.failed[nameOf(one.Wanted)] = fmt.Errorf("apply it: %w", err)
			continue
		}
		done.applied = append(done.applied, stored)
	}
	// They were read from the API server just now, and go only if they are still the same.
	for _, object := range plan.Remove {
		err := write.Delete(ctx, r.client, object)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			done.failed[nameOf(object)] = fmt.Errorf("remove it: %w", err)
			continue
		}
		done.removed = append(done.removed, object)
	}
	return done
}

// isGone reports whether an apply failed because the kind has gone, or is going: its definition was deleted.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) ||
		apierrors.IsForbidden(err) && strings.Contains(err.Error(), "while custom resource definition is terminating")
}
