package ownership_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/internal/ownership"
)

func TestWhoseAnObjectIs(t *testing.T) {
	orders := ownership.Owner{Reference: metav1.OwnerReference{APIVersion: "mycrd.com/v1", Kind: "Database", Name: "orders", UID: "1", Controller: new(true)}, Labels: []string{workloadsv1.LabelDatabase}}
	by := func(change func(*metav1.OwnerReference)) []metav1.OwnerReference {
		reference := *orders.Reference.DeepCopy()
		change(&reference)
		return []metav1.OwnerReference{reference}
	}
	ours := map[string]string{workloadsv1.LabelManagedBy: workloadsv1.ManagedBy, workloadsv1.LabelDatabase: "orders"}
	for sentence, c := range map[string]struct {
		owners        []metav1.OwnerReference
		labels        map[string]string
		ours, earlier bool
	}{
		"what it controls is its own, whatever its labels say":  {by(func(*metav1.OwnerReference) {}), nil, true, false},
		"what was orphaned is taken back":                       {nil, ours, true, false},
		"what has an owner that does not control it, too":       {by(func(r *metav1.OwnerReference) { r.Controller, r.UID, r.Kind = nil, "2", "Deployment" }), ours, true, false},
		"what an earlier one owns without controlling it":       {by(func(r *metav1.OwnerReference) { r.Controller, r.UID = nil, "2" }), nil, false, true},
		"what belongs to none, and does not say so, is not":     {nil, map[string]string{workloadsv1.LabelDatabase: "orders"}, false, false},
		"nor what names another":                                {nil, map[string]string{workloadsv1.LabelManagedBy: workloadsv1.ManagedBy, workloadsv1.LabelDatabase: "users"}, false, false},
		"what an earlier one controls is about to go":           {by(func(r *metav1.OwnerReference) { r.UID = "2" }), ours, false, true},
		"what one of another name controls is another's":        {by(func(r *metav1.OwnerReference) { r.UID, r.Name = "2", "users" }), ours, false, false},
		"what an earlier one controls in another version, too":  {by(func(r *metav1.OwnerReference) { r.UID, r.APIVersion = "2", "mycrd.com/v2" }), ours, false, true},
		"what a kind of this name of another operator controls": {by(func(r *metav1.OwnerReference) { r.UID, r.APIVersion = "2", "zalando.org/v1" }), nil, false, false},
		"what another kind controls is another's":               {by(func(r *metav1.OwnerReference) { r.UID, r.Kind = "2", "Job" }), ours, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			object := &metav1.ObjectMeta{OwnerReferences: c.owners, Labels: c.labels}
			g.Expect(orders.IsOurs(object)).To(Equal(c.ours))
			g.Expect(orders.IsEarlier(object)).To(Equal(c.earlier))
		})
	}
}
