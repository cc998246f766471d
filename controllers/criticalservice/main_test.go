package criticalservice_test

import (
	"context"
	"log"
	"os"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/controllers"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/controllers/internal/testenv"
)

var cluster *testenv.Cluster

func TestMain(m *testing.M) {
	if os.Getenv(runAsOperator) != "" {
		if err := shipped(); err != nil {
			log.Fatal(err)
		}
		return
	}
	testenv.Main(m, controllers.Scheme, &cluster)
}

// standard are the settings of an operator that nobody has set up.
var standard = criticalservice.Options{
	Template:      types.NamespacedName{Namespace: testenv.OperatorNamespace, Name: "critical-service-pod-template"},
	PodNamePrefix: "service-watcher",
}

// program is the operator as production puts it together.
func program(options criticalservice.Options) testenv.Program {
	all := controllers.Options{CriticalService: options}
	return testenv.Program{
		Cache: controllers.CacheOptions(all),
		Setup: func(ctx context.Context, mgr ctrl.Manager) error { return controllers.Setup(ctx, mgr, all) },
	}
}

// shared is the one standard operator of all the tests that run side by side. It
// runs while there is such a test. Tests that need an operator of their own run
// one after the other, before those.
var shared struct {
	sync.Mutex
	users    int
	operator *testenv.Operator
}

func sharedOperator(t *testing.T) *testenv.Operator {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.users == 0 {
		provideTemplate(t, standard.Template)
		shared.operator = cluster.Start(t, program(standard))
	}
	shared.users++
	t.Cleanup(func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.users--; shared.users == 0 {
			shared.operator.Stop(t)
		}
	})
	return shared.operator
}

// provideTemplate makes sure that a PodTemplate exists.
func provideTemplate(t testing.TB, name types.NamespacedName) *corev1.PodTemplate {
	t.Helper()
	template := &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{
				Labels:      map[string]string{"app.kubernetes.io/component": "fallback"},
				Annotations: map[string]string{"example.com/page": "sorry"},
			},
			Spec: testenv.PodSpec(),
		},
	}
	if err := cluster.Client.Create(t.Context(), template); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return template
}
