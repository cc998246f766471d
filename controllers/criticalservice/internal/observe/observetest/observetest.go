// Package observetest makes observers over objects of a test.
package observetest

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/internal/protection"
)

// Of is an observer whose caches hold the given objects, and a client that changes
// them. A question to the API server fails the test.
func Of(t testing.TB, objects ...client.Object) (observe.Observer, client.Client) {
	t.Helper()
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, criticalv2.AddToScheme)
	if err := add.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cached := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&corev1.ConfigMap{}, metav1.ObjectNameField, func(object client.Object) []string { return []string{object.GetName()} }).
		WithIndex(&criticalv2.Maintenance{}, protection.IndexServicesOfMaintenance, observe.ServicesOfMaintenance).
		WithIndex(&discoveryv1.EndpointSlice{}, protection.IndexServiceOfSlice, observe.ServiceOfSlice).
		WithIndex(&discoveryv1.EndpointSlice{}, observe.IndexBackupOfSlice, observe.BackupOfSlice).
		WithIndex(&discoveryv1.EndpointSlice{}, observe.IndexPageOfSlice, observe.PageOfSlice).
		WithStatusSubresource(&criticalv2.CriticalService{}, &criticalv2.ServiceFallback{}).Build()
	live := neverAsked{t: t}
	return observe.Observer{
		Cached: cached, Live: live, Memory: &memory.Memory{}, Clock: clock.RealClock{}, LivePolicies: observe.NewPolicyReader(live, live, cached),
	}, cached
}

// Ask lets an observer ask an API server.
func Ask(observer *observe.Observer, live client.Reader) {
	observer.Live, observer.LivePolicies = live, observe.NewPolicyReader(live, live, observer.Cached)
}

// neverAsked is an API server that must not be asked.
type neverAsked struct {
	client.Reader
	t testing.TB
}

// Get implements client.Reader.
func (n neverAsked) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	n.t.Errorf("the API server was asked for %T %s", into, key)
	return nil
}
