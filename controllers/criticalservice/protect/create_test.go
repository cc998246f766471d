package protect

import (
	"testing"

	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
)

// Of 10,000 Services that are armed at once each Pod of the responder takes a slice, also
// those that the next rollout replaces.
func TestSlicesThatAskComeBeforeThoseOfPods(t *testing.T) {
	asks := &discoveryv1.EndpointSlice{}
	ofPod := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{criticalv2.LabelStandbyPod: "uid"}}}
	asked := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}
	for name, test := range map[string]struct {
		publish []*discoveryv1.EndpointSlice
		want    int
	}{
		"a Service asks":                    {[]*discoveryv1.EndpointSlice{asks}, askPriority},
		"a Service asks in one more family": {[]*discoveryv1.EndpointSlice{asked, asks, ofPod}, askPriority},
		"a Pod is to be published":          {[]*discoveryv1.EndpointSlice{asked, ofPod}, 0},
		"nothing is to be made":             {[]*discoveryv1.EndpointSlice{asked}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(priorityOfCreates(decide.Plan{Publish: test.publish})).To(Equal(test.want))
		})
	}
	NewWithT(t).Expect(wake.OutagePriority).To(BeNumerically(">", askPriority), "a Service that is down comes first")
}
