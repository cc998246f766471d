package fallback

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/bulk"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/internal/ownership"
)

// Any user of a namespace can label a ServiceFallback so that it is cached.
func TestTheServiceFallbacksOfStrangersTakeLittleMemory(t *testing.T) {
	g := NewWithT(t)
	object := bulk.Fill(&criticalv2.ServiceFallback{})
	object.Name, object.Namespace, object.UID, object.ResourceVersion = "orders", "shop", "1", "2"
	object.Labels[workloadsv1.LabelManagedBy] = workloadsv1.ManagedBy
	object.Annotations[annotationApplied] = strings.Repeat("x", 200_000)
	// Only the core writes the status.
	object.Status.Conditions[0] = metav1.Condition{Type: criticalv2.ConditionReady, Status: metav1.ConditionTrue, Reason: "Armed"}
	object.Status.Details[0] = criticalv2.ServiceStatus{Namespace: "shop", Name: "orders", State: criticalv2.StateArmed}

	slim, err := slim(object)
	g.Expect(err).NotTo(HaveOccurred())
	kept, err := json.Marshal(slim)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(kept)).To(BeNumerically("<", 2_500), "%.3000s", kept)
	g.Expect(slim.(*criticalv2.ServiceFallback).Spec).To(BeZero())
	g.Expect(slim.(*criticalv2.ServiceFallback).Status.DetailOf("shop", "orders").State).To(Equal(criticalv2.StateArmed))
	g.Expect(slim.(*criticalv2.ServiceFallback).Status.Conditions).To(HaveLen(1))
}

// What is kept must not look as if something were to be written.
func TestTheServiceFallbackOfADatabaseIsKeptAsItWasApplied(t *testing.T) {
	g := NewWithT(t)
	owner := &ownership.Owner{
		Reference: metav1.OwnerReference{APIVersion: "mycrd.com/v1", Kind: "Database", Name: "orders", UID: "1", Controller: new(true)},
		Labels:    []string{workloadsv1.LabelDatabase},
	}
	service := &metav1.ObjectMeta{Namespace: "shop", Name: "orders", Labels: map[string]string{
		workloadsv1.LabelApp: workloadsv1.AppDatabase, workloadsv1.LabelDatabase: "orders", workloadsv1.LabelManagedBy: workloadsv1.ManagedBy,
	}}
	wanted := For(service, owner, nil)
	applied := wanted.DeepCopy()
	applied.Spec.Fallback.Page.StatusCode = 503
	slim, err := slim(applied)
	g.Expect(err).NotTo(HaveOccurred())
	seen := Seen{Served: true, Object: slim.(*criticalv2.ServiceFallback)}
	g.Expect(seen.ChangeOf(wanted, owner)).To(Equal(Change{}))

	seen.Object.OwnerReferences = nil
	g.Expect(seen.ChangeOf(wanted, owner)).To(Equal(Change{Apply: wanted}), "what was orphaned is taken back")
	g.Expect(seen.ChangeOf(nil, owner)).To(Equal(Change{Remove: seen.Object}))
	seen.Object.Labels = nil
	g.Expect(seen.ChangeOf(wanted, owner)).To(Equal(Change{}), "another's is left alone")
}
