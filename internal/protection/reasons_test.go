package protection

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// reasonsOfAPI are the reasons of a Service's state, of Ready, and of the conditions of a
// Maintenance, as the API declares them: those under a comment that begins "Reasons of".
func reasonsOfAPI(g Gomega) (reasons []string) {
	groups := 0
	for _, path := range []string{"states.go", "conditions.go", "maintenance_types.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), "../../api/v2/"+path, nil, parser.ParseComments)
		g.Expect(err).NotTo(HaveOccurred())
		for _, declaration := range file.Decls {
			group, isGroup := declaration.(*ast.GenDecl)
			about := ""
			if isGroup {
				about = group.Doc.Text()
			}
			if !strings.HasPrefix(about, "Reasons of ") || strings.HasPrefix(about, "Reasons of the other conditions") {
				continue
			}
			groups++
			for _, spec := range group.Specs {
				value := spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value
				reason, err := strconv.Unquote(value)
				g.Expect(err).NotTo(HaveOccurred())
				reasons = append(reasons, reason)
			}
		}
	}
	g.Expect(groups).To(Equal(6), "of the states, of Ready, and of two conditions of a Maintenance")
	return reasons
}

func TestEveryReasonHasOneRemedy(t *testing.T) {
	g := NewWithT(t)
	var classified []string
	for _, r := range append(append([]remedy{}, ofServices...), ofObjects...) {
		classified = append(classified, r.reason)
	}
	g.Expect(classified).To(ConsistOf(reasonsOfAPI(g)))
}

// What a person has to do something about comes first, since its order counts.
func TestTheOrderOfReasonsToAct(t *testing.T) {
	g := NewWithT(t)
	for i, reason := range ReasonsToAct {
		g.Expect(ofServices[i].reason).To(Equal(reason))
		g.Expect(NeedsAction(reason)).To(BeTrue())
	}
	g.Expect(ReasonsToAct[0]).To(Equal(criticalv2.ReasonPodsForbidden))
}

// What may pass by itself at a first rollout must not be reported as final: a GitOps tool
// gives up at once.
func TestWhatMayPassNeedsNoChange(t *testing.T) {
	for reason, want := range map[string]bool{
		criticalv2.ReasonFallbackStarting: false, criticalv2.ReasonBackupNotReady: false, criticalv2.ReasonCreateDenied: false,
		criticalv2.ReasonFallbackFailing: false, criticalv2.ReasonResponderFailing: false, criticalv2.ReasonPortUnanswered: false,
		criticalv2.ReasonOverridden: false, criticalv2.ConditionReasonNotProtected: false, criticalv2.RestoreOwed: false,
		criticalv2.ReasonHeadlessUnsupported: true, criticalv2.ReasonTemplateForbidden: true, criticalv2.ConditionReasonSelectorInvalid: true,
		criticalv2.MaintenanceScheduleInvalid: true, criticalv2.RestoreFailed: true,
		"": false, "of another program": false,
	} {
		NewWithT(t).Expect(NeedsChange(reason)).To(Equal(want), reason)
	}
}
