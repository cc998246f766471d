package status

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/golden"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

// night is when the objects of testdata are looked at.
var night = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func factsOf(t *testing.T, file string) facts {
	objects := golden.Objects(t, file)
	return facts{
		policies: golden.Policies(objects), services: golden.Of[corev1.Service](objects),
		slices: golden.Of[discoveryv1.EndpointSlice](objects), fallbacks: golden.Of[corev1.Pod](objects),
	}
}

func TestTheListReadsWell(t *testing.T) {
	found := factsOf(t, "shop.input.yaml")
	for name, test := range map[string]struct {
		scope   scope
		wide    bool
		palette output.Palette
	}{
		"namespace":      {scope: scope{namespace: "shop"}},
		"all-namespaces": {},
		"wide":           {scope: scope{namespace: "billing"}, wide: true},
		"one-service":    {scope: scope{namespace: "shop", names: []string{"web"}}},
		"colors":         {scope: scope{namespace: "billing"}, palette: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			all := test.scope.namespace == ""
			view := viewOf(found, test.scope)
			var text bytes.Buffer
			g.Expect(printTable(output.NewTable(&text, test.palette, test.wide, columns(all)...), &view, all, night)).To(Succeed())
			printSentences(&text, &view, test.palette)
			golden.Compare(t, name+".golden.txt", text.String())
		})
	}
}

// hack/terminal draws it for docs/images/plugin.svg.
func TestTheListOfThePicture(t *testing.T) {
	g := NewWithT(t)
	view := viewOf(factsOf(t, "picture.input.yaml"), scope{namespace: "shop"})
	var text bytes.Buffer
	g.Expect(printTable(output.NewTable(&text, true, false, columns(false)...), &view, false, night)).To(Succeed())
	printSentences(&text, &view, true)
	golden.Compare(t, "picture.golden.txt", text.String())
}

func TestTheDocumentHasWhatIsPromised(t *testing.T) {
	g := NewWithT(t)
	text, err := json.MarshalIndent(viewOf(factsOf(t, "shop.input.yaml"), scope{namespace: "shop"}), "", "  ")
	g.Expect(err).NotTo(HaveOccurred())
	golden.Compare(t, "namespace.golden.json", string(text)+"\n")
}

func TestAnEmptyDocumentHasListsAndNoNulls(t *testing.T) {
	g := NewWithT(t)
	text, err := json.Marshal(viewOf(facts{}, scope{}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(HavePrefix(`{"services":[],"criticalServices":[],"summary":{"total":0,`))
}

func TestTheGovernorDoesNotDependOnTheOrder(t *testing.T) {
	g := NewWithT(t)
	found := factsOf(t, "shop.input.yaml")
	want := viewOf(found, scope{})
	found.policies[0], found.policies[2] = found.policies[2], found.policies[0]
	g.Expect(viewOf(found, scope{})).To(Equal(want))
}

func TestWhatMayNotBeReadIsSaid(t *testing.T) {
	g := NewWithT(t)
	found := factsOf(t, "shop.input.yaml")
	found.slices, found.fallbacks, found.refused = nil, nil, refusals{slices: true, pods: true}
	view := viewOf(found, scope{namespace: "shop"})
	g.Expect(view.Notices).To(ContainElements(ContainSubstring("may not list EndpointSlices"), ContainSubstring("may not list Pods")))
	for i := range view.Services {
		g.Expect(view.Services[i].Endpoints).To(BeNil())
		g.Expect(ready(&view.Services[i])).To(Equal("?"))
	}
}

// The operator counts them in the same way: see internal/protection.
func TestReadyEndpointsAreTheApplicationsOwn(t *testing.T) {
	for sentence, test := range map[string]struct {
		edit     func(*facts)
		ready    int
		outdated bool
	}{
		"a ready one":                           {func(*facts) {}, 1, false},
		"not one without a port of the Service": {func(f *facts) { f.service("shop", "stock").Spec.Ports[0].Name = "http" }, 0, true},
		"also one whose Pod has a copied label": {func(f *facts) {
			f.fallbacks = append(f.fallbacks, corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "stock-1", UID: "stock-1", Labels: map[string]string{criticalv2.LabelFallbackFor: "stock"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "stock", Controller: new(true)}},
			}})
		}, 1, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			found := factsOf(t, "shop.input.yaml")
			test.edit(&found)
			view := viewOf(found, scope{namespace: "shop", names: []string{"stock"}})
			g.Expect(view.Services[0].Endpoints).To(Equal(&Endpoints{Ready: test.ready, Total: test.ready}))
			g.Expect(view.Services[0].Outdated).To(Equal(test.outdated))
		})
	}
}

