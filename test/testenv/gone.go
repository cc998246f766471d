package testenv

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// retried is the annotation of a definition that says when its deletion was retried last.
	retried = "test/retried"
	// patience is how long a definition may stay without a retry. A deletion that goes well takes about two seconds.
	patience = 10 * time.Second
)

// Gone reads an object, and says whether it is not there.
//
// A CustomResourceDefinition that is being deleted and stays is changed every ten seconds. The finalizer of the API server
// gives up after a conflict with what it wrote itself ("storage is (re)initializing"), and retries only when something other
// than the condition Terminating changes, or after five minutes (k8s.io/apiextensions-apiserver, pkg/controller/finalizer).
func Gone(ctx context.Context, cluster client.Client, object client.Object) bool {
	err := cluster.Get(ctx, client.ObjectKeyFromObject(object), object)
	if definition, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok && err == nil {
		retryDeletion(ctx, cluster, definition)
	}
	return apierrors.IsNotFound(err)
}

// retryDeletion ignores errors: the caller asks again.
func retryDeletion(ctx context.Context, cluster client.Client, definition *apiextensionsv1.CustomResourceDefinition) {
	if definition.DeletionTimestamp == nil {
		return
	}
	last := definition.DeletionTimestamp.Time
	if again, err := time.Parse(time.RFC3339, definition.Annotations[retried]); err == nil {
		last = again
	}
	if time.Since(last) < patience {
		return
	}
	change := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, retried, time.Now().Format(time.RFC3339))
	_ = cluster.Patch(ctx, definition, client.RawPatch(types.MergePatchType, change))
}
