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
// A CustomResourceDefinition that is being deleted and stays is changed here every ten seconds, so that its deletion is tried again. The finalizer of the API server
// gives up after a conflict with what it wrote itself ("storage is (re)initializing"), and retries only when something other
// than the condition Terminating changes, or after five minutes (k8s.io/apiextensions-apiserver, pkg/controller/finalizer).
func Gone(ctx context.Context, cluster client.Client, object client.Object) bool {
	err := cluster.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err == nil && isDefinition(cluster, object) {
		retryDeletion(ctx, cluster, object)
	}
	return apierrors.IsNotFound(err)
}

// isDefinition reports whether an object is a CustomResourceDefinition, in any form: tests that read files have unstructured ones.
func isDefinition(cluster client.Client, object client.Object) bool {
	kind, err := cluster.GroupVersionKindFor(object)
	return err == nil && kind.GroupKind() == apiextensionsv1.Kind("CustomResourceDefinition")
}

// retryDeletion ignores errors: the caller asks again.
func retryDeletion(ctx context.Context, cluster client.Client, definition client.Object) {
	if definition.GetDeletionTimestamp() == nil {
		return
	}
	last := definition.GetDeletionTimestamp().Time
	if again, err := time.Parse(time.RFC3339, definition.GetAnnotations()[retried]); err == nil {
		last = again
	}
	if time.Since(last) < patience {
		return
	}
	change := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, retried, time.Now().Format(time.RFC3339))
	_ = cluster.Patch(ctx, definition, client.RawPatch(types.MergePatchType, change))
}
