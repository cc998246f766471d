package webhook

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
)

// Conversion answers the API server's requests to convert CriticalServices.
func Conversion() (http.Handler, error) {
	scheme := runtime.NewScheme()
	versions := runtime.NewSchemeBuilder(criticalv1.AddToScheme, criticalv2.AddToScheme)
	if err := versions.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("list the versions of CriticalService: %w", err)
	}
	schema, err := crdschema.Load()
	if err != nil {
		return nil, err
	}
	converter, err := conversion.NewHubSpokeConverter(&criticalv2.CriticalService{},
		conversion.NewSpokeConverter(&criticalv1.CriticalService{},
			func(_ context.Context, from *criticalv2.CriticalService, to *criticalv1.CriticalService) error {
				return criticalv1.ConvertFromV2(from, to)
			},
			func(_ context.Context, from *criticalv1.CriticalService, to *criticalv2.CriticalService) error {
				return criticalv1.ConvertToV2(from, to, schema.Valid)
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
