package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
)

func TestAResponderScalesWithinItsBounds(t *testing.T) {
	asks := func(replicas int32) func(*decide.Snapshot) {
		return func(s *decide.Snapshot) { page(criticalv2.PageFallback{Replicas: &replicas})(&s.Slices[0]) }
	}
	most := func(replicas int32) func(*decide.Snapshot) {
		return func(s *decide.Snapshot) { s.Settings.MaxReplicas = replicas }
	}
	// scaled is what the autoscaler does.
	scaled := func(replicas int32) func(*decide.Snapshot) {
		return func(s *decide.Snapshot) { s.Deployment.Spec.Replicas = &replicas }
	}
	for name, test := range map[string]struct {
		then []func(*decide.Snapshot)
		// low and high are the autoscaler's bounds; none is none.
		low, high, replicas int32
	}{
		"it begins with what its pages ask for":          {low: 2, high: 5, replicas: 2},
		"what the autoscaler wants is kept":              {then: []func(*decide.Snapshot){scaled(4)}, low: 2, high: 5, replicas: 4},
		"and less again":                                 {then: []func(*decide.Snapshot){scaled(4), scaled(3)}, low: 2, high: 5, replicas: 3},
		"no more than the setting allows":                {then: []func(*decide.Snapshot){scaled(9)}, low: 2, high: 5, replicas: 5},
		"no less than its pages ask for":                 {then: []func(*decide.Snapshot){scaled(1)}, low: 2, high: 5, replicas: 2},
		"its pages ask for more":                         {then: []func(*decide.Snapshot){asks(3)}, low: 3, high: 5, replicas: 3},
		"its pages ask for more than the setting allows": {then: []func(*decide.Snapshot){scaled(4), asks(6)}, replicas: 6},
		"the setting is taken back":                      {then: []func(*decide.Snapshot){scaled(4), most(0)}, replicas: 2},
		"a setting that leaves no room is none":          {then: []func(*decide.Snapshot){scaled(4), most(2)}, replicas: 2},
		"the setting is another":                         {then: []func(*decide.Snapshot){scaled(5), most(4)}, low: 2, high: 4, replicas: 4},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := settled(g, snapshot(service("web", port("http", 80)), slice("web", "ipv4"), most(5)))
			for _, change := range test.then {
				change(&s)
				s = settled(g, s)
			}
			g.Expect(s.Deployment.Spec.Replicas).To(HaveValue(Equal(test.replicas)))
			if test.high == 0 {
				g.Expect(s.Autoscaler).To(BeNil())
				return
			}
			g.Expect(s.Autoscaler.Spec.MinReplicas).To(HaveValue(Equal(test.low)))
			g.Expect(s.Autoscaler.Spec.MaxReplicas).To(Equal(test.high))
		})
	}
}

// A write of what was read before must not undo what the autoscaler has done since.
func TestTheDeploymentOfAResponderThatScalesIsWrittenAsItWasRead(t *testing.T) {
	for name, test := range map[string]struct {
		most    int32
		version string
	}{
		"it scales": {most: 5, version: "7"},
		"it does not, so that a conflict would be for nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := snapshot(service("web", port("http", 80)), slice("web", "ipv4"), func(s *decide.Snapshot) { s.Settings.MaxReplicas = test.most })
			g.Expect(decide.Decide(s).Deployment).To(HaveField("ResourceVersion", BeEmpty()), "a new one has no version")
			s = settled(g, s)
			s.Deployment.ResourceVersion = "7"
			s.Settings.Image = "another"
			g.Expect(decide.Decide(s).Deployment).To(HaveField("ResourceVersion", test.version))
		})
	}
}
