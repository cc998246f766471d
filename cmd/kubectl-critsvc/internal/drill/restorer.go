package drill

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/installation"
)

// renewal is how long the operator may take to renew its lease, which it does every
// second: longer than another replica takes to follow one that has died.
const renewal = 10 * time.Second

// findRestorer finds the operator, which gives the application back should this
// program be killed, and makes sure that it runs.
func (d *drill) findRestorer(ctx context.Context) (types.NamespacedName, error) {
	none := types.NamespacedName{}
	namespace, operators, err := installation.Find(ctx, d)
	switch {
	case apierrors.IsForbidden(err):
		return none, fmt.Errorf("it is not known whether the application would be given back should this program be killed: "+
			"a live drill needs the right to list the Deployments of the operator's namespace, %s: %w", namespace, err)
	case err != nil:
		return none, err
	case len(operators) == 0:
		return none, fmt.Errorf("the operator was not found in namespace %s, and nothing else would give the application back should this program be killed; "+
			"see `kubectl critsvc doctor`", namespace)
	}
	operator := runningOf(operators)
	if operator == nil {
		return none, fmt.Errorf("the operator does not run (Deployment %s in namespace %s has no available replica), "+
			"and nothing else would give the application back should this program be killed", operators[0].Name, namespace)
	}
	return installation.ServiceAccount(operator), d.leads(ctx, namespace)
}

func runningOf(operators []appsv1.Deployment) *appsv1.Deployment {
	for i := range operators {
		if operators[i].Status.AvailableReplicas > 0 {
			return &operators[i]
		}
	}
	return nil
}

// leads waits until the lease of the operator is renewed, so that one of its replicas
// leads. The clocks here and there are not compared.
func (d *drill) leads(ctx context.Context, namespace string) error {
	const often = 500 * time.Millisecond
	var first *coordinationv1.LeaseSpec
	err := wait.PollUntilContextTimeout(ctx, often, renewal, true, func(ctx context.Context) (bool, error) {
		var lease coordinationv1.Lease
		if err := d.Get(ctx, client.ObjectKey{Namespace: namespace, Name: installation.Name}, &lease); err != nil {
			return false, err
		}
		if first == nil {
			first = &lease.Spec
		}
		held := ptr.Deref(lease.Spec.HolderIdentity, "") != ""
		return held && !lease.Spec.RenewTime.Equal(first.RenewTime), nil
	})
	switch {
	case apierrors.IsForbidden(err):
		d.progress("You may not read Lease %s in namespace %s: assuming that it runs, because it has an available replica.", installation.Name, namespace)
		return nil
	case apierrors.IsNotFound(err):
		d.progress("The operator has no Lease %s in namespace %s, as if its replicas elected no leader: assuming that it runs, because one is available.", installation.Name, namespace)
		return nil
	case wait.Interrupted(err) && ctx.Err() == nil:
		return errors.New("no replica of the operator leads (Lease " + installation.Name + " in namespace " + namespace + " was not renewed for " + renewal.String() + "), " +
			"and nothing else would give the application back should this program be killed")
	default:
		return err
	}
}
