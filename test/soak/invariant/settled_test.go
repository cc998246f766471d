package invariant

import (
	"testing"

	. "github.com/onsi/gomega"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// onDemand makes the fallback a Pod that is made in an outage.
func onDemand(look *Look) {
	look.Policies[0].Protection().Fallback = criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{Activation: criticalv2.ActivationOnDemand}}
}

func fallbackPod(look *Look) {
	made := pod("service-watcher-shop", "10.0.0.5")
	made.Labels = map[string]string{criticalv2.LabelFallbackFor: "shop"}
	made.Annotations = map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned}
	made.OwnerReferences = ofKind("", "", "", "policy").OwnerReferences
	look.Pods = append(look.Pods, made)
}

func TestUnsettled(t *testing.T) {
	tests := map[string]struct {
		changes []change
		want    string
	}{
		"a calm world is settled":                    {},
		"without protection it is not":               {changes: []change{optOut}, want: "Service shop is not protected"},
		"in an outage it is not":                     {changes: []change{outage}, want: "Service shop has no ready endpoint of its own"},
		"without answers it is not":                  {changes: []change{withdraw, fallSilent}, want: "Service shop is not answered"},
		"with a promoted fallback it is not":         {changes: []change{promote}, want: "Service shop has a fallback that is promoted"},
		"without a standby it is not":                {changes: []change{withdraw}, want: "Service shop has no standby"},
		"a fallback that is made on demand has none": {changes: []change{withdraw, onDemand}},
		"and leaves no Pod behind":                   {changes: []change{withdraw, onDemand, fallbackPod}, want: "Service shop has a fallback Pod, which is made on demand"},
		"a Pod that stands by may stay":              {changes: []change{fallbackPod}},
		"while a Pod of the operator is not ready it is not": {
			changes: []change{func(look *Look) { look.Operators[1].Status.Conditions = nil }}, want: "Pod operator-2 of the operator is not ready",
		},
		"without an operator it is not": {changes: []change{func(look *Look) { look.Operators = nil }}, want: "the operator has no Pods"},
		"what breaks an invariant after a while is not there at all": {
			changes: []change{func(look *Look) { look.Slices[1].OwnerReferences = nil }}, want: "EndpointSlice shop-standby",
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			g, look := NewWithT(t), calm()
			for _, change := range test.changes {
				change(look)
			}
			if test.want == "" {
				g.Expect(Unsettled(look)).To(BeEmpty())
				return
			}
			g.Expect(Unsettled(look)).To(ContainElement(ContainSubstring(test.want)))
		})
	}
}

func TestWhatTheOperatorWroteIsFound(t *testing.T) {
	tests := map[string]struct {
		change change
		want   []string
	}{
		"nothing in a world that stands still":      {change: func(*Look) {}},
		"a slice that changed":                      {change: func(look *Look) { look.Slices[1].ResourceVersion = "2" }, want: []string{"EndpointSlice shop-standby"}},
		"one that was made again":                   {change: func(look *Look) { look.Slices[1].UID = "another" }, want: []string{"EndpointSlice shop-standby"}},
		"one that went":                             {change: withdraw, want: []string{"EndpointSlice shop-standby"}},
		"the status of a policy":                    {change: func(look *Look) { look.Policies[0].SetResourceVersion("2") }, want: []string{"CriticalService policy"}},
		"not what others write":                     {change: func(look *Look) { look.Slices[0].ResourceVersion, look.Others[3].ResourceVersion = "2", "2" }},
		"not the status of Pods, which kubelets do": {change: func(look *Look) { look.Pods[1].ResourceVersion = "2" }},
		"one that came": {
			change: func(look *Look) {
				look.Slices = append(look.Slices, standby("more", "critical-service-responder-1", "10.0.0.9", false))
			},
			want: []string{"EndpointSlice more"},
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			after := calm()
			test.change(after)
			NewWithT(t).Expect(Written(calm(), after)).To(Equal(test.want))
		})
	}
}

func TestWhatRemainsIsTheOperators(t *testing.T) {
	NewWithT(t).Expect(Remaining(calm())).To(ConsistOf("EndpointSlice shop-standby", "Pod critical-service-responder-1",
		"Deployment critical-service-responder", "ReplicaSet replica-set", "ConfigMap critical-service-responder-table"))
}
