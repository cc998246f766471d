package checks

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/suite"
	"github.com/critical-service/operator/test/scorecard/verdict"
	"github.com/critical-service/operator/test/scorecard/world"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// orders is the name of every Database of the tests. Of Secrets they may read only the one that it gives:
// config/scorecard/rbac.yaml names it.
const orders = "scorecard-orders"

// defect is what a person can do where the operator does something wrong.
const defect = "This is a defect of the operator: please report it, with the evidence of this test."

// engineHint is for a Database that does not run.
const engineHint = "Look up the reason in docs/spec/database.md. Can the nodes pull the image of the database (the setting DATABASE_IMAGE_MONGO)? "

// makeDatabase makes the namespace of the test and in it a Database, as in the document.
func makeDatabase(ctx context.Context, w *world.World, storage *workloadsv1.DatabaseStorage) (*workloadsv1.Database, error) {
	if err := w.MakeNamespace(ctx); err != nil {
		return nil, err
	}
	d := &workloadsv1.Database{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: orders},
		Spec:       workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo, Storage: storage},
	}
	w.Journal.Say("The test makes the Database %s, of type %s.", d.Name, d.Spec.Type)
	return d, w.Create(ctx, d)
}

// running: it becomes Ready, a client of its Service reaches its Pod, and all that is documented is there.
func running(ctx context.Context, w *world.World) error {
	d, err := makeDatabase(ctx, w, nil)
	if err != nil {
		return err
	}
	return suite.InOrder(
		func() error { return awaitReady(ctx, w, d) },
		func() error { return tells(w, d) },
		func() error { return belongs(ctx, w, d, "Pod", &corev1.Pod{}, d.Name) },
		func() error { return belongs(ctx, w, d, "Service", &corev1.Service{}, d.Name) },
		func() error { return hasCredentials(ctx, w, d) },
		func() error { return awaitEndpoint(ctx, w, d) },
	)
}

// elsewhere are reasons for which the operator can do nothing.
var elsewhere = []string{
	workloadsv1.ReasonImagePullFailing, workloadsv1.ReasonUnschedulable, workloadsv1.ReasonStoragePending, workloadsv1.ReasonNodeLost,
}

// awaitReady waits until a Database runs, and reads it.
func awaitReady(ctx context.Context, w *world.World, d *workloadsv1.Database) error {
	reason, err := awaitCondition(ctx, w, d, workloadsv1.ConditionReady, engineHint)
	if slices.Contains(elsewhere, reason) {
		return world.AsPrevented(err)
	}
	return err
}

// awaitCondition waits until a condition of a Database is True, and says for which reason it is what it is.
func awaitCondition(ctx context.Context, w *world.World, d *workloadsv1.Database, kind, hint string) (reason string, err error) {
	err = w.Await(ctx, "a Database that is "+kind, func(ctx context.Context) (world.Observation, error) {
		if err := w.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return world.Observation{}, err
		}
		seen := world.Observation{Text: "the operator has not said whether it is " + kind, Suggestion: hint + w.OperatorLog()}
		if condition := conditionOf(d, kind); condition != nil {
			reason = condition.Reason
			seen.Done = condition.Status == metav1.ConditionTrue
			seen.Text = fmt.Sprintf("%s=%s, %s: %s", kind, condition.Status, condition.Reason, condition.Message)
		}
		return seen, nil
	})
	return reason, err
}

// conditionOf is a condition that is about the spec as it is.
func conditionOf(d *workloadsv1.Database, kind string) *metav1.Condition {
	found := meta.FindStatusCondition(d.Status.Conditions, kind)
	if found == nil || found.ObservedGeneration != d.Generation {
		return nil
	}
	return found
}

// tells checks what the status says of a Database that runs.
func tells(w *world.World, d *workloadsv1.Database) error {
	for _, field := range []struct{ name, is, want string }{
		{"podName", d.Status.PodName, d.Name},
		{"secretName", d.Status.SecretName, d.SecretName()},
		{"address", d.Status.Address, fmt.Sprintf("%s.%s.svc:27017", d.Name, d.Namespace)},
	} {
		if field.is != field.want {
			return verdict.Failed(defect, "status.%s is %q, and should be %q", field.name, field.is, field.want)
		}
	}
	w.Journal.Say("The status says: %s.", d.Status.Message)
	return nil
}

// belongs checks that an object is there, and goes with the Database.
func belongs(ctx context.Context, w *world.World, d *workloadsv1.Database, kind string, object client.Object, name string) error {
	if err := exists(ctx, w, kind, object, name); err != nil {
		return err
	}
	if !metav1.IsControlledBy(object, d) {
		return verdict.Failed(defect, "%s %s does not belong to the Database: its owners are %v", kind, name, object.GetOwnerReferences())
	}
	w.Journal.Say("%s %s is there, and belongs to the Database.", kind, name)
	return nil
}

func exists(ctx context.Context, w *world.World, kind string, object client.Object, name string) error {
	err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		return verdict.Failed(defect, "there is no %s %s", kind, name)
	}
	return err
}

// hasCredentials checks the Secret that the operator generates, and says nothing of what is in it.
func hasCredentials(ctx context.Context, w *world.World, d *workloadsv1.Database) error {
	secret := &corev1.Secret{}
	if err := belongs(ctx, w, d, "Secret", secret, d.SecretName()); err != nil {
		return err
	}
	for _, key := range []string{"username", "password", "uri"} {
		if len(secret.Data[key]) == 0 {
			return verdict.Failed(defect, "Secret %s has no %s", secret.Name, key)
		}
	}
	return nil
}

// awaitEndpoint waits until the Service leads to the Pod of the Database, and nowhere else.
func awaitEndpoint(ctx context.Context, w *world.World, d *workloadsv1.Database) error {
	return w.Await(ctx, "a ready endpoint of Service "+d.Name, func(ctx context.Context) (world.Observation, error) {
		var found discoveryv1.EndpointSliceList
		err := w.List(ctx, &found, client.InNamespace(w.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: d.Name})
		if err != nil {
			return world.Observation{}, err
		}
		var names []string
		for i := range found.Items {
			names = append(names, leadsTo(&found.Items[i])...)
		}
		return world.Observation{
			Done: slices.Equal(names, []string{"Pod " + d.Name}), Text: fmt.Sprintf("the Service leads to %q", names),
			Suggestion: "The Database is Ready, and its Service does not lead to its Pod. Does the cluster's own controller of EndpointSlices run? " +
				"See kubectl get endpointslices --all-namespaces.",
		}, nil
	})
}

// leadsTo are the ready endpoints of a slice that is not the core's.
func leadsTo(slice *discoveryv1.EndpointSlice) []string {
	if slice.Labels[discoveryv1.LabelManagedBy] == criticalv2.ManagedBy {
		return nil
	}
	var names []string
	for _, endpoint := range slice.Endpoints {
		if target := endpoint.TargetRef; target != nil && ptr.Deref(endpoint.Conditions.Ready, true) {
			names = append(names, target.Kind+" "+target.Name)
		}
	}
	return names
}
