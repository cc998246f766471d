package status

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/golden"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

// shopClient reads the objects of the shop, of whose Services jobs has gone down while its
// status says Armed.
func shopClient(t *testing.T, g Gomega) client.Client {
	scheme, err := access.Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	return fake.NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(golden.Objects(t, "shop.input.yaml")...).Build()
}

var onlyJobs = scope{namespace: "shop", names: []string{"jobs"}}

func TestAnOperatorThatIsAboutToReportAnOutageRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		to := shopClient(t, g)
		reported := time.AfterFunc(1200*time.Millisecond, func() {
			policy := &criticalv2.CriticalService{}
			g.Expect(to.Get(context.Background(), client.ObjectKey{Name: "zz-everything"}, policy)).To(Succeed())
			detail := policy.Status.DetailOf("shop", "jobs")
			detail.State, detail.Reason = criticalv2.StateCovered, criticalv2.ReasonFallbackServing
			g.Expect(to.Update(context.Background(), policy)).To(Succeed())
		})
		defer reported.Stop()
		_, view, err := look(t.Context(), to, onlyJobs)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(view.Services).To(HaveExactElements(And(HaveField("State", criticalv2.StateCovered), HaveField("Outdated", false))))
		g.Expect(view.Notices).To(BeEmpty())
	})
}

func TestAnOperatorThatReportsNothingDoesNotSeemToRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		began := time.Now()
		_, view, err := look(t.Context(), shopClient(t, g), onlyJobs)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(time.Since(began)).To(Equal(endpoints.Noticing))
		g.Expect(view.Services).To(HaveExactElements(HaveField("Outdated", true)))
		g.Expect(cause(&view.Services[0])).To(Equal(outdated))
	})
}

// In a large cluster another Service may have gone down at the last look.
func TestEachServiceHasItsOwnTimeToBeReported(t *testing.T) {
	g := NewWithT(t)
	found := factsOf(t, "shop.input.yaml")
	found.at, found.doubts = night, doubts{}
	stock := found.service("shop", "stock").Spec.Ports
	g.Expect(viewOf(found, scope{}).Services[0]).To(And(HaveField("Name", "jobs"), HaveField("Outdated", false)))

	found.at = night.Add(endpoints.Noticing)
	stock[0].Name = "other" // No endpoint has this port.
	view := viewOf(found, scope{namespace: "shop"})
	g.Expect(view.isLate()).To(BeTrue())
	g.Expect(view.Services[0]).To(And(HaveField("Name", "jobs"), HaveField("Outdated", true)))
	g.Expect(view.Services[1]).To(And(HaveField("Name", "stock"), HaveField("Outdated", false)))
	g.Expect(cause(&view.Services[1])).To(Equal(late))
	g.Expect(sentences(&view)[1].text).To(Equal("Just gone down, and the operator is about to report it: shop/stock."))

	stock[0].Name = ""
	viewOf(found, scope{})
	stock[0].Name = "other"
	found.at = found.at.Add(endpoints.Noticing)
	g.Expect(viewOf(found, scope{namespace: "shop"}).Services[1].Outdated).To(BeFalse(), "it was up in between")
}

// printed is what a command that goes on has printed.
type printed struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

// Write implements io.Writer.
func (p *printed) Write(text []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.text.Write(text)
}

func (p *printed) String() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.text.String()
}

func TestAWatchWaitsForTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var out printed
		o := &options{to: &access.Access{IOStreams: genericiooptions.IOStreams{Out: &out}}}
		o.format = output.AddTo(&cobra.Command{})
		found := factsOf(t, "shop.input.yaml")
		found.doubts = doubts{}
		ctx, interrupt := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- o.loop(ctx, nil, &watchErrors{}, func() (View, error) {
				found.at = time.Now()
				return viewOf(found, onlyJobs), nil
			})
		}()
		synctest.Wait()
		g.Expect(out.String()).To(And(ContainSubstring(late), Not(ContainSubstring(outdated))))
		<-time.After(endpoints.Noticing)
		synctest.Wait()
		g.Expect(out.String()).To(ContainSubstring(outdated))
		interrupt()
		g.Expect(<-ended).To(Succeed())
	})
}