func TestWithoutServicesEndpointsAreNotCounted(t *testing.T) {
	g := NewWithT(t)
	found := factsOf(t, "shop.input.yaml")
	found.services, found.refused = nil, refusals{services: true}
	view := viewOf(found, scope{namespace: "shop"})
	g.Expect(view.Notices).To(ContainElement(ContainSubstring("may not list Services")))
	for i := range view.Services {
		g.Expect(view.Services[i].Endpoints).To(BeNil())
		g.Expect(view.Services[i].Outdated).To(BeFalse())
	}
}

func TestAnEmptyListExplainsItself(t *testing.T) {
	one := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	web := &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	forbidden := refusals{policies: access.Unseen{CriticalServices: errors.New("forbidden")}}
	for sentence, test := range map[string]struct {
		found facts
		scope scope
		want  string
	}{
		"there is neither kind": {facts{}, scope{namespace: "shop"},
			`the cluster has no CriticalService, and no ServiceFallback in namespace "shop". How to declare one: http`},
		"there is none that may be read": {facts{refused: forbidden}, scope{namespace: "shop"},
			`No Service is known to be critical: there is no ServiceFallback in namespace "shop". How`},
		"the namespace has no Service that they match": {facts{policies: []criticalv2.Policy{web}}, scope{namespace: "shop"},
			`in namespace "shop"; there is one, ServiceFallback web. All namespaces: kubectl critsvc status -A`},
		"no namespace has one": {facts{policies: []criticalv2.Policy{one, web}}, scope{}, "in any namespace; there are 2 of them. What they select: "},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(emptyMessage(test.found, test.scope)).To(ContainSubstring(test.want))
		})
	}
}

func TestAFrameFitsTheTerminal(t *testing.T) {
	g := NewWithT(t)
	view := viewOf(factsOf(t, "shop.input.yaml"), scope{})
	for _, palette := range []output.Palette{false, true} {
		for _, size := range []struct{ width, height int }{{40, 6}, {80, 24}, {200, 50}} {
			lines, err := frame(&view, true, true, palette, night, size.width, size.height)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(lines)).To(BeNumerically("<", size.height))
			for _, line := range lines {
				g.Expect(columnsOf(line)).To(BeNumerically("<=", size.width), "%q", line)
				g.Expect(strings.Count(line, "\x1b[3")).To(BeNumerically("<=", strings.Count(line, "\x1b[0m")), "the colour of %q ends", line)
			}
		}
	}
	g.Expect(clipped("as wide", 7)).To(Equal("as wide"))
	g.Expect(clipped("too wide", 7)).To(Equal("too wi…"), "it can be seen that something was cut off")
	g.Expect(clipped("\x1b[31mtoo wide\x1b[0m", 7)).To(HavePrefix("\x1b[31mtoo wi…\x1b[0m"))
	lines, err := frame(&view, false, true, false, night, 100, 8)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(ContainElement(ContainSubstring("make the terminal higher")))
}

