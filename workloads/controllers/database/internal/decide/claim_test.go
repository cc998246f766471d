package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
)

func TestWhatIsDoneWithTheClaim(t *testing.T) {
	grown := func(s *decide.Snapshot) { s.Database.Spec.Storage.Size = "2Gi" }
	for sentence, c := range map[string]struct {
		change func(*decide.Snapshot)
		want   func(g Gomega, plan *decide.Plan)
	}{
		"it grows with the spec": {grown, func(g Gomega, plan *decide.Plan) {
			g.Expect(plan.ChangeClaim).To(HaveLen(1))
			size := plan.ChangeClaim[0].To.Spec.Resources.Requests[corev1.ResourceStorage]
			g.Expect(size.String()).To(Equal("2Gi"))
		}},
		"it does not grow before it is bound": {
			func(s *decide.Snapshot) { grown(s); s.Claim.Status.Phase = corev1.ClaimPending }, nothing,
		},
		"one that outlived a Database of another size keeps its own": {
			func(s *decide.Snapshot) {
				s.Claim.Spec = render.Claim(database(func(d *workloadsv1.Database) { d.Spec.Storage.Size = "5Gi" })).Spec
			}, nothing,
		},
		"it goes with the Database where the policy says so": {
			func(s *decide.Snapshot) { s.Database.Spec.Storage.DeletionPolicy = workloadsv1.DeletionDelete },
			func(g Gomega, plan *decide.Plan) {
				g.Expect(plan.ChangeClaim[0].To.OwnerReferences[0].UID).To(Equal(database().UID))
			},
		},
		"it stays where the policy says that again": {
			func(s *decide.Snapshot) {
				s.Claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "mycrd.com/v1", Kind: "Database", Name: "orders", UID: database().UID}}
			},
			func(g Gomega, plan *decide.Plan) { g.Expect(plan.ChangeClaim[0].To.OwnerReferences).To(BeEmpty()) },
		},
		"the note of the image that has its data is put back": {
			func(s *decide.Snapshot) { delete(s.Claim.Annotations, workloadsv1.AnnotationImage) },
			func(g Gomega, plan *decide.Plan) {
				g.Expect(plan.ChangeClaim).To(HaveLen(1))
				g.Expect(plan.ChangeClaim[0].To.Annotations).To(HaveKeyWithValue(workloadsv1.AnnotationImage, image))
			},
		},
		"one that is being deleted is left to that": {
			func(s *decide.Snapshot) { grown(s); s.Claim.DeletionTimestamp = new(metav1.NewTime(now)) }, nothing,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			plan := decide.Decide(running(c.change))
			c.want(NewWithT(t), &plan)
		})
	}
}
