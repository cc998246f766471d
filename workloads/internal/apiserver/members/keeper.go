package members

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/etcd"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/internal/apiserver/backup"
	"github.com/critical-service/operator/workloads/internal/apiserver/places"
)

const (
	// AnswerWithin is how long a backup is waited for that is stored. kube-apiserver gives up on an
	// answer after 60 s.
	AnswerWithin = 40 * time.Second
	// pollEvery is how often it is looked whether it is stored.
	pollEvery = time.Second
)

// Keeper has the controller of ETCDInstances store snapshots, which it is asked for by an
// annotation.
type Keeper struct {
	// Client reads ETCDInstances from the API server, and writes the annotation.
	Client client.Client
	// Within is how long a snapshot is waited for.
	Within time.Duration
}

var _ backup.Keeper = &Keeper{}

// +kubebuilder:rbac:groups=mycrd.com,resources=etcdinstances,verbs=get;patch,roleName=critical-service-workloads-namespaces

// Store asks for a snapshot of an instance and waits for the answer of the controller.
func (k *Keeper) Store(ctx context.Context, name types.NamespacedName) (*backup.Stored, error) {
	instance, err := k.ask(ctx, name)
	if err != nil {
		return nil, err
	}
	last := instance
	request, found := instance.Annotations[workloadsv1alpha1.AnnotationBackup], (*workloadsv1alpha1.ETCDStoredBackup)(nil)
	err = wait.PollUntilContextTimeout(ctx, pollEvery, k.Within, false, func(ctx context.Context) (bool, error) {
		now, err := read(ctx, k.Client, name)
		if err != nil {
			return false, err
		}
		if now.UID != instance.UID || now.Annotations[workloadsv1alpha1.AnnotationBackup] != request {
			return false, apierrors.NewConflict(etcd.Resource.GroupResource(), name.Name,
				fmt.Errorf("the backup of ETCDInstance %s was withdrawn: its annotation %s was changed; retry", name, workloadsv1alpha1.AnnotationBackup))
		}
		last = now
		if answered := now.Status.Backup; answered != nil && answered.Request == request {
			found = answered
		}
		return found != nil && found.State != workloadsv1alpha1.ETCDBackupRunning, nil
	})
	switch {
	case err != nil && !wait.Interrupted(err):
		return nil, err
	case found == nil && blocked(last) != nil:
		return nil, blocked(last)
	case found == nil:
		found = &workloadsv1alpha1.ETCDStoredBackup{Request: request, State: workloadsv1alpha1.ETCDBackupRunning}
	case found.State == workloadsv1alpha1.ETCDBackupFailed:
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no snapshot of ETCDInstance %s was stored: %s", name, found.Message))
	}
	return &backup.Stored{UID: instance.UID, BackupResult: etcd.BackupResult{
		Request: request, State: string(found.State), Claim: instance.BackupClaimName(),
		File: found.File, Revision: found.Revision, SizeBytes: found.SizeBytes,
	}}, nil
}

// ask writes the annotation, unless one is still to be answered. An object that changed meanwhile
// is read again: two requests must not take each other's answers.
func (k *Keeper) ask(ctx context.Context, name types.NamespacedName) (*workloadsv1alpha1.ETCDInstance, error) {
	for {
		instance, err := read(ctx, k.Client, name)
		if err != nil {
			return nil, err
		}
		if len(askable(instance.Status.Members)) == 0 {
			return nil, notReady(instance)
		}
		if underWay(instance) {
			if err := k.awaitProgress(ctx, instance); err != nil {
				return nil, err
			}
			return nil, apierrors.NewTooManyRequests(fmt.Sprintf("a snapshot of ETCDInstance %s is being stored already; retry in %d s", name, places.RetryAfter), places.RetryAfter)
		}
		before := instance.DeepCopy()
		metav1.SetMetaDataAnnotation(&instance.ObjectMeta, workloadsv1alpha1.AnnotationBackup, string(uuid.NewUUID()))
		err = k.Client.Patch(ctx, instance, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		switch {
		case err == nil:
			return instance, nil
		case !apierrors.IsConflict(err):
			return nil, fmt.Errorf("ask for a backup of ETCDInstance %s: %w", name, err)
		}
	}
}

// awaitProgress waits for progress of what was asked for before, where the instance is not ready. The
// error is why there is none.
func (k *Keeper) awaitProgress(ctx context.Context, asked *workloadsv1alpha1.ETCDInstance) error {
	last := asked
	err := wait.PollUntilContextTimeout(ctx, pollEvery, k.Within, true, func(ctx context.Context) (_ bool, err error) {
		last, err = read(ctx, k.Client, client.ObjectKeyFromObject(asked))
		return err == nil && (blocked(last) == nil || !equality.Semantic.DeepEqual(last.Status.Backup, asked.Status.Backup)), err
	})
	if wait.Interrupted(err) {
		return blocked(last)
	}
	return err
}

// blocked is that an instance is not ready, for which its controller may store no snapshot; nil if it
// is ready, or new.
func blocked(instance *workloadsv1alpha1.ETCDInstance) error {
	ready := meta.FindStatusCondition(instance.Status.Conditions, workloadsv1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return nil
	}
	return apierrors.NewConflict(etcd.Resource.GroupResource(), instance.Name,
		fmt.Errorf("the snapshot of ETCDInstance %s/%s that was asked for makes no progress: %s", instance.Namespace, instance.Name, ready.Message))
}

// underWay reports whether a snapshot that was asked for is not stored yet. A value that is too long
// asks for nothing.
func underWay(instance *workloadsv1alpha1.ETCDInstance) bool {
	answered, asked := instance.Status.Backup, instance.Annotations[workloadsv1alpha1.AnnotationBackup]
	switch {
	case answered != nil && answered.State == workloadsv1alpha1.ETCDBackupRunning:
		return true
	case asked == "" || len(asked) > workloadsv1alpha1.MaxBackupRequest:
		return false
	}
	return answered == nil || answered.Request != asked
}
