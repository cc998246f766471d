package history

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/golden"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

// night is when the objects of testdata are looked at.
var night = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func policies(t *testing.T) []criticalv2.Policy {
	return golden.Policies(golden.Objects(t, "shop.input.yaml"))
}

func TestTheHistoryReadsWell(t *testing.T) {
	for name, test := range map[string]struct {
		scope scope
		wide  bool
	}{
		"all-namespaces": {scope{}, false},
		"namespace":      {scope{namespace: "shop"}, true},
		"one-service":    {scope{namespace: "shop", name: "search"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := test.scope.namespace == ""
			view := viewOf(policies(t), test.scope, night)
			var text bytes.Buffer
			table := output.NewTable(&text, false, test.wide, columns(all)...)
			for i := range view.Outages {
				table.Row(row(&view.Outages[i], all, night)...)
			}
			NewWithT(t).Expect(table.Flush()).To(Succeed())
			golden.Compare(t, name+".golden.txt", text.String())
		})
	}
}

func TestTheDocumentHasWhatIsPromised(t *testing.T) {
	g := NewWithT(t)
	text, err := json.MarshalIndent(viewOf(policies(t), scope{}, night), "", "  ")
	g.Expect(err).NotTo(HaveOccurred())
	golden.Compare(t, "all-namespaces.golden.json", string(text)+"\n")
}

func TestAnEmptyHistoryIsAnEmptyList(t *testing.T) {
	g := NewWithT(t)
	text, err := json.Marshal(viewOf(policies(t), scope{namespace: "elsewhere"}, night))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(Equal(`{"outages":[]}`))
	g.Expect(emptyMessage(scope{namespace: "elsewhere"})).To(ContainSubstring("kubectl critsvc history -A"))
	g.Expect(emptyMessage(scope{namespace: "shop", name: "web"})).To(ContainSubstring("Service shop/web"))
}

// A team that may not list CriticalServices has the history of its ServiceFallbacks.
func TestATeamHasItsHistory(t *testing.T) {
	g := NewWithT(t)
	ours := &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "ours"}}
	ours.Status.Outages = []criticalv2.Outage{{Namespace: "shop", Name: "pay", Began: metav1.NewMicroTime(night.Add(-time.Hour)), Ended: new(metav1.NewMicroTime(night))}}
	objects := append(golden.Objects(t, "shop.input.yaml"), ours)
	view, err := look(t.Context(), golden.Team(t, objects), scope{namespace: "shop"}, night)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(view.Outages).To(HaveExactElements(And(
		HaveField("Name", "pay"), HaveField("Governor", access.Governor{Kind: "ServiceFallback", Name: "ours", Tier: "Selected"}), HaveField("CriticalService", ""),
	)))
	g.Expect(row(&view.Outages[0], false, night)).To(ContainElements("ServiceFallback/ours", "Selected"))
	g.Expect(view.Notices).To(HaveExactElements(HavePrefix("You may not list CriticalServices")))

	everything := golden.Reader(t, objects, func(any, string) bool { return false })
	view, err = look(t.Context(), everything, scope{namespace: "shop"}, night)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(view.Outages).To(HaveLen(5), "those of both kinds")
	g.Expect(view.Notices).To(BeEmpty())
}
