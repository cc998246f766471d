package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/internal/etcd/remote"
	"github.com/critical-service/operator/internal/etcd/snapshot"
)

// Store has a snapshot stored in the cluster.
func (c Console) Store(ctx context.Context, client *remote.Client, instance types.NamespacedName) error {
	result, err := client.Store(ctx, instance)
	if err != nil {
		return fmt.Errorf("back up %s: %w", instance, err)
	}
	_, err = fmt.Fprintf(c.Out, "a backup of %s is stored in the claim %s as %s: revision %d, %s\n",
		instance, said(result.Claim), said(result.File), result.Revision, Size(result.SizeBytes))
	return err
}

// Restoration is what is to be restored into an instance.
type Restoration struct {
	Instance types.NamespacedName
	// File is a snapshot; empty is one that the operator takes of spec.From.
	File string
	// Spec is that of the instance, if it does not exist.
	Spec *remote.Spec
	// Within is how long the operator is waited for, before and after a snapshot is sent.
	Within time.Duration
}

// Restore restores data into an instance that has none, which is made if it does not exist. It waits
// until the instance has it. A file that is not whole is a verdict of package snapshot.
func (c Console) Restore(ctx context.Context, client *remote.Client, r *Restoration) error {
	var err error
	if r.File == "" {
		err = client.Create(ctx, r.Instance, r.Spec)
	} else {
		err = c.upload(ctx, client, r)
	}
	if err == nil {
		err = c.await(ctx, client, r, "restored", func(restored metav1.Condition) bool { return restored.Status == metav1.ConditionTrue })
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", r.Instance, err)
	}
	_, err = fmt.Fprintf(c.Out, "etcdinstance/%s restored\n", r.Instance.Name)
	return err
}

// upload sends a file once the instance waits for it.
func (c Console) upload(ctx context.Context, client *remote.Client, r *Restoration) error {
	contents, err := snapshot.Inspect(r.File)
	if err != nil {
		return err
	}
	if err := ensure(ctx, client, r); err != nil {
		return err
	}
	err = c.await(ctx, client, r, "ready to receive a snapshot", func(restored metav1.Condition) bool { return restored.Reason == etcd.ReasonWaiting })
	if err != nil {
		return err
	}
	file, err := os.Open(r.File)
	if err != nil {
		return err
	}
	defer file.Close()
	progress := newProgress(c.ErrOut)
	err = client.Restore(ctx, r.Instance, file, contents.Bytes, progress.report)
	progress.end()
	if err == nil {
		fmt.Fprintf(c.ErrOut, "sent a backup to %s: revision %d, %s\n", r.Instance, contents.Revision, Size(contents.Bytes))
	}
	return err
}

// ensure makes the instance, or sees that the one that exists takes a snapshot.
func ensure(ctx context.Context, client *remote.Client, r *Restoration) error {
	found, err := client.Get(ctx, r.Instance)
	switch {
	case apierrors.IsNotFound(err) && r.Spec.Storage == "":
		return errors.New("it does not exist: say by --storage how large the volumes of the members are that are made, for example 1Gi")
	case apierrors.IsNotFound(err):
		return client.Create(ctx, r.Instance, r.Spec)
	case err != nil:
		return err
	}
	if upload, _, _ := unstructured.NestedBool(found.Object, "spec", "restore", "upload"); !upload {
		return errors.New("it exists and has data of its own: data is restored only into a new ETCDInstance, so choose another name")
	}
	if remote.Restored(found).Status == metav1.ConditionTrue {
		return errors.New("its data is restored already: choose another name")
	}
	return nil
}

// await waits until the condition Restored is as it has to be.
func (c Console) await(ctx context.Context, client *remote.Client, r *Restoration, what string, is func(metav1.Condition) bool) error {
	waiting, cancel := context.WithTimeout(ctx, r.Within)
	defer cancel()
	last := ""
	err := client.Await(waiting, r.Instance, func(restored metav1.Condition) (bool, error) {
		message := said(restored.Message)
		if message != "" && message != last {
			last = message
			fmt.Fprintln(c.ErrOut, last)
		}
		if restored.Reason == etcd.ReasonRestoreFailed {
			return false, errors.New(message)
		}
		return is(restored), nil
	})
	if waiting.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("it is not %s after %s: `kubectl describe etcd %s -n %s` says why", what, r.Within, r.Instance.Name, r.Instance.Namespace)
	}
	return err
}
