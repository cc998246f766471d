package access_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
)

func TestWhoseStatusCounts(t *testing.T) {
	of := func(state criticalv2.ServiceState, deleted *metav1.Time) criticalv2.Policy {
		return &criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted},
			Status:     criticalv2.ProtectionStatus{Details: []criticalv2.ServiceStatus{{Namespace: "shop", Name: "web", State: state}}},
		}
	}
	going := new(metav1.Now())
	for sentence, test := range map[string]struct {
		policies []criticalv2.Policy
		want     criticalv2.ServiceState
	}{
		"none of them lists the Service":                     {nil, ""},
		"one that governs it comes before one that does not": {[]criticalv2.Policy{of(criticalv2.StateIgnored, nil), of(criticalv2.StateArmed, nil)}, criticalv2.StateArmed},
		"one that is being deleted does not count":           {[]criticalv2.Policy{of(criticalv2.StateCovered, going), of(criticalv2.StateArmed, nil)}, criticalv2.StateArmed},
		"not even alone": {[]criticalv2.Policy{of(criticalv2.StateCovered, going)}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			found := access.StatusIn(test.policies, types.NamespacedName{Namespace: "shop", Name: "web"})
			if test.want == "" {
				NewWithT(t).Expect(found).To(BeNil())
			} else {
				NewWithT(t).Expect(found.State).To(Equal(test.want))
			}
		})
	}
}

func TestWhatGovernsAndIgnoresComesBeforeWhatIsOverridden(t *testing.T) {
	g := NewWithT(t)
	of := func(reason string) criticalv2.Policy {
		return fallback("shop", reason, criticalv2.ServiceStatus{Namespace: "shop", Name: "web", State: criticalv2.StateIgnored, Reason: reason})
	}
	governs, overridden := of(criticalv2.ReasonExternalName), of(criticalv2.ReasonOverridden)
	for _, policies := range [][]criticalv2.Policy{{governs, overridden}, {overridden, governs}} {
		g.Expect(access.StatusIn(policies, types.NamespacedName{Namespace: "shop", Name: "web"}).Reason).To(Equal(criticalv2.ReasonExternalName))
	}
}
