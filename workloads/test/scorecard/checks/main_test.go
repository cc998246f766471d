package checks

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/testenv"
	"github.com/critical-service/operator/workloads/internal/conversion"
	"github.com/critical-service/operator/workloads/internal/settings"
)

var (
	cluster *testenv.Cluster
	// tester may do what config/scorecard/rbac.yaml allows, and no more.
	tester client.WithWatch
	// unprivileged is a user without any permission.
	unprivileged client.WithWatch
)

// self is the Pod in which the tests believe to run.
var self = client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "scorecard-test-self"}

func TestMain(m *testing.M) {
	testenv.MainOf(m, testenv.Installation{
		Config: "workloads/config", Namespace: settings.DefaultNamespace, Account: Suite.Operator.Name,
		Definitions: []string{"config/crd/bases"}, Conversion: conversion.Handler,
	}, scheme, &cluster, prepare)
}

func prepare(ctx context.Context) error {
	var err error
	if tester, err = as("tester"); err != nil {
		return err
	}
	if unprivileged, err = as("unprivileged"); err != nil {
		return err
	}
	operator := podOf(metav1.NamespaceDefault, "operator", "manager")
	operator.Labels = map[string]string{"app.kubernetes.io/name": Suite.Operator.Name, "app.kubernetes.io/component": "manager"}
	if err := errors.Join(grant(ctx), cluster.Client.Create(ctx, podOf(self.Namespace, self.Name, "scorecard-test")), cluster.Client.Create(ctx, operator)); err != nil {
		return err
	}
	becomeReady(operator, "10.2.0.1")
	return cluster.Client.Status().Update(ctx, operator)
}

// as connects as a user, by the permissions of an administrator.
func as(user string) (client.WithWatch, error) {
	config := rest.CopyConfig(cluster.Admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	known, err := scheme()
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: known})
}

func podOf(namespace, name, container string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: "registry.example/workloads:test"}}},
	}
}

// grant gives the tester the permissions that the tests have in a cluster.
func grant(ctx context.Context) error {
	objects, err := testenv.ReadYAML(testenv.Path("workloads/config/scorecard/rbac.yaml"))
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() != "ClusterRole" {
			continue
		}
		return errors.Join(cluster.Client.Create(ctx, object), cluster.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: object.GetName()},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: object.GetName()},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tester"}},
		}))
	}
	return errors.New("workloads/config/scorecard/rbac.yaml has no ClusterRole")
}
