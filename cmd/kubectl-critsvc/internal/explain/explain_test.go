package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/golden"
)

// night is when the objects of testdata are looked at.
var night = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func factsOf(t *testing.T, file string) facts {
	t.Helper()
	objects := golden.Objects(t, file)
	services := golden.Of[corev1.Service](objects)
	NewWithT(t).Expect(services).To(HaveLen(1))
	found := facts{
		service: &services[0], policies: golden.Policies(objects), slices: golden.Of[discoveryv1.EndpointSlice](objects),
		fallbacks: golden.Of[corev1.Pod](objects), maintenances: golden.Of[criticalv2.Maintenance](objects), events: golden.Of[eventsv1.Event](objects),
	}
	for _, namespace := range golden.Of[corev1.Namespace](objects) {
		found.namespaceLabels = namespace.Labels
	}
	return found
}

func textOf(t *testing.T, view *View) string {
	t.Helper()
	var text bytes.Buffer
	NewWithT(t).Expect(view.print(&text, false, night)).To(Succeed())
	return text.String()
}

func TestAnExplanationReadsWell(t *testing.T) {
	crash := &criticalv2.OutageCause{Reason: criticalv2.CauseScaledToZero, Message: "Deployment cart is scaled to zero."}
	for name, diagnosed := range map[string]*criticalv2.OutageCause{"covered": nil, "armed": nil, "unmatched": nil, "exposed": crash, "selected": nil, "team": nil} {
		t.Run(name, func(t *testing.T) {
			found := factsOf(t, name+".input.yaml")
			found.diagnosed = diagnosed
			view := viewOf(found, night)
			golden.Compare(t, name+".golden.txt", textOf(t, &view))
		})
	}
}

// hack/terminal draws it for docs/images/plugin.svg.
func TestTheExplanationOfThePicture(t *testing.T) {
	view := viewOf(factsOf(t, "picture.input.yaml"), night)
	var text bytes.Buffer
	NewWithT(t).Expect(view.print(&text, true, night)).To(Succeed())
	golden.Compare(t, "picture.golden.txt", text.String())
}

func TestTheDocumentHasWhatIsPromised(t *testing.T) {
	g := NewWithT(t)
	text, err := json.MarshalIndent(viewOf(factsOf(t, "covered.input.yaml"), night), "", "  ")
	g.Expect(err).NotTo(HaveOccurred())
	golden.Compare(t, "covered.golden.json", string(text)+"\n")
}

func TestWhichCauseIsShown(t *testing.T) {
	unexplained := &criticalv2.OutageCause{Reason: criticalv2.CauseNotFound, Message: "Nothing says why."}
	crash := &criticalv2.OutageCause{Reason: criticalv2.CauseCrashLoop, Message: "It crashes."}
	for name, test := range map[string]struct {
		operator, plugin *criticalv2.OutageCause
		needed           bool
		want             *Cause
	}{
		"the operator, if it found one":             {crash, nil, false, &Cause{*crash, byOperator}},
		"the plugin, if the operator says nothing":  {nil, crash, true, &Cause{*crash, byPlugin}},
		"the plugin, if the operator found nothing": {unexplained, crash, true, &Cause{*crash, byPlugin}},
		"neither, and the operator said so first":   {unexplained, unexplained, true, &Cause{*unexplained, byOperator}},
		"none was looked for":                       {nil, nil, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := factsOf(t, "exposed.input.yaml")
			found.policies[0].Observed().Details[0].Cause = test.operator
			g.Expect(found.needsDiagnosis()).To(Equal(test.needed))
			found.diagnosed = test.plugin
			g.Expect(viewOf(found, night).Cause).To(Equal(test.want))
		})
	}
}

func TestTheCauseIsLookedForInAnOutageOnly(t *testing.T) {
	for name, edit := range map[string]func(*facts){
		"with a ready endpoint": func(f *facts) {
			f.slices[0].Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}}}
		},
		"without a selector":       func(f *facts) { f.service.Spec.Selector = nil },
		"of the type ExternalName": func(f *facts) { f.service.Spec.Type = corev1.ServiceTypeExternalName },
	} {
		t.Run("not for a Service "+name, func(t *testing.T) {
			found := factsOf(t, "exposed.input.yaml")
			edit(&found)
			NewWithT(t).Expect(found.needsDiagnosis()).To(BeFalse())
		})
	}
}

