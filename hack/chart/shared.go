package main

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// shared has the templates that every chart has, with NAME for the name of the chart and SETTINGS for that of the
// ConfigMap from which the operator takes its settings.
//
//go:embed all:shared
var shared embed.FS

// share adds the shared templates.
func (c *chart) share(plain []object) error {
	settings, err := settingsIn(plain)
	if err != nil {
		return err
	}
	entries, err := shared.ReadDir("shared")
	if err != nil {
		return fmt.Errorf("list the shared templates: %w", err)
	}
	for _, entry := range entries {
		data, err := shared.ReadFile("shared/" + entry.Name())
		if err != nil {
			return fmt.Errorf("read a shared template: %w", err)
		}
		c.files[entry.Name()] = header + strings.NewReplacer("NAME", c.name, "SETTINGS", settings).Replace(string(data))
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
