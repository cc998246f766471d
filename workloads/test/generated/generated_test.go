package generated_test

import (
	"context"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/crdtest"
	"github.com/critical-service/operator/test/generated"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/controllers/appconfig"
	"github.com/critical-service/operator/workloads/controllers/database"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance"
	"github.com/critical-service/operator/workloads/controllers/webapp"
	"github.com/critical-service/operator/workloads/internal/conversion"
	"github.com/critical-service/operator/workloads/internal/operator"
)

var cluster *testenv.Cluster

func TestMain(m *testing.M) {
	testenv.MainOf(m, testenv.Installation{
		Config: "workloads/config", Namespace: operator.Namespace, Account: operator.Name,
		Definitions: []string{"config/crd/bases"}, Conversion: conversion.Handler,
	}, controllers.Scheme, &cluster, func(context.Context) error { return nil })
}

// generators are those of all kinds and versions, with valid objects of each: the samples, and what they do not reach.
func generators(t *testing.T) []*crdtest.Generator {
	t.Helper()
	read := func(file string) []byte {
		data, err := os.ReadFile(testenv.Path("workloads/config/" + file))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return data
	}
	of := func(kind, version string, examples []string, samples ...string) *crdtest.Generator {
		for _, sample := range samples {
			examples = append(examples, string(read("samples/mycrd.com_"+version+"_"+sample+".yaml")))
		}
		return crdtest.NewGenerator(t, crdtest.Definition{YAML: read("crd/bases/mycrd.com_" + kind + ".yaml"), Version: version}, examples...)
	}
	return []*crdtest.Generator{
		of("appconfigs", "v1", nil, "appconfig"),
		of("appconfigs", "v2", nil, "appconfig"),
		of("databases", "v1", nil, "database_mongo", "database_mysql", "database_postgres"),
		of("webapps", "v1", nil, "webapp", "webapp_own_counter"),
		of("etcdinstances", "v1alpha1", []string{
			`{apiVersion: mycrd.com/v1alpha1, kind: ETCDInstance, spec: {replicas: 1}}`,
			`{apiVersion: mycrd.com/v1alpha1, kind: ETCDInstance, spec: {replicas: 1, storage: {size: 1Gi}, restore: {upload: true}}}`,
			`{apiVersion: mycrd.com/v1alpha1, kind: ETCDInstance, spec: {storage: {size: 1Gi}, restore: {fromInstance: a}}}`,
		}, "etcdinstance"),
	}
}

// made are the kinds of what the operator makes.
var made = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	appsv1.SchemeGroupVersion.WithKind("Deployment"), appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), criticalv2.GroupVersion.WithKind("ServiceFallback"), workloadsv1.DatabaseKind,
}

// outlives reports whether an object is to stay when a Database is gone: its volume, and the password of the data in it.
func outlives(object *metav1.PartialObjectMetadata) bool {
	isData := object.Kind == "PersistentVolumeClaim" || object.Kind == "Secret"
	return isData && len(object.OwnerReferences) == 0
}

// An object that the API server accepts settles, and one that it refuses is refused in one sentence that names the field.
func TestAGeneratedObjectSettlesOrIsRefused(t *testing.T) {
	w := cluster.NewWorld(t)
	namespaces := []string{w.Namespace}
	options := controllers.Options{
		AppConfig:    appconfig.Options{Namespaces: namespaces},
		Database:     database.Options{ImageMongo: "mongo:4.0", ImageMySQL: "mysql:8.0", ImagePostgres: "postgres:16", Namespaces: namespaces},
		ETCDInstance: etcdinstance.Options{Image: "etcd:v3.7.0", OwnImage: "workloads:1", Namespaces: namespaces},
		WebApp:       webapp.Options{Image: "workloads:1", Namespaces: namespaces},
	}
	started := cluster.Start(t, testenv.Program{
		Cache: controllers.CacheOptions(options),
		Setup: func(ctx context.Context, mgr ctrl.Manager) error { return controllers.Setup(ctx, mgr, options) },
	})
	defer started.Stop(t)
	run := generated.Run{
		World: w, Operator: started, Kinds: generators(t), Made: made, Outlives: outlives,
		Prepare: func(_ int, object *unstructured.Unstructured) { object.SetNamespace(w.Namespace) },
	}
	run.Declare()
}
