// Package conversion answers the API server's requests to convert objects of this operator's
// kinds between their versions.
package conversion

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/critical-service/operator/internal/operator/webhook/review"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// Handler converts AppConfigs. The bodies that it is given must be bounded.
func Handler() (http.Handler, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(workloadsv1.AppConfigKind, &old{})
	scheme.AddKnownTypeWithName(workloadsv2.AppConfigKind, &current{})
	converter, err := conversion.NewHubSpokeConverter(&current{}, conversion.NewSpokeConverter(&old{},
		func(_ context.Context, from *current, to *old) error {
			workloadsv1.ConvertFromV2(&from.AppConfig, &to.AppConfig)
			return nil
		},
		func(_ context.Context, from *old, to *current) error {
			workloadsv1.ConvertToV2(&from.AppConfig, &to.AppConfig)
			return nil
		},
	))(scheme)
	if err != nil {
		return nil, fmt.Errorf("make the converter of AppConfigs: %w", err)
	}
	registry := conversion.NewRegistry()
	if err := registry.RegisterConverter(workloadsv2.AppConfigKind.GroupKind(), converter); err != nil {
		return nil, fmt.Errorf("make the converter of AppConfigs: %w", err)
	}
	return review.Handler(scheme, registry), nil
}

// old and current are AppConfigs as they come: what has no valid form is left out.
type (
	old     struct{ workloadsv1.AppConfig }
	current struct{ workloadsv2.AppConfig }
)

// UnmarshalJSON reads all that is valid.
func (o *old) UnmarshalJSON(data []byte) error { return review.Decode(data, &o.AppConfig) }

// UnmarshalJSON reads all that is valid.
func (c *current) UnmarshalJSON(data []byte) error { return review.Decode(data, &c.AppConfig) }