func TestAnOutageThatTheOperatorHasNotNoticedComesFirst(t *testing.T) {
	g := NewWithT(t)
	view := viewOf(factsOf(t, "shop.input.yaml"), scope{})
	g.Expect(view.Services[0]).To(And(HaveField("Name", "jobs"), HaveField("State", criticalv2.StateArmed), HaveField("Outdated", true)))
	g.Expect(cause(&view.Services[0])).To(Equal("the status is old: the operator does not seem to run"))
	g.Expect(sentences(&view)[0].text).To(And(HavePrefix("Down, and the operator has not noticed"), HaveSuffix(": shop/jobs.")))

	found := factsOf(t, "shop.input.yaml")
	found.policies[2].Observed().Details[1].Reason = criticalv2.ReasonEndpointsUnknown
	view = viewOf(found, scope{})
	g.Expect(view.Services).NotTo(ContainElement(HaveField("Outdated", true)), "Kubernetes has just not published an endpoint")
}

func TestWhyNothingAnswersHasTwoParts(t *testing.T) {
	g := NewWithT(t)
	service := &Service{
		State: criticalv2.StateExposed, Reason: criticalv2.ReasonCreateDenied, Message: "The fallback Pod is refused: exceeded quota.",
		Cause: &criticalv2.OutageCause{Reason: criticalv2.CauseScaledToZero, Message: "Deployment cart is scaled to zero."},
	}
	g.Expect(cause(service)).To(Equal("Deployment cart is scaled to zero; no fallback: The fallback Pod is refused: exceeded quota."))
	service.Cause = nil
	g.Expect(cause(service)).To(Equal("not known yet; no fallback: The fallback Pod is refused: exceeded quota."))
	g.Expect(row(service, false, night)).To(ContainElement(cause(service)))
	g.Expect(row(service, false, night)).NotTo(ContainElement(service.Message), "it is said once")
	service.State = criticalv2.StateCovered
	g.Expect(cause(service)).To(Equal("not known yet"))
}

func TestWhetherTheFallbackOfAServiceWouldAnswer(t *testing.T) {
	// The condition is about all Services, and does not say which failed.
	other := metav1.Condition{Type: criticalv2.ConditionFailoverReady, Status: metav1.ConditionFalse, Message: "Service shop/web: of another time"}
	const armed, standby = criticalv2.StateArmed, criticalv2.ReasonStandbyReady
	for sentence, test := range map[string]struct {
		failover metav1.ConditionStatus
		state    criticalv2.ServiceState
		reason   string
		want     string
	}{
		"it was tested, whatever of others":       {metav1.ConditionTrue, armed, standby, "yes"},
		"its test failed":                         {metav1.ConditionFalse, armed, standby, "no"},
		"it was not tested":                       {metav1.ConditionUnknown, armed, standby, "?"},
		"the status has no result":                {"", armed, standby, "?"},
		"it is made on demand":                    {metav1.ConditionUnknown, armed, criticalv2.ReasonEndpointsReady, "?"},
		"nothing stands by, whatever was before":  {metav1.ConditionTrue, criticalv2.StateArming, criticalv2.ReasonFallbackStarting, "no"},
		"nothing answers, whatever was before":    {metav1.ConditionTrue, criticalv2.StateExposed, criticalv2.ReasonFallbackStarting, "no"},
		"a Service that is ignored has no answer": {"", criticalv2.StateIgnored, criticalv2.ReasonNoSelector, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			policy := &criticalv2.CriticalService{}
			policy.Status.Conditions = []metav1.Condition{other}
			detail := criticalv2.ServiceStatus{Namespace: "shop", Name: "web", State: test.state, Reason: test.reason}
			if test.failover != "" {
				detail.Failover = &criticalv2.Failover{Status: test.failover}
			}
			policy.Status.Details = []criticalv2.ServiceStatus{detail}
			view := viewOf(facts{policies: []criticalv2.Policy{policy}}, scope{})
			NewWithT(t).Expect(failsOver(&view.Services[0])).To(Equal(test.want))
		})
	}
}

