package checkup

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// ofTeam is a ServiceFallback that names the Service of the good world, and protects it.
func ofTeam() *criticalv2.ServiceFallback {
	fallback := &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "ours"}}
	fallback.Spec.Services = []string{"front"}
	fallback.Status = policy("front").Status
	return fallback
}

func TestWhatIsWrongWithAServiceFallbackIsFound(t *testing.T) {
	overridden := func(fallback *criticalv2.ServiceFallback) {
		detail := &fallback.Status.Details[0]
		detail.State, detail.Reason = criticalv2.StateIgnored, criticalv2.ReasonOverridden
		detail.OverriddenBy = &criticalv2.PolicyReference{Kind: "CriticalService", Name: "pci"}
	}
	isNotReady := func(fallback *criticalv2.ServiceFallback, reason, message string) {
		condition := &fallback.Status.Conditions[0]
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reason, message
	}
	const partly = "not checked: which other Services are critical: you may not list CriticalServices"
	for sentence, test := range map[string]struct {
		change func(w *World, ours *criticalv2.ServiceFallback)
		want   []finding
	}{
		"nothing, if it governs the Service": {func(*World, *criticalv2.ServiceFallback) {}, nil},
		"a condition that is False": {func(_ *World, ours *criticalv2.ServiceFallback) {
			isNotReady(ours, criticalv2.ConditionReasonNotProtected, "1 of 2 is Arming")
		}, []finding{{checkCondition, Warning, "ServiceFallback ours is not Ready (NotProtected): 1 of 2 is Arming"}}},
		"it counts for nothing, and a CriticalService governs": {func(w *World, ours *criticalv2.ServiceFallback) {
			isNotReady(ours, "TooMany", "There are too many.")
			ours.Status.Details = nil
			w.Policies.Value = append(w.Policies.Value, policy("front"))
		}, []finding{{checkCondition, Warning, "ServiceFallback ours is not Ready (TooMany): There are too many."}}},
		"it counts for nothing, and nothing else governs": {func(_ *World, ours *criticalv2.ServiceFallback) {
			isNotReady(ours, "TooMany", "There are too many.")
			ours.Status.Details = nil
		}, []finding{{checkProtected, Warning, "ServiceFallback ours matches the Service, and its status does not name it"}, {checkCondition, Warning, "TooMany"}}},
		"CriticalServices that may not be read": {func(w *World, _ *criticalv2.ServiceFallback) {
			w.Policies.Problem = "you may not list CriticalServices"
		}, []finding{{checkServices, Warning, partly}}},
		"one of them that governs": {func(w *World, ours *criticalv2.ServiceFallback) {
			w.Policies.Problem = "you may not list CriticalServices"
			overridden(ours)
		}, []finding{{checkServices, Warning, partly}, {checkProtected, Warning, "not checked: CriticalService pci governs the Service, as the status of ServiceFallback ours says, and its own could not be read"}}},
		"its PodTemplate": {func(w *World, ours *criticalv2.ServiceFallback) {
			ours.Spec.Fallback = criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{Activation: criticalv2.ActivationStandby, Name: "spare"}}
			w.Services[0].Template.Missing = true
		}, []finding{{checkTemplate, Warning, "does not exist"}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			w, ours := good(t), ofTeam()
			w.Policies.Value = []criticalv2.Policy{ours}
			test.change(w, ours)
			var wrong []Finding
			problems := 0
			for _, found := range Examine(w).Findings {
				if found.Severity != OK {
					wrong = append(wrong, found)
				}
				problems += strings.Count(found.What, "you may not list CriticalServices")
			}
			g.Expect(problems).To(BeNumerically("<=", 1), "it is said once")
			g.Expect(wrong).To(HaveLen(len(test.want)), "%+v", wrong)
			for _, want := range test.want {
				g.Expect(wrong).To(ContainElement(want.matcher()))
			}
		})
	}
}
