package status

import (
	"bytes"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/golden"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

// What an administrator sees of a namespace, and what its team sees, which may not list
// CriticalServices.
func TestWhoGovernsIsListed(t *testing.T) {
	objects := golden.Objects(t, "team.input.yaml")
	for name, reader := range map[string]client.Client{
		"team-for-admin": golden.Reader(t, objects, func(any, string) bool { return false }),
		"team":           golden.Team(t, objects),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found, view, err := look(t.Context(), reader, scope{namespace: "shop"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.refused.slices || found.refused.services || found.refused.pods).To(BeFalse())
			var text bytes.Buffer
			g.Expect(printTable(output.NewTable(&text, false, true, columns(false)...), &view, false, night)).To(Succeed())
			printSentences(&text, &view, false)
			golden.Compare(t, name+".golden.txt", text.String())
		})
	}
}

func TestTheDocumentNamesWhatGoverns(t *testing.T) {
	g := NewWithT(t)
	_, view, err := look(t.Context(), golden.Team(t, golden.Objects(t, "team.input.yaml")), scope{namespace: "shop"})
	g.Expect(err).NotTo(HaveOccurred())
	text, err := json.MarshalIndent(view, "", "  ")
	g.Expect(err).NotTo(HaveOccurred())
	golden.Compare(t, "team.golden.json", string(text)+"\n")
}

func TestOfAllNamespacesATeamSeesNothing(t *testing.T) {
	_, _, err := look(t.Context(), golden.Team(t, golden.Objects(t, "team.input.yaml")), scope{})
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("list CriticalServices"), ContainSubstring("list ServiceFallbacks"))))
}

// The cache would wait forever for a kind that may not be listed.
func TestOnlyWhatMayBeListedIsWatched(t *testing.T) {
	g := NewWithT(t)
	found, err := read(t.Context(), golden.Team(t, golden.Objects(t, "team.input.yaml")), "shop", refusals{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.refused.policies.Kinds()).To(HaveExactElements(BeAssignableToTypeOf(&criticalv2.ServiceFallback{})))
}
