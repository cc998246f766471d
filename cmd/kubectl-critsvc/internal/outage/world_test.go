package outage_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage/outagetest"
)

func newWorld(t *testing.T, objects ...client.Object) *outagetest.World {
	t.Helper()
	return outagetest.NewWorld(t, objects...)
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: outagetest.Web.Namespace, Name: name, UID: types.UID("uid of " + name)}
}

func ownedBy(meta metav1.ObjectMeta, kind, owner string) metav1.ObjectMeta {
	version := "apps/v1"
	if kind == "Shop" {
		version = "example.com/v1"
	}
	meta.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: version, Kind: kind, Name: owner, UID: types.UID("uid of " + owner), Controller: new(true),
	}}
	return meta
}

func service() *corev1.Service {
	return &corev1.Service{ObjectMeta: named("web"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}}
}

// pod is one that the Service selects.
func pod(name, kind, owner string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: named(name)}
	if kind != "" {
		p.ObjectMeta = ownedBy(p.ObjectMeta, kind, owner)
	}
	p.Labels = map[string]string{"app": "web"}
	for _, change := range changes {
		change(p)
	}
	return p
}

func deployment(name string, replicas int32, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: named(name), Spec: appsv1.DeploymentSpec{Replicas: new(replicas)}}
	for _, change := range changes {
		change(d)
	}
	return d
}

func replicaSet(name, deployment string) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: ownedBy(named(name), "Deployment", deployment), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3))}}
}

// application is a Deployment "web" with three replicas, and one of its Pods.
func application(changes ...func(*appsv1.Deployment)) []client.Object {
	return []client.Object{service(), pod("web-1", "ReplicaSet", "web-abc"), replicaSet("web-abc", "web"), deployment("web", 3, changes...)}
}

// statefulApplication is a StatefulSet "web" with three replicas, and one of its Pods.
func statefulApplication() []client.Object {
	return []client.Object{
		service(), pod("web-0", "StatefulSet", "web"), &appsv1.StatefulSet{ObjectMeta: named("web"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}},
	}
}
