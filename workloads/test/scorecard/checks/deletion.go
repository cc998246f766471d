package checks

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/suite"
	"github.com/critical-service/operator/test/scorecard/verdict"
	"github.com/critical-service/operator/test/scorecard/world"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// deletion: what holds data stays, and all else goes. The Database need not run: a cluster without a default StorageClass
// has no volume for it.
func deletion(ctx context.Context, w *world.World) error {
	d, err := makeDatabase(ctx, w, &workloadsv1.DatabaseStorage{Size: "64Mi"})
	if err != nil {
		return err
	}
	claim, secret := &corev1.PersistentVolumeClaim{}, &corev1.Secret{}
	return suite.InOrder(
		func() error { return awaitMade(ctx, w, d) },
		func() error { return stays(ctx, w, "PersistentVolumeClaim", claim, d.ClaimName()) },
		func() error { return stays(ctx, w, "Secret", secret, d.SecretName()) },
		func() error {
			w.Collect(ctx, "before-the-deletion")
			w.Journal.Say("The test deletes the Database.")
			return w.Delete(ctx, d)
		},
		func() error { return awaitGone(ctx, w, d) },
		func() error { return hasStayed(ctx, w, "PersistentVolumeClaim", claim) },
		func() error { return hasStayed(ctx, w, "Secret", secret) },
	)
}

// awaitMade waits until the Pod is there, which is the last object that the operator makes.
func awaitMade(ctx context.Context, w *world.World, d *workloadsv1.Database) error {
	return w.Await(ctx, "a Pod of the Database", func(ctx context.Context) (world.Observation, error) {
		err := w.Get(ctx, client.ObjectKeyFromObject(d), &corev1.Pod{})
		if err != nil && !apierrors.IsNotFound(err) {
			return world.Observation{}, err
		}
		if getErr := w.Get(ctx, client.ObjectKeyFromObject(d), d); getErr != nil {
			return world.Observation{}, getErr
		}
		seen := world.Observation{Done: err == nil, Text: "there is none", Suggestion: engineHint + w.OperatorLog()}
		if condition := conditionOf(d, workloadsv1.ConditionReady); condition != nil {
			seen.Text = fmt.Sprintf("Ready=%s, %s: %s", condition.Status, condition.Reason, condition.Message)
		}
		return seen, nil
	})
}

// stays checks that nothing deletes an object with the Database.
func stays(ctx context.Context, w *world.World, kind string, object client.Object, name string) error {
	if err := exists(ctx, w, kind, object, name); err != nil {
		return err
	}
	if owners := object.GetOwnerReferences(); len(owners) > 0 {
		return verdict.Failed(defect, "%s %s would be deleted with %s %s, and should stay", kind, name, owners[0].Kind, owners[0].Name)
	}
	w.Journal.Say("%s %s is there, and belongs to nothing.", kind, name)
	return nil
}

// awaitGone waits until all is gone that belongs to a Database.
func awaitGone(ctx context.Context, w *world.World, d *workloadsv1.Database) error {
	served, err := servesFallbacks(ctx, w)
	if err != nil {
		return err
	}
	kinds := []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}}
	if served {
		kinds = append(kinds, &criticalv2.ServiceFallbackList{})
	}
	return w.Await(ctx, "nothing left of the Database but its claim and its Secret", func(ctx context.Context) (world.Observation, error) {
		left, err := w.Names(ctx, &workloadsv1.DatabaseList{}, "")
		if err != nil {
			return world.Observation{}, err
		}
		for _, list := range kinds {
			names, err := w.Names(ctx, list, workloadsv1.LabelDatabase+"="+d.Name)
			if err != nil {
				return world.Observation{}, err
			}
			left = append(left, names...)
		}
		return world.Observation{
			Done: len(left) == 0, Text: fmt.Sprintf("%d left: %s", len(left), strings.Join(left, ", ")),
			Suggestion: "These belong to the Database, and the cluster's garbage collector deletes them. Does it run, and has one of them a finalizer?",
		}, nil
	})
}

// hasStayed checks that an object is the very one that it was.
func hasStayed(ctx context.Context, w *world.World, kind string, object client.Object) error {
	before := object.GetUID()
	if err := exists(ctx, w, kind, object, object.GetName()); err != nil {
		return err
	}
	if object.GetDeletionTimestamp() != nil || object.GetUID() != before {
		return verdict.Failed(defect, "%s %s was deleted with the Database, and should stay", kind, object.GetName())
	}
	w.Journal.Say("%s %s has stayed.", kind, object.GetName())
	return nil
}
