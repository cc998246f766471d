// Package operator runs the core: the controllers that protect Services.
package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/critical-service/operator/controllers"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/controllers/monitoring"
	"github.com/critical-service/operator/controllers/responder"
	"github.com/critical-service/operator/internal/operator/manager"
	"github.com/critical-service/operator/internal/operator/settings"
	"github.com/critical-service/operator/internal/operator/webhook"
	"github.com/critical-service/operator/internal/operator/webhook/policy"
)

// diagnoseAfter leaves the first moment of an outage to the failover.
const diagnoseAfter = time.Second

// monitoringPeriod is after how long it is noticed at the latest that the Prometheus operator
// was installed, or that an object of monitoring was changed.
const monitoringPeriod = 2 * time.Minute

// Run runs the operator with the cluster of the current kubeconfig, or the one
// it runs in, until the context ends.
func Run(ctx context.Context, s *settings.Settings) error {
	options := optionsOf(s)
	ctrl.SetLogger(s.Logger()) // For the wait until the API server answers, before the manager runs.
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	mayRunPods, err := askForPods(ctx, config, s.Namespaces)
	if err != nil {
		return err
	}
	if !mayRunPods {
		options.CriticalService.NoPods = podsNotPermitted
	}
	return manager.Run(ctx, &s.Manager, manager.Operator{
		Name:     "critical-service-operator",
		Settings: s,
		Scheme:   controllers.Scheme,
		Cache:    controllers.CacheOptions(options),
		Webhook:  policy.Options,
		Setup: func(ctx context.Context, mgr ctrl.Manager) error {
			changed := &podsPermission{config: mgr.GetConfig(), namespaces: s.Namespaces, granted: mayRunPods, every: askEvery}
			return errors.Join(mgr.Add(changed), setup(ctx, mgr, s, options))
		},
	})
}

// optionsOf are the settings as the controllers want them.
func optionsOf(s *settings.Settings) controllers.Options {
	return controllers.Options{
		CriticalService: criticalservice.Options{
			Template:          types.NamespacedName{Namespace: s.PodTemplateNamespace, Name: s.PodTemplate},
			OperatorNamespace: s.OperatorNamespace,
			PodNamePrefix:     s.PodNamePrefix,
			Namespaces:        s.Namespaces,
			NoTenants:         !s.Tenants,
			SelfTestInterval:  s.SelfTestInterval,
			DiagnoseAfter:     diagnoseAfter,
			Registry:          metrics.Registry,
		},
		Responder: responder.Options{
			ImagePullSecrets: s.ResponderImagePullSecrets,
			PriorityClass:    s.ResponderPriorityClass,
			MaxReplicas:      s.ResponderMaxReplicas,
			Namespaces:       s.Namespaces,
			Registry:         metrics.Registry,
		},
		Monitoring: monitoring.Options{
			// Without metrics there is nothing to scrape, and the alert that no operator leads would fire.
			Off:        s.Monitoring == "off" || s.MetricsBindAddress == "0",
			Namespace:  s.OperatorNamespace,
			PlainHTTP:  !s.MetricsSecure,
			Namespaces: s.Namespaces,
			NoTenants:  !s.Tenants,
			Period:     monitoringPeriod,
			Registry:   metrics.Registry,
		},
	}
}

// setup adds all that the manager runs.
func setup(ctx context.Context, mgr ctrl.Manager, s *settings.Settings, options controllers.Options) error {
	image, err := responderImage(ctx, mgr.GetConfig(), s)
	if err != nil {
		return err
	}
	options.Responder.Image = image
	if image == "" {
		options.CriticalService.NoResponder = imageUnknown
	}
	if err := controllers.Setup(ctx, mgr, options); err != nil {
		return err
	}
	conversion, err := policy.Conversion()
	if err != nil {
		return err
	}
	mgr.GetWebhookServer().Register(webhook.Path, conversion)
	return policy.ServeValidation(mgr, policy.Settings{
		Namespaces:        options.CriticalService.Namespaces,
		Template:          options.CriticalService.Template,
		OperatorNamespace: options.CriticalService.OperatorNamespace,
		NoPods:            options.CriticalService.NoPods,
	})
}
