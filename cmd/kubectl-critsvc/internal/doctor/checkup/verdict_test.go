package checkup

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestTheVerdictIsUnclearWithoutDecisiveChecks(t *testing.T) {
	front := func(w *World) *Service { return w.Services[0] }
	for sentence, test := range map[string]struct {
		change func(w *World)
		want   Severity
	}{
		"all was checked":                     {func(*World) {}, OK},
		"no Service was checked":              {func(w *World) { w.Services = nil }, Unclear},
		"CriticalServices may not be read":    {func(w *World) { w.Policies = Reading[[]criticalv2.Policy]{Problem: "forbidden"} }, Unclear},
		"EndpointSlices may not be read":      {func(w *World) { front(w).Slices = Reading[[]discoveryv1.EndpointSlice]{Problem: "forbidden"} }, Unclear},
		"the standby may not be asked":        {func(w *World) { front(w).Answers[0].Unchecked = "forbidden" }, Unclear},
		"nodes may not be read":               {func(w *World) { w.WindowsNodes.Problem = "forbidden" }, Warning},
		"a problem is worse than not knowing": {func(w *World) { w.Services, w.Definition.Missing = nil, true }, Problem},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := good(t)
			test.change(w)
			NewWithT(t).Expect(Examine(w).Verdict).To(Equal(test.want))
		})
	}
}

func TestNoConsumerIsSaidToFailOverToNothing(t *testing.T) {
	for sentence, change := range map[string]func(s *Service){
		"no standby is published":        func(s *Service) { s.Slices.Value = s.Slices.Value[:1] },
		"EndpointSlices may not be read": func(s *Service) { s.Slices = Reading[[]discoveryv1.EndpointSlice]{Problem: "forbidden"} },
	} {
		t.Run(sentence, func(t *testing.T) {
			w := good(t)
			w.Services[0].Spec.Type = corev1.ServiceTypeNodePort
			change(w.Services[0])
			NewWithT(t).Expect(Examine(w).Findings).NotTo(ContainElement(HaveField("What", ContainSubstring("fail over at once"))))
		})
	}
}
