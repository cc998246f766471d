package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
)

// With storage, the setting of the operator is for the first Pod only.
func TestWhichImageTheNextPodHas(t *testing.T) {
	const newer = "mongo:8.0"
	for sentence, c := range map[string]struct {
		change func(*decide.Snapshot)
		want   string
	}{
		"that of the last, after it was deleted": {func(*decide.Snapshot) {}, image},
		"that of the last, with other nodes":     {func(s *decide.Snapshot) { s.Database.Spec.Pod.NodeSelector = map[string]string{"disk": "fast"} }, image},
		"that of an earlier Database, whose data it is": {func(s *decide.Snapshot) {
			s.Database.UID, s.Service, s.Fallback.Object = "of-the-next", nil, nil
		}, image},
		"that of the spec":                                  {func(s *decide.Snapshot) { s.Database.Spec.Image = "mongo:7.0" }, "mongo:7.0"},
		"the setting, without data":                         {func(s *decide.Snapshot) { s.Claim = nil }, newer},
		"the setting, where no Pod has had the data so far": {func(s *decide.Snapshot) { delete(s.Claim.Annotations, workloadsv1.AnnotationImage) }, newer},
		"the setting, without storage":                      {func(s *decide.Snapshot) { withoutStorage(s.Database); s.Claim = nil }, newer},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := running(func(s *decide.Snapshot) { s.Pod, s.Image = nil, newer }, c.change)
			NewWithT(t).Expect(decide.Decide(s).CreatePod.Spec.Containers[0].Image).To(Equal(c.want))
		})
	}
}

// Thousands of Databases may have a limit that their nodes evict them for.
func TestAPodThatAlwaysEndsIsMadeEverMoreSeldom(t *testing.T) {
	g := NewWithT(t)
	s := running()
	var lived []time.Duration
	for range 10 {
		s.Pod = s.Pod.DeepCopy()
		s.Pod.Status = corev1.PodStatus{Phase: corev1.PodFailed}
		plan := decide.Decide(s)
		for plan.RemovePod == nil {
			g.Expect(plan.RecheckAfter).To(BeNumerically(">", 0))
			s = carriedOut(s, &plan)
			s.Now = s.Now.Add(plan.RecheckAfter)
			plan = decide.Decide(s)
		}
		lived = append(lived, s.Now.Sub(s.Pod.CreationTimestamp.Time))
		s = settle(s)
	}
	g.Expect(lived).To(Equal([]time.Duration{
		10 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second,
		160 * time.Second, 300 * time.Second, 300 * time.Second, 300 * time.Second, 300 * time.Second,
	}))

	s.Pod = s.Pod.DeepCopy()
	makeReady(s.Pod)
	s.Database.Status = decide.Decide(s).Status
	s.Now = s.Now.Add(time.Hour)
	s.Pod.Status = corev1.PodStatus{Phase: corev1.PodFailed}
	g.Expect(decide.Decide(s).RemovePod).NotTo(BeNil(), "one that has run is replaced at once")
}
