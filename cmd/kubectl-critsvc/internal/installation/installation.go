// Package installation finds the operator by what only an administrator of the
// cluster can write. Labels alone prove nothing: a user who may create Deployments in
// any namespace could set them, and be given what is meant for the operator.
package installation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// UsualNamespace is that of the operator, unless another was chosen.
	UsualNamespace = "critical-service-system"
	// Name is that of the operator's ServiceAccount, as all ways to install it make
	// it, and of its Lease.
	Name = "critical-service-operator"
	// Definition is the name of the CustomResourceDefinition.
	Definition = "criticalservices.mycrd.com"
	// Container is the one of the operator's Pods that has its image.
	Container = "manager"
)

// Labels are those of the operator's Pods, however it was installed.
var Labels = client.MatchingLabels{"app.kubernetes.io/name": Name, "app.kubernetes.io/component": Container}

// Namespace is the one to which the CustomResourceDefinition has versions converted:
// the operator serves that, and its namespace stands there in every way of installing
// it. Where the definition names none, because the operator runs outside the cluster,
// or may not be read, it is the usual one.
func Namespace(ctx context.Context, from client.Reader) (string, error) {
	var definition unstructured.Unstructured
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := from.Get(ctx, client.ObjectKey{Name: Definition}, &definition)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return UsualNamespace, nil
	case err != nil:
		return "", fmt.Errorf("read CustomResourceDefinition %s, which says where the operator is: %w", Definition, err)
	}
	namespace, _, err := unstructured.NestedString(definition.Object, "spec", "conversion", "webhook", "clientConfig", "service", "namespace")
	if err != nil {
		return "", fmt.Errorf("CustomResourceDefinition %s does not say where the operator is: %w", Definition, err)
	}
	return cmp.Or(namespace, UsualNamespace), nil
}

// Deployments are those of the operator in its namespace: one, where all is well.
// They are known by the labels of their Pods, as OLM gives a Deployment others.
func Deployments(ctx context.Context, from client.Reader, namespace string) ([]appsv1.Deployment, error) {
	var found appsv1.DeploymentList
	if err := from.List(ctx, &found, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("look for the operator's Deployment in namespace %s: %w", namespace, err)
	}
	return slices.DeleteFunc(found.Items, func(d appsv1.Deployment) bool {
		for key, value := range Labels {
			if d.Spec.Template.Labels[key] != value {
				return true
			}
		}
		return false
	}), nil
}

// Find finds the namespace of the operator, and its Deployments there.
func Find(ctx context.Context, from client.Reader) (namespace string, deployments []appsv1.Deployment, err error) {
	if namespace, err = Namespace(ctx, from); err != nil {
		return "", nil, err
	}
	deployments, err = Deployments(ctx, from, namespace)
	return namespace, deployments, err
}

// Image is that of the operator; empty if the Deployment has none.
func Image(deployment *appsv1.Deployment) string {
	containers := deployment.Spec.Template.Spec.Containers
	at := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == Container })
	if at < 0 {
		return ""
	}
	return containers[at].Image
}
