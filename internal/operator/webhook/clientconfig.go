package webhook

import (
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func updateConversion(ctx context.Context, c client.Client, options Options, url string, authority []byte) error {
	found := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(ctx, types.NamespacedName{Name: options.Kind.Definition()}, found); err != nil {
		return client.IgnoreNotFound(err)
	}
	trusted, err := options.bundle(authority, trustedToConvert(found), time.Now())
	if err != nil {
		return err
	}
	wanted := found.DeepCopy()
	pointAtConversion(wanted, options, url, trusted)
	return patch(ctx, c, found, wanted, "conversion webhook client config of CRD "+options.Kind.Definition())
}

func trustedToConvert(crd *apiextensionsv1.CustomResourceDefinition) []byte {
	if crd.Spec.Conversion == nil || crd.Spec.Conversion.Webhook == nil || crd.Spec.Conversion.Webhook.ClientConfig == nil {
		return nil
	}
	return crd.Spec.Conversion.Webhook.ClientConfig.CABundle
}

func pointAtConversion(crd *apiextensionsv1.CustomResourceDefinition, options Options, url string, trusted []byte) {
	config := &apiextensionsv1.WebhookClientConfig{CABundle: trusted}
	if url != "" {
		config.URL = new(url + Path)
	} else {
		config.Service = &apiextensionsv1.ServiceReference{
			Namespace: options.Namespace, Name: options.Service, Path: new(Path), Port: new(int32(servicePort)),
		}
	}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: config, ConversionReviewVersions: []string{"v1"}},
	}
}

// updateValidation does nothing where there is no configuration: earlier releases
// had none, and OLM makes one under a name of its own.
func updateValidation(ctx context.Context, c client.Client, options Options, url string, authority []byte) error {
	found := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := c.Get(ctx, types.NamespacedName{Name: options.Service}, found); err != nil {
		return client.IgnoreNotFound(err)
	}
	trusted, err := options.bundle(authority, trustedToValidate(found, options.Validation), time.Now())
	if err != nil {
		return err
	}
	wanted := found.DeepCopy()
	pointAtValidation(wanted, options, url, trusted)
	return patch(ctx, c, found, wanted, "client config of ValidatingWebhookConfiguration "+options.Service)
}

func trustedToValidate(configuration *admissionregistrationv1.ValidatingWebhookConfiguration, validation Validation) []byte {
	if ours := webhookOf(configuration, validation); ours != nil {
		return ours.ClientConfig.CABundle
	}
	return nil
}

// pointAtValidation changes where the webhook is. Its rules and its failure policy
// are those of the installation.
func pointAtValidation(configuration *admissionregistrationv1.ValidatingWebhookConfiguration, options Options, url string, trusted []byte) {
	ours := webhookOf(configuration, options.Validation)
	if ours == nil {
		return
	}
	ours.ClientConfig = admissionregistrationv1.WebhookClientConfig{CABundle: trusted}
	if url != "" {
		ours.ClientConfig.URL = new(url + options.Validation.Path)
		return
	}
	ours.ClientConfig.Service = &admissionregistrationv1.ServiceReference{
		Namespace: options.Namespace, Name: options.Service, Path: new(options.Validation.Path), Port: new(int32(servicePort)),
	}
}

func webhookOf(configuration *admissionregistrationv1.ValidatingWebhookConfiguration, validation Validation) *admissionregistrationv1.ValidatingWebhook {
	for i := range configuration.Webhooks {
		if configuration.Webhooks[i].Name == validation.Name {
			return &configuration.Webhooks[i]
		}
	}
	return nil
}

// patch writes what differs, if anything does.
func patch(ctx context.Context, c client.Client, found, wanted client.Object, what string) error {
	if equality.Semantic.DeepEqual(found, wanted) {
		return nil
	}
	if err := c.Patch(ctx, wanted, client.MergeFromWithOptions(found, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("update %s: %w", what, err)
	}
	log.FromContext(ctx).Info("updated " + what)
	return nil
}
