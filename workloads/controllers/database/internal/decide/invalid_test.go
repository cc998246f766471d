package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
)

// The schema refuses both, and may have been another when they were stored.
func TestOfASpecThatIsNotValidNothingIsMade(t *testing.T) {
	for sentence, change := range map[string]func(*workloadsv1.Database){
		"a limit": func(d *workloadsv1.Database) { d.Spec.Pod.Resources.Limits = workloadsv1.Quantities{"memory": "1e.5"} },
		"a size":  func(d *workloadsv1.Database) { d.Spec.Storage.Size = "1e-999999999" },
	} {
		t.Run(sentence+" of a new Database", func(t *testing.T) {
			g := NewWithT(t)
			s := running()
			s.Database = database(change)
			s.Pod, s.Claim, s.Secret = nil, nil, decide.Secret{}
			plan := decide.Decide(s)
			g.Expect(plan.CreatePod).To(BeNil())
			g.Expect(plan.CreateClaim).To(BeNil())
			g.Expect(plan.Generate).To(BeFalse())
			g.Expect(ready(t, s).Reason).To(Equal(workloadsv1.ReasonCreateDenied))
			g.Expect(ready(t, s).Message).To(And(HavePrefix("The spec is not valid: spec."), ContainSubstring("is not a quantity: write for example")))
		})
		t.Run(sentence+" of one that runs, which goes on", func(t *testing.T) {
			g := NewWithT(t)
			s := running(func(s *decide.Snapshot) { change(s.Database) })
			plan := decide.Decide(s)
			g.Expect(plan.IsEmpty()).To(BeTrue(), "%+v", plan)
			g.Expect(ready(t, s).Message).To(ContainSubstring("the database answers as it did"))
		})
	}
}
