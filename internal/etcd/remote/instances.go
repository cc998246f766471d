// Package remote is the client of ETCDInstances, and of the subresources by which they are backed
// up.
package remote

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/critical-service/operator/internal/etcd"
)

// Client reaches ETCDInstances with the rights of a user.
type Client struct {
	config *rest.Config
	// instances are the objects, and subresources what is served of them in another group.
	instances, subresources dynamic.NamespaceableResourceInterface
}

// New makes a client.
func New(config *rest.Config) (*Client, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &Client{
		config: config, instances: objects.Resource(etcd.Resource),
		subresources: objects.Resource(etcd.Subresources.WithResource(etcd.Resource.Resource)),
	}, nil
}

// Spec is what a new instance is to be; what is nil is left to the defaults.
type Spec struct {
	// Replicas is how many members it has.
	Replicas *int64
	// TLS is whether they are reached over TLS.
	TLS bool
	// Storage is the size of the volume of each member; empty is no volume. StorageClass is that of
	// the volume; empty is the cluster's default.
	Storage, StorageClass string
	// Image is that of the members.
	Image string
	// From is the instance with whose data it begins, and Upload is that it waits for a snapshot.
	From   string
	Upload bool
}

func (s *Spec) fields() map[string]any {
	fields := map[string]any{}
	if s.Replicas != nil {
		fields["replicas"] = *s.Replicas
	}
	if s.TLS {
		fields["with_tls_bundle"] = true
	}
	if s.Storage != "" || s.StorageClass != "" {
		storage := map[string]any{"size": s.Storage}
		if s.StorageClass != "" {
			storage["storageClassName"] = s.StorageClass
		}
		fields["storage"] = storage
	}
	if s.Image != "" {
		fields["image"] = s.Image
	}
	if s.From != "" {
		fields["restore"] = map[string]any{"fromInstance": s.From}
	}
	if s.Upload {
		fields["restore"] = map[string]any{"upload": true}
	}
	return fields
}

// Create makes an instance.
func (c *Client) Create(ctx context.Context, name types.NamespacedName, spec *Spec) error {
	instance := &unstructured.Unstructured{Object: map[string]any{"spec": spec.fields()}}
	instance.SetGroupVersionKind(etcd.Kind)
	instance.SetName(name.Name)
	_, err := c.instances.Namespace(name.Namespace).Create(ctx, instance, metav1.CreateOptions{})
	return err
}

// Get reads an instance.
func (c *Client) Get(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
	return c.instances.Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
}

// List reads the instances of a namespace, or of all if it is empty.
func (c *Client) List(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	list, err := c.instances.Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Delete deletes an instance.
func (c *Client) Delete(ctx context.Context, name types.NamespacedName) error {
	return c.instances.Namespace(name.Namespace).Delete(ctx, name.Name, metav1.DeleteOptions{})
}
