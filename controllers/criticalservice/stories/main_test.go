// Package stories_test runs the operator against a real API server and asserts what
// a user sees: the objects, status, events and metrics. It knows none of the
// operator's insides.
package stories_test

import (
	"context"
	"log"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/controllers"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/test/testenv"
)

var cluster *testenv.Cluster

func TestMain(m *testing.M) {
	if os.Getenv(runAsOperator) != "" {
		if err := shipped(); err != nil {
			log.Fatal(err)
		}
		return
	}
	testenv.Parallel(1000) // They take turns.
	testenv.Main(m, controllers.Scheme, &cluster, prepare)
}

// standard are the default settings of an operator.
var standard = criticalservice.Options{
	Template:      types.NamespacedName{Namespace: testenv.OperatorNamespace, Name: "critical-service-pod-template"},
	PodNamePrefix: "service-watcher",
}

// prepare makes what all tests need.
func prepare(ctx context.Context) error {
	return cluster.Client.Create(ctx, newTemplate(standard.Template))
}

func newTemplate(name types.NamespacedName) *corev1.PodTemplate {
	return &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{
				Labels:      map[string]string{"app.kubernetes.io/component": "fallback"},
				Annotations: map[string]string{"example.com/page": "sorry"},
			},
			Spec: testenv.PodSpec(),
		},
	}
}
