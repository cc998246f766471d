package main

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/critical-service/operator/test/testenv"
	"github.com/critical-service/operator/workloads/internal/operator"
)

// shippedIn is what the operator is installed with.
const shippedIn = "workloads/config/manager/manager.yaml"

// shipped is the environment of the operator where it is installed: some of it costs memory, or saves it.
func shipped() ([]string, error) {
	objects, err := testenv.ReadYAML(testenv.Path(shippedIn))
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s has %d objects, and should have the Deployment alone", shippedIn, len(objects))
	}
	var deployment appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, &deployment); err != nil {
		return nil, fmt.Errorf("%s: %w", shippedIn, err)
	}
	containers := deployment.Spec.Template.Spec.Containers
	if len(containers) != 1 {
		return nil, fmt.Errorf("%s has %d containers, and should have one", shippedIn, len(containers))
	}
	return environment(&containers[0])
}

// environment is what kubelet gives to a container of the operator by its variables.
func environment(container *corev1.Container) (variables []string, err error) {
	for _, variable := range container.Env {
		value, from := variable.Value, variable.ValueFrom
		switch {
		case from == nil:
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
			value = operator.Namespace
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.name":
			continue // The benchmark runs no Pod, of which the operator could read its image.
		case from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "limits.memory":
			value = strconv.FormatInt(container.Resources.Limits.Memory().Value(), 10)
		default:
			return nil, fmt.Errorf("%s: the value of %s comes from where this benchmark does not read: see environment", shippedIn, variable.Name)
		}
		variables = append(variables, variable.Name+"="+value)
	}
	return variables, nil
}
