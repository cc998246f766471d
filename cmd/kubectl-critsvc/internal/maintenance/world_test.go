package maintenance

import (
	"bytes"
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage/outagetest"
	"github.com/critical-service/operator/internal/contract/listener"
)

// world is a namespace with a protected Service "web", whose page is prepared with the
// message "We move house.", and its Deployment with three replicas.
type world struct {
	*outagetest.World
	out, errOut bytes.Buffer
	t           *testing.T
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	service, prepared := stage(func(s *corev1.Service, _ *discoveryv1.EndpointSlice, _ *listener.Listener) {
		s.Spec.Selector = map[string]string{"app": "web"}
	})
	return &world{t: t, World: outagetest.NewWorld(t, append(append(objects, prepared...),
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(3))}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-1", Labels: service.Spec.Selector,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", Controller: new(true)}},
		}},
		&criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Name: "all"},
			Status: criticalv2.ProtectionStatus{Details: []criticalv2.ServiceStatus{
				{Namespace: "shop", Name: "web", State: criticalv2.StateArmed},
			}},
		},
	)...)}
}

func (w *world) access() *access.Access {
	return access.New(genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &w.out, ErrOut: &w.errOut})
}

// flags are those that were given.
func flags(given ...string) func(string) bool {
	return func(flag string) bool { return slices.Contains(given, flag) }
}

// on runs `maintenance on` with the message for which the page is prepared.
func (w *world) on(ctx context.Context, changes ...func(*announcement)) error {
	a := &announcement{
		to: w.access(), client: w, name: outagetest.Web, message: "We move house.", scaleDown: true, yes: true, timeout: patience,
		given: flags("message", "scale-down"),
	}
	for _, change := range changes {
		change(a)
	}
	return a.perform(ctx)
}

// off runs `maintenance off`, and does not wait for the application.
func (w *world) off() error { return w.end(false) }

func (w *world) end(yes bool) error {
	return (&ending{to: w.access(), yes: yes}).perform(w.t.Context(), w, outagetest.Web)
}

// unscaled is what a Maintenance is before anything is scaled.
func unscaled(m *criticalv2.Maintenance) {
	m.Spec.Restore, m.Status.Owed, m.Finalizers = nil, nil, nil
}
