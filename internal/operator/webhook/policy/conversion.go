package policy

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/crdcache"
	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
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
	return conversion.NewWebhookHandler(scheme, registry), nil
}

// old and current are CriticalServices as they come. The API server converts what is
// applied before it validates it, if another version of the object has a manager, and
// answers 500 where that fails. So what has no valid form is left out, and the
// validation finds it in the original.
type (
	old     struct{ criticalv1.CriticalService }
	current struct{ criticalv2.CriticalService }
)

// UnmarshalJSON reads all that is valid.
func (o *old) UnmarshalJSON(data []byte) error { return decode(data, &o.CriticalService) }

// UnmarshalJSON reads all that is valid.
func (c *current) UnmarshalJSON(data []byte) error { return decode(data, &c.CriticalService) }

// decode reads an object without the fields of its spec and its status that cannot be
// read.
func decode[T any](data []byte, into *T) error {
	if json.Unmarshal(data, into) == nil {
		return nil
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	for _, part := range []string{"spec", "status"} {
		fields, _ := object[part].(map[string]any)
		for name, value := range fields {
			if !readable[T](map[string]any{part: map[string]any{name: value}}) {
				delete(fields, name)
			}
		}
	}
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var valid T
	*into = valid
	return json.Unmarshal(data, into)
}

func readable[T any](object map[string]any) bool {
	data, err := json.Marshal(object)
	return err == nil && json.Unmarshal(data, new(T)) == nil
}
