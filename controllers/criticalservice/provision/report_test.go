package provision

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
)

func TestWhatIsRememberedOfAnObservation(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	attempt := decide.Attempt{Reason: criticalv2.ReasonNameTaken}
	theirs := corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "theirs", Annotations: map[string]string{"a": "long one"}}}
	tests := map[string]struct {
		snap              decide.Snapshot
		done              outcome
		attempt, conflict bool
	}{
		"the answer is still true":  {decide.Snapshot{Service: service, Attempt: &attempt}, outcome{}, true, false},
		"the answer is out of date": {decide.Snapshot{Service: service}, outcome{}, false, false},
		"there is a new answer":     {decide.Snapshot{Service: service}, outcome{asked: true}, true, false},
		"another Pod has the name":  {decide.Snapshot{Service: service, Attempt: &attempt, NameConflict: &theirs}, outcome{}, true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			observer, _ := observetest.Of(t, service)
			r := &Reconciler{Observer: observer}
			r.Memory.Attempts.Set(key, attempt)
			r.Memory.Lookups.Set(key, memory.Lookup{})
			r.remember(t.Context(), key, &test.snap, test.done)
			g.Expect(r.Memory.Attempts.Get(key) != nil).To(Equal(test.attempt), "attempt")
			known := r.Memory.Lookups.Get(key)
			g.Expect(known != nil).To(Equal(test.conflict), "name conflict")
			if known != nil {
				g.Expect(known.Conflict.UID).To(Equal(theirs.UID))
				g.Expect(known.Conflict.Annotations).To(BeEmpty(), "what others write is not kept")
			}
		})
	}
}

func TestWhatCountsAsAnActivation(t *testing.T) {
	governor := &criticalv2.CriticalService{}
	tests := map[string]struct {
		plan decide.Plan
		done outcome
		want metrics.Activation
	}{
		"no CriticalService governs": {decide.Plan{}, outcome{}, metrics.Activation{}},
		"the Service answers":        {decide.Plan{Governor: governor, OwnReady: 1}, outcome{}, metrics.Activation{}},
		"it is in outage":            {decide.Plan{Governor: governor}, outcome{}, metrics.Activation{InOutage: true}},
		"a Pod is made":              {decide.Plan{Governor: governor}, outcome{created: &corev1.Pod{}}, metrics.Activation{InOutage: true, Created: true}},
		"a Pod is denied":            {decide.Plan{Governor: governor}, outcome{denied: true}, metrics.Activation{InOutage: true, Denied: "podTemplate"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(activation(&test.plan, &test.done)).To(Equal(test.want))
		})
	}
}

// A user who reads the events of a Service that went dark must find why.
func TestAServiceThatLeavesProtectionInAnOutageIsReported(t *testing.T) {
	down := []discoveryv1.EndpointSlice{{AddressType: discoveryv1.AddressTypeIPv4}}
	up := []discoveryv1.EndpointSlice{{
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(80))}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
	}}
	promoted := outcome{unpublished: []*discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}}}}}
	standby := outcome{unpublished: []*discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: new(false)}}}}}}
	tests := map[string]struct {
		slices []discoveryv1.EndpointSlice
		plan   decide.Plan
		done   outcome
		want   bool
	}{
		"its promoted standby went, and no CriticalService matches": {down, decide.Plan{}, promoted, true},
		"its owner opted out":                                          {down, decide.Plan{Governor: &criticalv2.CriticalService{}, State: criticalv2.StateIgnored}, promoted, true},
		"it answers by itself":                                         {up, decide.Plan{}, promoted, false},
		"its standby did not answer":                                   {down, decide.Plan{}, standby, false},
		"another kind of fallback answers instead":                     {down, decide.Plan{Governor: &criticalv2.CriticalService{}, State: criticalv2.StateCovered}, promoted, false},
		"nothing was withdrawn, though no CriticalService asks for it": {down, decide.Plan{}, outcome{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
			NewWithT(t).Expect(leavesInOutage(&decide.Snapshot{Service: service, Slices: test.slices}, test.plan, test.done)).To(Equal(test.want))
		})
	}
}
