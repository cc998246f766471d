package access

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

// Explain adds to an error what a user can do about it, where the error itself does
// not say it.
func Explain(err error) error {
	var before *explained
	if err == nil || errors.Is(err, ErrNo) || errors.As(err, &before) {
		return err
	}
	if advised := advice(err); advised != nil {
		return &explained{advised}
	}
	return err
}

// explained is an error that says what to do already.
type explained struct{ error }

// Unwrap is the error with the advice.
func (e *explained) Unwrap() error { return e.error }

// advice is an error with what to do about it; nil where there is none to give.
func advice(err error) error {
	var network net.Error
	var file *fs.PathError // A full disk has an error number, as a network has.
	switch {
	case clientcmd.IsEmptyConfig(err):
		return errors.New("no cluster is configured: set KUBECONFIG, or choose a file by --kubeconfig and a context in it by --context")
	case clientcmd.IsContextNotFound(err):
		return fmt.Errorf("%w; `kubectl config get-contexts` lists them", err)
	case isMissingKind(err):
		return fmt.Errorf("this cluster does not know the kind %s in the version %s: the Critical Service Operator is not installed here, "+
			"or is older than this plugin; or the current context is that of another cluster (%w)", missingKind(err), criticalv2.GroupVersion, err)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return fmt.Errorf("a quota of the namespace has no room for this: %w; raise it, or remove what is not needed (`kubectl describe resourcequota -n NAMESPACE`)", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you may not do this here: %w; %splugin.md lists the permissions that each command needs; "+
			"those to read ServiceFallbacks come with the ClusterRole \"view\" or \"edit\" by a RoleBinding of their namespace, which is all that a team needs there; "+
			"those to read CriticalServices, and all namespaces, by a ClusterRoleBinding only", err, output.Docs)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the cluster does not know who you are: log in again, or choose another context by --context (%w)", err)
	case errors.As(err, &file):
		return nil
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network):
		return fmt.Errorf("the cluster cannot be reached: %w; check KUBECONFIG, the current context "+
			"(`kubectl config current-context`) and the network", err)
	default:
		return nil
	}
}

// isMissingKind reports whether the API server knows no CriticalServices.
func isMissingKind(err error) bool {
	if !strings.Contains(err.Error(), criticalv2.GroupVersion.Group) && !strings.Contains(err.Error(), "CriticalService") {
		return false
	}
	var discovery *apiutil.ErrResourceDiscoveryFailed
	return IsUnserved(err) || errors.As(err, &discovery)
}

// missingKind is the kind that the API server does not know.
func missingKind(err error) string {
	if strings.Contains(err.Error(), criticalv2.MaintenanceKind.Kind) {
		return criticalv2.MaintenanceKind.Kind
	}
	return criticalv2.CriticalServiceKind.Kind
}

// IsUnserved reports whether the API server does not know the kind that was asked for: it
// says so by its list of kinds, or by an answer without details.
func IsUnserved(err error) bool {
	var status apierrors.APIStatus
	return meta.IsNoMatchError(err) ||
		errors.As(err, &status) && apierrors.IsNotFound(err) && (status.Status().Details == nil || status.Status().Details.Name == "")
}