func TestWhatAnswersNow(t *testing.T) {
	endpoint := func(address string, ready, serving, terminating bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{
			Ready: &ready, Serving: &serving, Terminating: &terminating,
		}}
	}
	up, failing, leaving := endpoint("10.1.0.1", true, true, false), endpoint("10.1.0.2", false, false, false), endpoint("10.1.0.3", false, true, true)
	standby, promoted := endpoint("10.1.0.8", false, true, true), endpoint("10.1.0.9", true, true, false)
	type list = []discoveryv1.Endpoint
	for name, test := range map[string]struct {
		own, ours list
		by        string
		words     []string
	}{
		"the application": {list{up, failing}, list{standby}, answersApplication, []string{"The application answers: 10.1.0.1."}},
		"the application, and a fallback not yet demoted": {list{up}, list{promoted}, answersApplication, []string{"until it is demoted"}},
		"a promoted fallback":                             {list{failing}, list{promoted}, answersFallback, []string{"not the application: 10.1.0.9."}},
		"a standby":                                       {list{failing}, list{standby}, answersFallback, []string{"10.1.0.8", "kube-proxy or Cilium"}},
		"a fallback beside Pods that are shutting down":   {list{leaving}, list{promoted}, answersFallback, []string{"may still answer a part", "10.1.0.3"}},
		"Pods that are shutting down, and no fallback":    {list{leaving}, nil, answersApplication, []string{"not for long: 10.1.0.3."}},
		"nothing": {list{failing}, nil, answersNothing, []string{"Nothing answers"}},
		"many Pods, of which a sentence names the first": {list{up, endpoint("10.1.1.1", true, true, false), endpoint("10.1.1.2", true, true, false), endpoint("10.1.1.3", true, true, false)}, nil, answersApplication, []string{"10.1.0.1, 10.1.1.1, 10.1.1.2 and 1 more."}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := factsOf(t, "exposed.input.yaml")
			found.slices[0].Endpoints = test.own
			if test.ours != nil {
				slice := *found.slices[0].DeepCopy()
				slice.Labels[discoveryv1.LabelManagedBy], slice.Endpoints = criticalv2.ManagedBy, test.ours
				found.slices = append(found.slices, slice)
			}
			view := viewOf(found, night)
			g.Expect(view.Answers.By).To(Equal(test.by))
			for _, words := range test.words {
				g.Expect(view.Answers.Message).To(ContainSubstring(words))
			}
		})
	}
	t.Run("it is not known without EndpointSlices", func(t *testing.T) {
		found := factsOf(t, "exposed.input.yaml")
		found.slices = nil
		NewWithT(t).Expect(viewOf(found, night).Answers.By).To(Equal(answersUnknown))
	})
}

// A fallback Pod that the Service selects shares its slice with Pods of the application that
// have the same ports.
func TestTheFallbackOfASliceThatItSharesIsNotTheApplication(t *testing.T) {
	g := NewWithT(t)
	found := factsOf(t, "selected.input.yaml")
	shared := &found.slices[0]
	shared.Endpoints = append(shared.Endpoints, found.slices[1].Endpoints...)
	found.slices = found.slices[:1]
	view := viewOf(found, night)
	g.Expect(view.Ports).To(HaveEach(And(HaveField("Message", ""), HaveField("FallbackPort", BeNumerically(">", 0)))))
	g.Expect(view.Ports[0].ApplicationPorts).To(Equal([]int32{8080}))
	g.Expect(view.Fallback.Promoted).To(BeTrue())
}

func TestAStatusThatIsOldIsSaidToBe(t *testing.T) {
	g := NewWithT(t)
	found := factsOf(t, "armed.input.yaml")
	found.slices[0].Endpoints = nil
	view := viewOf(found, night)
	g.Expect(view.Status.Outdated).To(BeTrue())
	g.Expect(textOf(t, &view)).To(MatchRegexp(`(?m)^State: +old: the status still says Armed .*\n +The Service has no ready endpoint, and the operator has not noticed`))
	g.Expect(textOf(t, &view)).NotTo(ContainSubstring("still answers by itself"))
}

func TestWhatIsSaidOfTheNextOutageDoesNotContradictTheTest(t *testing.T) {
	silent := &criticalv2.Failover{Status: metav1.ConditionFalse, Reason: criticalv2.ConditionReasonStandbySilent, Message: "port 80: refused."}
	answers := &criticalv2.Failover{Status: metav1.ConditionTrue, Reason: criticalv2.ConditionReasonStandbyAnswers, Message: "The standby answers."}
	for sentence, test := range map[string]struct {
		state         criticalv2.ServiceState
		failover      *criticalv2.Failover
		next, printed string
	}{
		"the standby answered, and that of another did not": {criticalv2.StateArmed, answers,
			"The fallback would answer at once: Pod critical-service-responder-a.", "works. The standby answers."},
		"the standby did not answer": {criticalv2.StateArmed, silent,
			"The fallback stands by (Pod critical-service-responder-a), and may not answer", "may not work. port 80: refused."},
		"nothing is ready to stand by": {criticalv2.StateArming,
			&criticalv2.Failover{Status: metav1.ConditionUnknown, Reason: criticalv2.ConditionReasonNotTested},
			"Nothing would answer: The words of the state.", "would not work: Maintenance: The words of the state."},
		"a problem blocks the fallback": {criticalv2.StateArming,
			&criticalv2.Failover{Status: metav1.ConditionFalse, Reason: criticalv2.ConditionReasonNotProtected},
			"Nothing would answer: The words of the state.", "would not work: Maintenance: The words of the state."},
		"the status has no result": {criticalv2.StateArmed, nil,
			"The fallback would answer at once", "not known: the status has no result of a self-test."},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			found := factsOf(t, "armed.input.yaml")
			detail := &found.policies[0].Observed().Details[0]
			detail.State, detail.Message, detail.Failover = test.state, "The words of the state.", test.failover
			view := viewOf(found, night)
			g.Expect(view.Next).To(HavePrefix(test.next))
			g.Expect(textOf(t, &view)).To(MatchRegexp(`(?m)^Failover test: +` + test.printed))
		})
	}
}