func TestAPlannedOutageIsListedAsPlanned(t *testing.T) {
	g := NewWithT(t)
	found := factsOf(t, "shop.input.yaml")
	found.policies[0].Observed().Details[0].Cause = &criticalv2.OutageCause{Reason: criticalv2.CauseMaintenance, Message: "The outage is planned."}
	said := func() string {
		view := viewOf(found, scope{namespace: "shop", names: []string{"web"}})
		return sentences(&view)[0].text
	}
	g.Expect(said()).To(Equal("Down as planned: shop/web."))
	for i := range found.slices {
		if found.slices[i].Name == "web-standby-ipv4" {
			found.slices[i].Annotations = map[string]string{criticalv2.AnnotationMaintenance: `{"message":"We move house.","until":"2026-11-21T06:00:00Z"}`}
		}
	}
	g.Expect(said()).To(Equal("Down as planned until 2026-11-21T06:00:00Z: shop/web."))
	found.policies[0].Observed().Details[0].State = criticalv2.StateExposed
	g.Expect(said()).To(Equal("Down as planned until 2026-11-21T06:00:00Z, and nothing answers: shop/web."))
}

func TestAScreenIsWrittenOver(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	o := &options{to: &access.Access{IOStreams: genericiooptions.IOStreams{Out: &out}}, allNamespaces: true}
	o.format = output.AddTo(&cobra.Command{}, output.Wide)
	show := o.screen()
	found := factsOf(t, "shop.input.yaml")
	view := viewOf(found, scope{namespace: "billing"})
	g.Expect(show(&view, "")).To(Succeed())
	first := out.String()
	g.Expect(first).NotTo(ContainSubstring("A\r"), "there is nothing yet to write over")
	rows := strings.Count(first, "\n")
	g.Expect(rows).To(BeNumerically(">", 3))

	out.Reset()
	view = viewOf(facts{}, scope{namespace: "billing"})
	g.Expect(show(&view, "the cluster does not answer")).To(Succeed())
	second := out.String()
	g.Expect(second).To(HavePrefix(fmt.Sprintf("\x1b[%dA\r", rows)))
	g.Expect(second).To(And(ContainSubstring("No Service is protected here."), ContainSubstring("the cluster does not answer"), HaveSuffix("\x1b[J")))
	for line := range strings.SplitSeq(strings.TrimSuffix(second, "\x1b[J"), "\n") {
		g.Expect(line).To(Or(BeEmpty(), HaveSuffix("\x1b[K")), "what stood there before is cleared")
	}
}

func TestAWatchErrorIsReportedForAWhile(t *testing.T) {
	g := NewWithT(t)
	watch := &watchErrors{}
	g.Expect(watch.notice(time.Now())).To(BeEmpty())
	watch.remember(t.Context(), nil, io.EOF)
	g.Expect(watch.notice(time.Now())).To(BeEmpty(), "watches end now and then")
	watch.remember(t.Context(), nil, errors.New("connection refused"))
	g.Expect(watch.notice(time.Now())).To(ContainSubstring("connection refused"))
	g.Expect(watch.notice(time.Now().Add(time.Hour))).To(BeEmpty())
}

func TestOnlyChangesArePrintedAgain(t *testing.T) {
	g := NewWithT(t)
	found := factsOf(t, "shop.input.yaml")
	shown := map[string]string{}
	names := func(view View) []string {
		var names []string
		for i := range view.Services {
			names = append(names, view.Services[i].Name+" "+string(view.Services[i].State))
		}
		return names
	}
	look := func() []string {
		view := viewOf(found, scope{namespace: "shop"})
		changed := changes(&view, shown)
		return names(changed)
	}
	g.Expect(look()).To(HaveLen(6))
	g.Expect(look()).To(BeEmpty())

	details := found.policies[0].Observed().Details
	details[0].State, details[0].Reason = criticalv2.StateArmed, criticalv2.ReasonStandbyReady
	g.Expect(look()).To(Equal([]string{"web Armed"}))

	found.policies[0].Observed().Details = details[:2]
	g.Expect(look()).To(Equal([]string{"alias "}), "a Service that is listed no more")
}
