// Package crdcache watches the CustomResourceDefinition of a kind of several versions: how
// they are converted, and in which of them objects are stored; and the
// ValidatingWebhookConfiguration beside it.
//
// It has a cache of its own, apart from the manager's. That one holds objects of the
// kind, and is not filled before the conversion works; what makes the conversion work
// must not wait for it.
package crdcache

import (
	"fmt"
	"math"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/critical-service/operator/internal/controller/read"
)

// Kind is a kind of several versions, which a webhook converts.
type Kind struct {
	// GroupVersionKind has the version in which everything is to be stored.
	schema.GroupVersionKind
	// Plural is the name of the kind in URLs.
	Plural string
}

// Definition is the name of its CustomResourceDefinition.
func (k Kind) Definition() string { return k.Plural + "." + k.Group }

// New makes a client and a cache that hold the one CustomResourceDefinition, and,
// if they are read, the one ValidatingWebhookConfiguration and the one
// Secret that are named.
func New(config *rest.Config, kind Kind, configuration string, secret types.NamespacedName) (cluster.Cluster, error) {
	scheme := runtime.NewScheme()
	known := runtime.NewSchemeBuilder(apiextensionsv1.AddToScheme, admissionregistrationv1.AddToScheme, corev1.AddToScheme)
	if err := known.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("list the kinds around the CustomResourceDefinition %s: %w", kind.Definition(), err)
	}
	return cluster.New(config, func(options *cluster.Options) {
		options.Scheme, options.NewCache = scheme, read.NewCache
		options.Cache.ByObject = map[client.Object]cache.ByObject{
			&apiextensionsv1.CustomResourceDefinition{}:               {Field: named(kind.Definition())},
			&admissionregistrationv1.ValidatingWebhookConfiguration{}: {Field: named(configuration)},
			&corev1.Secret{}: {
				Namespaces: map[string]cache.Config{secret.Namespace: {}},
				Field:      named(secret.Name),
			},
		}
	})
}

func named(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }

// NoTimeout is how long a controller may wait for its caches: as long as it
// takes. A process that ended each time would be started more and more rarely,
// and be late when the API server, or the conversion, is back.
const NoTimeout = time.Duration(math.MaxInt64)
