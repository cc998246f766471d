package outage

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/installation"
)

// ErrNoOperator says that no operator is known that would end the outage.
var ErrNoOperator = errors.New("the operator was not found, or you may not look for it")

// Operator ends an outage.
type Operator struct {
	ServiceAccount types.NamespacedName
	// Assumed means that it was not found, and is what every way to install it makes.
	Assumed bool
}

// FindOperator finds the operator's ServiceAccount by its Deployment, in the namespace
// that the installation has it in and nowhere else. A user who may not look for it gets
// the usual one.
func FindOperator(ctx context.Context, from client.Reader) (Operator, error) {
	namespace, deployments, err := installation.Find(ctx, from)
	if err != nil && !apierrors.IsForbidden(err) {
		return Operator{}, err
	}
	if len(deployments) == 0 {
		return Operator{ServiceAccount: types.NamespacedName{Namespace: namespace, Name: installation.Name}, Assumed: true}, nil
	}
	return Operator{ServiceAccount: installation.ServiceAccount(&deployments[0])}, nil
}

// operator is the one that the Options name, or that is found. An outage with an end
// is not entrusted to one that is assumed only.
func (o *Options) operator(ctx context.Context, from client.Reader) (Operator, error) {
	if o.OperatorServiceAccount != "" {
		return Operator{ServiceAccount: types.NamespacedName{Namespace: o.OperatorNamespace, Name: o.OperatorServiceAccount}}, nil
	}
	operator, err := FindOperator(ctx, from)
	if err == nil && operator.Assumed && !o.Until.IsZero() {
		err = fmt.Errorf("%w: no operator is known in namespace %s that would give the application back", ErrNoOperator, operator.ServiceAccount.Namespace)
	}
	return operator, err
}
