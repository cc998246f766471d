package protect

import (
	"testing"

	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
)

func TestWhatCountsAsAnActivation(t *testing.T) {
	promoted := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage}},
		Endpoints:  []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
	}
	governor := &criticalv2.CriticalService{}
	tests := map[string]struct {
		plan decide.Plan
		done outcome
		want metrics.Activation
	}{
		"no CriticalService governs": {decide.Plan{}, outcome{}, metrics.Activation{}},
		"the Service answers":        {decide.Plan{Governor: governor, OwnReady: 1}, outcome{}, metrics.Activation{}},
		"it is in outage":            {decide.Plan{Governor: governor}, outcome{}, metrics.Activation{InOutage: true}},
		"a standby is promoted": {
			decide.Plan{Governor: governor}, outcome{published: []*discoveryv1.EndpointSlice{promoted}},
			metrics.Activation{InOutage: true, Promoted: criticalv2.FallbackKindPage},
		},
		"a slice is denied": {decide.Plan{Governor: governor}, outcome{denied: "page"}, metrics.Activation{InOutage: true, Denied: "page"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(activation(&decide.Snapshot{}, &test.plan, &test.done)).To(Equal(test.want))
		})
	}
}
