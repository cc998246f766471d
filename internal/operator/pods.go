package operator

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/permission"
	"github.com/critical-service/operator/internal/operator/await"
)

// Administrators may leave the second ClusterRole out, by which the operator runs Pods of
// PodTemplates. Nothing else needs what it grants.

// podsNotPermitted says so, and what to do about it.
const podsNotPermitted = "The operator has no permission to run Pods of PodTemplates: " +
	"bind the ClusterRole critical-service-operator-pod-templates to it, or use a page or service fallback."

// forPods is what that ClusterRole grants.
var forPods = []permission.Rule{
	{Resource: "pods", Verbs: []string{"create", "patch", "delete"}},
	{Resource: "podtemplates", Verbs: []string{"get", "list", "watch"}},
}

// askEvery is how often it is asked whether that has changed, which no watch reports.
const askEvery = 30 * time.Second

// askForPods asks whether Pods of PodTemplates may be run, until the API server answers: it
// may start after the operator. It has to be known before anything is watched.
func askForPods(ctx context.Context, config *rest.Config, namespaces []string) (granted bool, refused error) {
	err := await.Answer(ctx, config, func() (err error) {
		granted, err = permission.Granted(ctx, await.WithTimeout(config), namespaces, forPods...)
		if fault.IsDecided(err) {
			refused, err = err, nil
		}
		return err
	})
	return granted, errors.Join(refused, err)
}

// errPodsPermission ends the process, so that the next one watches what it may.
var errPodsPermission = errors.New("the permission to run Pods of PodTemplates was granted or taken away: the operator starts again with what it may do now")

// podsPermission ends the manager when the answer is another one than at the start.
type podsPermission struct {
	config     *rest.Config
	namespaces []string
	granted    bool
	every      time.Duration
}

// NeedLeaderElection is false: each replica has caches of its own.
func (*podsPermission) NeedLeaderElection() bool { return false }

// Start asks until the context ends.
func (p *podsPermission) Start(ctx context.Context) error {
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		granted, err := permission.Granted(ctx, await.WithTimeout(p.config), p.namespaces, forPods...)
		switch {
		case err != nil:
			ctrl.LoggerFrom(ctx).V(1).Info("could not ask whether Pods may be run", "error", err.Error())
		case granted != p.granted:
			return errPodsPermission
		}
	}
}
