package webhook

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/critical-service/operator/internal/operator/crdcache"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=criticalservices.mycrd.com,verbs=patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=critical-service-webhook,verbs=patch

// toConversion is in the CustomResourceDefinition.
var toConversion = pointer[*apiextensionsv1.CustomResourceDefinition]{
	keeper:  "webhook-trust",
	name:    crdcache.Name,
	does:    "converted",
	empty:   func() *apiextensionsv1.CustomResourceDefinition { return &apiextensionsv1.CustomResourceDefinition{} },
	trusted: trustedToConvert,
	point:   pointAtConversion,
}

func trustedToConvert(crd *apiextensionsv1.CustomResourceDefinition) []byte {
	if crd.Spec.Conversion == nil || crd.Spec.Conversion.Webhook == nil || crd.Spec.Conversion.Webhook.ClientConfig == nil {
		return nil
	}
	return crd.Spec.Conversion.Webhook.ClientConfig.CABundle
}

func pointAtConversion(crd *apiextensionsv1.CustomResourceDefinition, options Options, url string, trusted []byte) {
	way := &apiextensionsv1.WebhookClientConfig{CABundle: trusted}
	if url != "" {
		way.URL = new(url + Path)
	} else {
		way.Service = &apiextensionsv1.ServiceReference{
			Namespace: options.Namespace, Name: Service, Path: new(Path), Port: new(int32(servicePort)),
		}
	}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: way, ConversionReviewVersions: []string{"v1"}},
	}
}

// toValidation is in the ValidatingWebhookConfiguration. An install need not have
// one: earlier releases had none, and OLM makes one under a name of its own.
var toValidation = pointer[*admissionregistrationv1.ValidatingWebhookConfiguration]{
	keeper: "validation-trust",
	name:   crdcache.WebhookConfiguration,
	does:   "validated",
	empty: func() *admissionregistrationv1.ValidatingWebhookConfiguration {
		return &admissionregistrationv1.ValidatingWebhookConfiguration{}
	},
	trusted: trustedToValidate,
	point:   pointAtValidation,
}

func trustedToValidate(configuration *admissionregistrationv1.ValidatingWebhookConfiguration) []byte {
	if ours := ourWebhook(configuration); ours != nil {
		return ours.ClientConfig.CABundle
	}
	return nil
}

// pointAtValidation changes where the webhook is, and leaves what it is asked,
// and what happens without an answer, to whoever installed it.
func pointAtValidation(configuration *admissionregistrationv1.ValidatingWebhookConfiguration, options Options, url string, trusted []byte) {
	ours := ourWebhook(configuration)
	if ours == nil {
		return
	}
	ours.ClientConfig = admissionregistrationv1.WebhookClientConfig{CABundle: trusted}
	if url != "" {
		ours.ClientConfig.URL = new(url + ValidationPath)
		return
	}
	ours.ClientConfig.Service = &admissionregistrationv1.ServiceReference{
		Namespace: options.Namespace, Name: Service, Path: new(ValidationPath), Port: new(int32(servicePort)),
	}
}

func ourWebhook(configuration *admissionregistrationv1.ValidatingWebhookConfiguration) *admissionregistrationv1.ValidatingWebhook {
	for i := range configuration.Webhooks {
		if configuration.Webhooks[i].Name == validation {
			return &configuration.Webhooks[i]
		}
	}
	return nil
}
