package fallback

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/write"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// unservedWait is when to retry what the API server does not serve yet, or any longer: not all
// parts of it know that at the same moment.
const unservedWait = time.Second

// Write carries a Change out. Where the API server does not accept it, that is no error: refused
// is then what is known of the ServiceFallback.
func (s *Seen) Write(ctx context.Context, c client.Client, change Change) (refused *Seen, err error) {
	switch {
	case change.Apply != nil:
		_, err = write.Apply(ctx, c, change.Apply, read.UIDOf(s.Object))
	case change.Remove != nil:
		err = client.IgnoreNotFound(write.Delete(ctx, c, change.Remove))
	}
	switch {
	case fault.IsRefusal(err):
		refused = new(*s)
		refused.Refuse(err)
		return refused, nil
	case apierrors.IsNotFound(err):
		return nil, fault.WaitFor(unservedWait, err.Error())
	default:
		return nil, err
	}
}

// patience is how long a Service that is missing waits for a ServiceFallback that the API server
// fails to read or write. That may pass in a moment; what fails for good, such as a webhook of
// others, must not keep a workload from running.
const patience = 30 * time.Second

// DelaysService reports whether a Service that is missing is not made yet, because the API server
// has failed for so long to read or write its ServiceFallback. Wanted may be nil, as with For.
func (s *Seen) DelaysService(wanted *workloadsv1.ServiceProtection, failedFor time.Duration) bool {
	return s.Failed && (wanted == nil || wanted.None == nil) && failedFor < patience
}
