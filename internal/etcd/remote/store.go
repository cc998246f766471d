package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/critical-service/operator/internal/etcd"
)

// pollEvery is how often an instance is read that is waited for.
const pollEvery = time.Second

// Store has a snapshot stored in the cluster, and waits until it is.
func (c *Client) Store(ctx context.Context, name types.NamespacedName) (*etcd.BackupResult, error) {
	asked := &unstructured.Unstructured{}
	asked.SetGroupVersionKind(etcd.Subresources.WithKind(etcd.BackupResultKind))
	asked.SetName(name.Name)
	answer, err := c.subresources.Namespace(name.Namespace).Create(ctx, asked, metav1.CreateOptions{}, etcd.Backup)
	if apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return nil, notServed(err)
	}
	if err != nil {
		return nil, err
	}
	result := &etcd.BackupResult{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, result); err != nil {
		return nil, fmt.Errorf("read the answer of the server: %w", err)
	}
	if result.State == etcd.BackupRunning {
		err = c.follow(ctx, name, result)
	}
	return result, err
}

// follow waits for a snapshot that took longer than an answer may.
func (c *Client) follow(ctx context.Context, name types.NamespacedName, result *etcd.BackupResult) error {
	return wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		instance, err := c.Get(ctx, name)
		if err != nil {
			return false, fmt.Errorf("the snapshot is being stored in the claim %s, and whether it is cannot be seen: %w", result.Claim, err)
		}
		status, found, _ := unstructured.NestedMap(instance.Object, "status", "backup")
		switch {
		case !found || status["request"] != result.Request:
			asked := instance.GetAnnotations()[etcd.BackupAnnotation] == result.Request
			if !asked {
				return false, errors.New("another snapshot was asked for meanwhile, whose state is in status.backup")
			}
			return false, nil
		case status["state"] == etcd.BackupRunning:
			return false, nil
		case status["state"] == etcd.BackupFailed:
			return false, fmt.Errorf("no snapshot was stored: %v", status["message"])
		}
		stored := struct {
			State     string `json:"state"`
			File      string `json:"file"`
			Revision  int64  `json:"revision"`
			SizeBytes int64  `json:"sizeBytes"`
		}{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &stored); err != nil {
			return false, fmt.Errorf("read status.backup: %w", err)
		}
		result.State, result.File, result.Revision, result.SizeBytes = stored.State, stored.File, stored.Revision, stored.SizeBytes
		return true, nil
	})
}
