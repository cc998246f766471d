package policy

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/crdcache"
	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
	"github.com/critical-service/operator/internal/operator/webhook/review"
)

// Kind is what is converted: CriticalServices.
var Kind = crdcache.Kind{GroupVersionKind: criticalv2.CriticalServiceKind, Plural: "criticalservices"}

// Conversion answers the API server's requests to convert CriticalServices.
func Conversion() (http.Handler, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(criticalv1.CriticalServiceKind, &old{})
	scheme.AddKnownTypeWithName(criticalv2.CriticalServiceKind, &current{})
	schema, err := crdschema.Load()
	if err != nil {
		return nil, err
	}
	converter, err := conversion.NewHubSpokeConverter(&current{},
		conversion.NewSpokeConverter(&old{},
			func(_ context.Context, from *current, to *old) error {
				return criticalv1.ConvertFromV2(&from.CriticalService, &to.CriticalService)
			},
			func(_ context.Context, from *old, to *current) error {
				return criticalv1.ConvertToV2(&from.CriticalService, &to.CriticalService, schema.Valid)
			},
		))(scheme)
	if err != nil {
		return nil, fmt.Errorf("make the converter of CriticalServices: %w", err)
	}
	registry := conversion.NewRegistry()
	if err := registry.RegisterConverter(criticalv2.CriticalServiceKind.GroupKind(), converter); err != nil {
		return nil, fmt.Errorf("make the converter of CriticalServices: %w", err)
	}
	return review.Handler(scheme, registry), nil
}

// old and current are CriticalServices as they come: what has no valid form is left out.
type (
	old     struct{ criticalv1.CriticalService }
	current struct{ criticalv2.CriticalService }
)

// UnmarshalJSON reads all that is valid.
func (o *old) UnmarshalJSON(data []byte) error { return review.Decode(data, &o.CriticalService) }

// UnmarshalJSON reads all that is valid.
func (c *current) UnmarshalJSON(data []byte) error { return review.Decode(data, &c.CriticalService) }