func TestAnOutageThatIsUnderWayIsNotPast(t *testing.T) {
	g := NewWithT(t)
	found := factsOf(t, "covered.input.yaml")
	view := viewOf(found, night)
	g.Expect(view.Outages).To(Equal(1))
	for i := range found.policies {
		for j := range found.policies[i].Observed().Outages {
			found.policies[i].Observed().Outages[j].Ended = nil
		}
	}
	view = viewOf(found, night)
	g.Expect(view.Outages).To(BeZero())
	g.Expect(textOf(t, &view)).NotTo(ContainSubstring("Past outages"))
}

func TestAMaintenanceIsShownWithoutTheRightToReadMaintenances(t *testing.T) {
	g := NewWithT(t)
	found := factsOf(t, "armed.input.yaml")
	found.maintenances = nil
	found.slices[1].Annotations = map[string]string{criticalv2.AnnotationMaintenance: `{"message":"We move house.","until":"2026-11-21T06:00:00Z"}`}
	view := viewOf(found, night)
	g.Expect(textOf(t, &view)).To(ContainSubstring("Maintenance:     announced until 2026-11-21T06:00:00Z\n                 Its message: \"We move house.\"\n"))
}

func TestWhyAStatusDoesNotListAService(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*criticalv2.ProtectionStatus)
		want string
	}{
		"it has not been written": {func(s *criticalv2.ProtectionStatus) { *s = criticalv2.ProtectionStatus{} }, "has no status"},
		"the namespace is not watched": {func(s *criticalv2.ProtectionStatus) {
			s.Conditions[0].Status, s.Conditions[0].Reason, s.Conditions[0].Message = metav1.ConditionFalse, criticalv2.ConditionReasonNamespaceNotWatched, "The operator does not look there."
		}, "The operator does not look there."},
		"it lists the first only": {func(s *criticalv2.ProtectionStatus) { s.Services.Total = 300 }, "matches 300 Services, and its status lists only the 0 most urgent"},
		"it is behind":            {func(s *criticalv2.ProtectionStatus) { s.Services.Total = 0 }, "the operator is about to see it"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := factsOf(t, "exposed.input.yaml")
			found.policies[0].Observed().Details = nil
			test.edit(found.policies[0].Observed())
			view := viewOf(found, night)
			g.Expect(view.Status).To(BeNil())
			g.Expect(view.Protected).To(BeFalse())
			g.Expect(view.Notices).To(ContainElement(ContainSubstring(test.want)))
			g.Expect(textOf(t, &view)).To(ContainSubstring("not known: see the note below"))
		})
	}
}

func TestEventsAreTheTenLatest(t *testing.T) {
	g := NewWithT(t)
	var events []eventsv1.Event
	for i := range 15 {
		events = append(events, eventsv1.Event{Note: fmt.Sprint(i), EventTime: metav1.NewMicroTime(night.Add(time.Duration(i) * time.Minute))})
	}
	shown := latest(events)
	g.Expect(shown).To(HaveLen(10))
	g.Expect(shown[0].Note).To(Equal("14"))
	g.Expect(shown[9].Note).To(Equal("5"))
}

func TestOnlyAMaintenanceOfTheServiceThatIsOnIsShown(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*criticalv2.Maintenance)
		want   string
	}{
		"one that is on":   {func(*criticalv2.Maintenance) {}, "announced until 2026-11-21T06:00:00Z; deployments.apps/search gets 3 replicas back (Maintenance search: Announced)"},
		"one of another":   {func(m *criticalv2.Maintenance) { m.Spec.Services = []string{"other"} }, ""},
		"one that ended":   {func(m *criticalv2.Maintenance) { m.Status.Ended = &metav1.Time{Time: night} }, ""},
		"one not seen yet": {func(m *criticalv2.Maintenance) { m.Status = criticalv2.MaintenanceStatus{} }, "(Maintenance search)"},
		"a live drill":     {func(m *criticalv2.Maintenance) { m.Spec.Purpose = criticalv2.PurposeDrill }, "clients are not informed"},
		"one that is over": {func(m *criticalv2.Maintenance) { m.Spec.Until.Time = night.Add(-time.Minute) }, "which is over"},
		"one that recurs": {func(m *criticalv2.Maintenance) {
			m.Spec.Recurring, m.Spec.Restore, m.Status = &criticalv2.Recurring{}, nil, criticalv2.MaintenanceStatus{}
		}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			found := factsOf(t, "armed.input.yaml")
			test.change(&found.maintenances[0])
			shown := viewOf(found, night).Maintenance
			if test.want == "" {
				g.Expect(shown).To(BeNil())
			} else {
				g.Expect(shown.sentence()).To(ContainSubstring(test.want))
			}
		})
	}
}
