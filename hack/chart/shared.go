package main

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// shared has the templates that every chart has, with NAME for the name of the chart, SETTINGS for that of the ConfigMap
// from which the operator takes its settings, CONVERTED for the resource that its webhook converts, and ROLE for the kind
// of role that is for that.
//
//go:embed all:shared
var shared embed.FS

// share adds the shared templates.
func (c *chart) share(plain []object) error {
	settings, err := settingsIn(plain)
	if err != nil {
		return err
	}
	converted, role, err := convertedIn(plain)
	if err != nil {
		return err
	}
	names := strings.NewReplacer("NAME", c.name, "SETTINGS", settings, "CONVERTED", converted, "ROLE", role)
	entries, err := shared.ReadDir("shared")
	if err != nil {
		return fmt.Errorf("list the shared templates: %w", err)
	}
	for _, entry := range entries {
		data, err := shared.ReadFile("shared/" + entry.Name())
		if err != nil {
			return fmt.Errorf("read a shared template: %w", err)
		}
		c.files[entry.Name()] = header + names.Replace(string(data))
	}
	return nil
}

// settingsIn is the name of the ConfigMap from which the Deployment among objects takes its environment.
func settingsIn(objects []object) (string, error) {
	for _, o := range objects {
		if o.kind() != "Deployment" {
			continue
		}
		var deployment appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &deployment); err != nil {
			return "", fmt.Errorf("read the Deployment %s: %w", o.name(), err)
		}
		for _, container := range deployment.Spec.Template.Spec.Containers {
			for _, source := range container.EnvFrom {
				if source.ConfigMapRef != nil {
					return source.ConfigMapRef.Name, nil
				}
			}
		}
	}
	return "", errors.New("no Deployment in config/default takes its environment from a ConfigMap")
}

// convertedIn is the resource among definitions that a webhook converts, and the kind of role that is for it.
func convertedIn(objects []object) (resource, role string, err error) {
	for _, o := range objects {
		if o.kind() != "CustomResourceDefinition" {
			continue
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &definition); err != nil {
			return "", "", fmt.Errorf("read the CustomResourceDefinition %s: %w", o.name(), err)
		}
		if conversion := definition.Spec.Conversion; conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter {
			continue
		}
		if definition.Spec.Scope == apiextensionsv1.NamespaceScoped {
			return definition.Spec.Names.Plural, "Role", nil
		}
		return definition.Spec.Names.Plural, "ClusterRole", nil
	}
	return "", "", errors.New("no CustomResourceDefinition in config/default is converted by a webhook")
}
