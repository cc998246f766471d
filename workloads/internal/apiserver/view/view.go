// Package view serves objects of our kinds in a group of another name, so that the files and
// commands of the documents that this project began with work as they stand there. It stores
// nothing: every request becomes one for the object of our kind.
//
// No one gains by the alias. The library asks whether the user may do it to the view, and before
// anything is read or written the view asks whether the same user may do the same to our kind.
package view

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/workloads/internal/apiserver/places"
)

// Options say what is seen through a view.
type Options struct {
	// Of is the resource of our kind, and Singular and ShortNames are its names.
	Of         schema.GroupVersionResource
	Singular   string
	ShortNames []string
	// Object and List make empty objects of it.
	Object func() client.Object
	List   func() client.ObjectList
	// Columns are those of a table, after the name.
	Columns []Column

	// Client reads by a configuration that is Bounded.
	Client     client.WithWatch
	Authorizer authorizer.Authorizer
	// Lists and Watches are the places of those of all views.
	Lists, Watches *places.Places
}

// Storage is a resource that is a view.
type Storage struct{ Options }

var (
	_ rest.Scoper               = &Storage{}
	_ rest.SingularNameProvider = &Storage{}
	_ rest.ShortNamesProvider   = &Storage{}
	_ rest.Getter               = &Storage{}
	_ rest.Lister               = &Storage{}
	_ rest.Watcher              = &Storage{}
	_ rest.Creater              = &Storage{} //nolint:misspell // The library's spelling.
	_ rest.Patcher              = &Storage{}
	_ rest.GracefulDeleter      = &Storage{}
)

// New is an empty object.
func (s *Storage) New() runtime.Object { return s.Object() }

// NewList is an empty list.
func (s *Storage) NewList() runtime.Object { return s.Options.List() }

// Destroy has nothing to clean up.
func (s *Storage) Destroy() {}

// NamespaceScoped says that all our kinds live in namespaces.
func (s *Storage) NamespaceScoped() bool { return true }

// GetSingularName is the name of one object.
func (s *Storage) GetSingularName() string { return s.Singular }

// ShortNames are for kubectl.
func (s *Storage) ShortNames() []string { return s.Options.ShortNames }

// Allow asks whether the user of a request may do to our kind what is asked of the view.
func Allow(ctx context.Context, by authorizer.Authorizer, of schema.GroupVersionResource, subresource, name string) error {
	user, known := request.UserFrom(ctx)
	info, found := request.RequestInfoFrom(ctx)
	if !known || !found {
		return apierrors.NewInternalError(fmt.Errorf("the request has no user"))
	}
	decision, reason, err := by.Authorize(ctx, authorizer.AttributesRecord{
		User: user, Verb: info.Verb, Namespace: info.Namespace, APIGroup: of.Group, APIVersion: of.Version,
		Resource: of.Resource, Subresource: subresource, Name: name, ResourceRequest: true,
	})
	if decision == authorizer.DecisionAllow {
		return nil
	}
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("ask whether user %q may %s %s: %w", user.GetName(), info.Verb, of.GroupResource(), err))
	}
	resource := of.GroupResource()
	if subresource != "" {
		resource.Resource += "/" + subresource
	}
	return apierrors.NewForbidden(resource, name, fmt.Errorf("user %q must be allowed to %s %s in the namespace %q, too, of which this is a view: %s",
		user.GetName(), info.Verb, resource, info.Namespace, reason))
}

func (s *Storage) allow(ctx context.Context, name string) error {
	return Allow(ctx, s.Authorizer, s.Of, "", name)
}

// seen makes an object of ours one of the view: the encoder writes its group and version.
func seen[T runtime.Object](object T) T {
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil) // They name our group.
	}
	return object
}

func key(ctx context.Context, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: name}
}

// Get reads one object.
func (s *Storage) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	if err := s.allow(ctx, name); err != nil {
		return nil, err
	}
	object := s.Object()
	if err := s.Client.Get(ctx, key(ctx, name), object, &client.GetOptions{Raw: options}); err != nil {
		return nil, err
	}
	return seen(object), nil
}

// Create makes an object.
func (s *Storage) Create(ctx context.Context, sent runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	object, isObject := sent.(client.Object)
	if !isObject {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%T is no object", sent))
	}
	if err := s.allow(ctx, object.GetName()); err != nil {
		return nil, err
	}
	object.SetNamespace(request.NamespaceValue(ctx))
	if validate != nil {
		if err := validate(ctx, object.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if err := s.Client.Create(ctx, seen(object), &client.CreateOptions{Raw: options, DryRun: options.DryRun, FieldManager: options.FieldManager}); err != nil {
		return nil, err
	}
	return seen(object), nil
}

// Update changes an object; a patch comes here, too. It never makes one.
func (s *Storage) Update(ctx context.Context, name string, change rest.UpdatedObjectInfo, _ rest.ValidateObjectFunc,
	validate rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	found, err := s.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	changed, err := change.UpdatedObject(ctx, found)
	if err != nil {
		return nil, false, err
	}
	object, isObject := changed.(client.Object)
	if !isObject {
		return nil, false, apierrors.NewBadRequest(fmt.Sprintf("%T is no object", changed))
	}
	if validate != nil {
		if err := validate(ctx, object.DeepCopyObject(), found); err != nil {
			return nil, false, err
		}
	}
	if err := s.Client.Update(ctx, seen(object), &client.UpdateOptions{Raw: options, DryRun: options.DryRun, FieldManager: options.FieldManager}); err != nil {
		return nil, false, err
	}
	return seen(object), false, nil
}

// Delete deletes an object.
func (s *Storage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	found, err := s.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	if validate != nil {
		if err := validate(ctx, found.DeepCopyObject()); err != nil {
			return nil, false, err
		}
	}
	object := s.Object()
	object.SetNamespace(request.NamespaceValue(ctx))
	object.SetName(name)
	if err := s.Client.Delete(ctx, object, &client.DeleteOptions{Raw: options}); err != nil {
		return nil, false, err
	}
	accessor, err := meta.Accessor(found)
	return found, err == nil && len(accessor.GetFinalizers()) == 0 && !slices.Contains(options.DryRun, metav1.DryRunAll), err
}
