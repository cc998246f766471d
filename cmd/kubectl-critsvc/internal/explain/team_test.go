package explain

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/golden"
)

// teamSees explains the Service of the team with the rights of the team.
func teamSees(t *testing.T, edit func([]runtime.Object) []runtime.Object) View {
	t.Helper()
	reader := golden.Team(t, edit(golden.Objects(t, "team.input.yaml")))
	found, err := look(t.Context(), reader, types.NamespacedName{Namespace: "shop", Name: "web"})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return viewOf(found, night)
}

func ofTeam(objects []runtime.Object) *criticalv2.ServiceFallback {
	return objects[slices.IndexFunc(objects, func(o runtime.Object) bool { _, is := o.(*criticalv2.ServiceFallback); return is })].(*criticalv2.ServiceFallback)
}

func TestATeamNeedsNoRightsInTheCluster(t *testing.T) {
	g := NewWithT(t)
	view := teamSees(t, func(objects []runtime.Object) []runtime.Object { return objects })
	g.Expect(view.Protected).To(BeTrue())
	g.Expect(view.Governor.text()).To(Equal("ServiceFallback storefront (tier Named: it names the Service)"))
	g.Expect(view.Outages).To(Equal(1))
	g.Expect(view.Notices).To(HaveExactElements(HavePrefix("You may not list CriticalServices")))
}

func TestAnEnforcedCriticalServiceIsKnownByWhatItOverrides(t *testing.T) {
	g := NewWithT(t)
	view := teamSees(t, func(objects []runtime.Object) []runtime.Object {
		detail := &ofTeam(objects).Status.Details[0]
		detail.State, detail.Reason, detail.Message = criticalv2.StateIgnored, criticalv2.ReasonOverridden, "It is enforced."
		detail.OverriddenBy = &criticalv2.PolicyReference{Kind: "CriticalService", Name: "pci"}
		return objects
	})
	golden.Compare(t, "team-overridden.golden.txt", textOf(t, &view))
	g.Expect(view.Protected).To(BeFalse(), "its status may not be read")
	g.Expect(view.Status).To(BeNil())
	g.Expect(view.Governor).To(And(HaveField("Kind", "CriticalService"), HaveField("Name", "pci"), HaveField("Tier", "Enforced")))
	g.Expect(view.Others).To(HaveExactElements(HaveField("Name", "storefront"), HaveField("Name", "rest")))
}

func TestWhatATeamDoesNotMatchMayBeProtectedAllTheSame(t *testing.T) {
	g := NewWithT(t)
	view := teamSees(t, func(objects []runtime.Object) []runtime.Object {
		return slices.DeleteFunc(objects, func(o runtime.Object) bool { _, is := o.(*criticalv2.ServiceFallback); return is })
	})
	g.Expect(textOf(t, &view)).To(MatchRegexp(`(?m)^State: +not known: nothing that you may read matches this Service`))
	g.Expect(view.Next).To(HavePrefix("It is not known"))
}

func TestWhatAServiceLacksForAServiceFallback(t *testing.T) {
	for sentence, test := range map[string]struct {
		spec criticalv2.ServiceFallbackSpec
		want string
	}{
		"its name": {criticalv2.ServiceFallbackSpec{Services: []string{"api", "pay"}}, "its name in spec.services, which has api, pay"},
		"a label": {criticalv2.ServiceFallbackSpec{ServiceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}},
			"the label team=red (it has team=blue)"},
		"a selector that is valid": {criticalv2.ServiceFallbackSpec{ServiceSelector: &metav1.LabelSelector{}}, "a selector that is valid: spec.serviceSelector: it is empty"},
	} {
		t.Run(sentence, func(t *testing.T) {
			found := facts{
				service:  &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"team": "blue"}}},
				policies: []criticalv2.Policy{&criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "ours"}, Spec: test.spec}},
			}
			NewWithT(t).Expect(viewOf(found, night).Nearest).To(Equal([]Near{{Kind: "ServiceFallback", Name: "ours", Missing: []string{test.want}}}))
		})
	}
}
