// Package core knows whether the core, critical-service-operator, is installed: whether the
// API server serves its kind ServiceFallback, which protects the Services of workloads.
//
// Nothing here depends on the core. It may come and go while this operator runs.
package core

import (
	"context"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Definition is the name of the CustomResourceDefinition of ServiceFallbacks.
const Definition = "servicefallbacks.mycrd.com"

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=servicefallbacks.mycrd.com,verbs=get;list;watch

// CacheByObject keeps of the one CustomResourceDefinition what says whether it is served.
func CacheByObject() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&apiextensionsv1.CustomResourceDefinition{}: {
		Field: fields.OneTermEqualSelector("metadata.name", Definition), Transform: slim,
	}}
}

func slim(object any) (any, error) {
	crd, isDefinition := object.(*apiextensionsv1.CustomResourceDefinition)
	if !isDefinition {
		return object, nil // A tombstone.
	}
	kept := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: crd.Name, UID: crd.UID, ResourceVersion: crd.ResourceVersion, DeletionTimestamp: crd.DeletionTimestamp,
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: crd.Status.Conditions},
	}
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		kept.Spec.Versions = append(kept.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: version.Name, Served: version.Served})
	}
	return kept, nil
}

// Presence is whether ServiceFallbacks are served.
type Presence struct {
	definitions client.Reader

	mu sync.Mutex
	// served is what the last event said, and changed is closed when the next says another.
	served  bool
	changed chan struct{}
}

// NewPresence follows the CustomResourceDefinition in a cache, which CacheByObject narrows.
func NewPresence(ctx context.Context, caches cache.Cache) (*Presence, error) {
	p := &Presence{definitions: caches, changed: make(chan struct{})}
	informer, err := caches.GetInformer(ctx, &apiextensionsv1.CustomResourceDefinition{}, cache.BlockUntilSynced(false))
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    func(now any, isFirst bool) { p.learn(isServed(now), !isFirst) },
			UpdateFunc: func(_, now any) { p.learn(isServed(now), true) },
			DeleteFunc: func(any) { p.learn(false, true) },
		})
	}
	if err != nil {
		return nil, fmt.Errorf("watch the CustomResourceDefinition %s: %w", Definition, err)
	}
	return p, nil
}

// Available reports whether ServiceFallbacks can be read and written now. The cache must be
// filled: every controller waits for that.
func (p *Presence) Available() bool {
	var crd apiextensionsv1.CustomResourceDefinition
	err := p.definitions.Get(context.Background(), types.NamespacedName{Name: Definition}, &crd)
	return err == nil && isServed(&crd)
}

// Changed is closed when the answer of Available changes next.
func (p *Presence) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// learn takes over what an event says. What the cache held from the beginning is no change.
func (p *Presence) learn(served, isNews bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if isNews && served != p.served {
		close(p.changed)
		p.changed = make(chan struct{})
	}
	p.served = served
}

// isServed reports whether the API server answers requests for the kind.
func isServed(object any) bool {
	crd, isDefinition := object.(*apiextensionsv1.CustomResourceDefinition)
	if !isDefinition || crd.DeletionTimestamp != nil {
		return false
	}
	established := false
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			established = condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	for _, version := range crd.Spec.Versions {
		if version.Name == criticalv2.GroupVersion.Version {
			return established && version.Served
		}
	}
	return false
}
