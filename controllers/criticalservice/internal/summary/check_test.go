package summary_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

// The results of a self-test.
var (
	wellAsked  = &summary.Check{Asked: 2}
	notAsked   = &summary.Check{}
	deadOnHTTP = &summary.Check{Asked: 2, Silence: &summary.Silence{Port: 80, Message: `port "http" (80): Pod "p" refused the connection. Fix it.`}}
)

// tested is an armed Service with what its self-test found; nil if it is yet to be.
func tested(name string, check *summary.Check) summary.Verdict {
	v := verdict(name, criticalv2.StateArmed, criticalv2.ReasonStandbyReady)
	v.Check = check
	return v
}

func TestFailoverReady(t *testing.T) {
	const untested = "Unknown/NotTested: No standby was tested: the self-test is off or has just begun, or there is no standby before an outage."
	other := policy("A")
	elsewhere := tested("elsewhere", deadOnHTTP)
	elsewhere.Matching = []summary.Policy{summary.PolicyOf(other)}
	ignored := tested("ignored", nil)
	ignored.State = criticalv2.StateIgnored
	covered := tested("covered", wellAsked)
	covered.State = criticalv2.StateCovered
	open := func(name string, state criticalv2.ServiceState, reason string, check *summary.Check) summary.Verdict {
		v := verdict(name, state, reason)
		v.Message, v.Check = "Fix it.", check
		return v
	}
	arming := open("arming", criticalv2.StateArming, criticalv2.ReasonResponderStarting, notAsked)
	blocked := open("blocked", criticalv2.StateArming, criticalv2.ReasonResponderFailing, notAsked)
	denied := open("denied", criticalv2.StateExposed, criticalv2.ReasonCreateDenied, notAsked)
	lame := open("lame", criticalv2.StateCovered, criticalv2.ReasonPortMismatch, wellAsked)
	elsewhereBlocked := blocked
	elsewhereBlocked.Matching = []summary.Policy{summary.PolicyOf(other)}
	held := &metav1.Condition{
		Type: criticalv2.ConditionFailoverReady, Status: metav1.ConditionTrue, ObservedGeneration: 1,
		Reason: criticalv2.ConditionReasonStandbyAnswers, Message: "as it was",
	}

	tests := map[string]struct {
		verdicts []summary.Verdict
		// known is the condition so far.
		known      *metav1.Condition
		generation int64
		want       string
	}{
		"no Service has no standby":                             {want: untested},
		"a standby is yet to be asked":                          {verdicts: []summary.Verdict{tested("x", nil)}, want: untested},
		"one that cannot be asked says nothing":                 {verdicts: []summary.Verdict{tested("x", notAsked)}, want: untested},
		"one that cannot be asked does not hold on":             {verdicts: []summary.Verdict{tested("x", notAsked)}, known: held, want: untested},
		"one that answers":                                      {verdicts: []summary.Verdict{tested("x", wellAsked)}, want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"two that answer":                                       {verdicts: []summary.Verdict{tested("x", wellAsked), tested("y", wellAsked)}, want: "True/StandbyAnswers: The standbys of 2 Services answer."},
		"one that answers, and one that cannot be asked":        {verdicts: []summary.Verdict{tested("x", wellAsked), tested("y", notAsked)}, want: "True/StandbyAnswers: The standby of 1 Service answers. 1 more has none that can be asked."},
		"one that answers, and two that cannot be asked":        {verdicts: []summary.Verdict{tested("x", wellAsked), tested("y", notAsked), tested("z", notAsked)}, want: "True/StandbyAnswers: The standby of 1 Service answers. 2 more have none that can be asked."},
		"one that answers, and one that is yet to be asked":     {verdicts: []summary.Verdict{tested("x", wellAsked), tested("y", nil)}, want: untested},
		"what was found holds on until all have been asked":     {verdicts: []summary.Verdict{tested("x", wellAsked), tested("y", nil)}, known: held, want: "True/StandbyAnswers: as it was"},
		"what was found of another spec does not hold on":       {verdicts: []summary.Verdict{tested("x", nil)}, known: held, generation: 2, want: untested},
		"one that is silent is named, with what to do":          {verdicts: []summary.Verdict{tested("x", wellAsked), tested("y", deadOnHTTP)}, want: `False/StandbySilent: Service web/y: port "http" (80): Pod "p" refused the connection. Fix it.`},
		"one that is silent is said before all are asked":       {verdicts: []summary.Verdict{tested("x", nil), tested("y", deadOnHTTP)}, known: held, want: `False/StandbySilent: Service web/y: port "http" (80): Pod "p" refused the connection. Fix it.`},
		"of three that are silent the first is named":           {verdicts: []summary.Verdict{tested("c", deadOnHTTP), tested("a", deadOnHTTP), tested("b", deadOnHTTP)}, want: `False/StandbySilent: Service web/a: port "http" (80): Pod "p" refused the connection. Fix it. (and 2 more)`},
		"what another CriticalService governs says nothing":     {verdicts: []summary.Verdict{tested("x", wellAsked), elsewhere}, want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"a Service that is not protected is not waited for":     {verdicts: []summary.Verdict{ignored, tested("x", wellAsked)}, known: held, want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"a Service in outage counts as any":                     {verdicts: []summary.Verdict{covered}, want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"an answer follows silence":                             {verdicts: []summary.Verdict{tested("x", wellAsked)}, known: silenced(), want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"one whose responder fails is known not to work":        {verdicts: []summary.Verdict{tested("x", wellAsked), blocked}, known: held, want: "False/NotProtected: Service web/blocked has no fallback that works (ResponderFailing): Fix it."},
		"one that is denied in an outage is, too":               {verdicts: []summary.Verdict{denied}, want: "False/NotProtected: Service web/denied has no fallback that works (CreateDenied): Fix it."},
		"what is silent is said first, and all are counted":     {verdicts: []summary.Verdict{blocked, denied, tested("y", deadOnHTTP)}, want: `False/StandbySilent: Service web/y: port "http" (80): Pod "p" refused the connection. Fix it. (and 2 more)`},
		"what blocks another's Service says nothing":            {verdicts: []summary.Verdict{tested("x", wellAsked), elsewhereBlocked}, want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"one that answers in spite of a problem does":           {verdicts: []summary.Verdict{lame}, want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"one that is starting is waited for":                    {verdicts: []summary.Verdict{arming, tested("x", wellAsked)}, known: silenced(), want: "False/StandbySilent: as it was"},
		"one that is starting leaves it open":                   {verdicts: []summary.Verdict{arming, tested("x", wellAsked)}, want: untested},
		"silence holds on while its Service is yet to be asked": {verdicts: []summary.Verdict{tested("x", nil)}, known: silenced(), want: "False/StandbySilent: as it was"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := policy("a")
			p.Generation = max(test.generation, 1)
			if test.known != nil {
				p.Status.Conditions = []metav1.Condition{*test.known}
			}
			status := summary.Summarize(p, test.verdicts, summary.Scope{}, now)
			got := meta.FindStatusCondition(status.Conditions, criticalv2.ConditionFailoverReady)
			g.Expect(fmt.Sprintf("%s/%s: %s", got.Status, got.Reason, got.Message)).To(Equal(test.want))
		})
	}
}

func TestASilenceFitsIntoTheStatus(t *testing.T) {
	g := NewWithT(t)
	p := policy("a")
	long := &summary.Check{Asked: 1, Silence: &summary.Silence{Port: 80, Message: strings.Repeat("ä", 2000)}}
	status := summary.Summarize(p, []summary.Verdict{tested("x", long), tested("y", long)}, summary.Scope{}, now)
	message := meta.FindStatusCondition(status.Conditions, criticalv2.ConditionFailoverReady).Message
	g.Expect(message).To(HavePrefix("Service web/x: ä"))
	g.Expect(len(message)).To(BeNumerically("<=", 1024))
	g.Expect(utf8.ValidString(message)).To(BeTrue())
	g.Expect(len(status.Details[0].Failover.Message)).To(BeNumerically("<=", 1024))
}

func silenced() *metav1.Condition {
	return &metav1.Condition{
		Type: criticalv2.ConditionFailoverReady, Status: metav1.ConditionFalse, ObservedGeneration: 1,
		Reason: criticalv2.ConditionReasonStandbySilent, Message: "as it was",
	}
}

// The details hold the result of each Service, of which the condition is the sum.
func TestTheFailoverOfEachService(t *testing.T) {
	const (
		untested   = "Unknown/NotTested: The standby is not tested yet."
		untestable = "Unknown/NotTested: Nothing was tested: the self-test is off, or there is no standby before an outage."
		works      = "True/StandbyAnswers: The standby answers on every port."
	)
	open := func(state criticalv2.ServiceState, reason string, check *summary.Check) summary.Verdict {
		v := verdict("x", state, reason)
		v.Message, v.Check = "Fix it.", check
		return v
	}
	other := policy("A")
	elsewhere := tested("x", wellAsked)
	elsewhere.Matching = []summary.Policy{summary.PolicyOf(other)}
	provisional := open(criticalv2.StateArming, criticalv2.ReasonDryRunPending, notAsked)
	provisional.Provisional = true
	held := &criticalv2.Failover{Status: metav1.ConditionFalse, Reason: criticalv2.ConditionReasonStandbySilent, Message: "as it was", Port: 80}

	tests := map[string]struct {
		verdict summary.Verdict
		// known is what the status says so far, of the generation before if outdated.
		known    *criticalv2.Failover
		outdated bool
		want     string
	}{
		"it answers":                           {verdict: tested("x", wellAsked), want: works},
		"it answers after silence":             {verdict: tested("x", wellAsked), known: held, want: works},
		"it is silent on a port":               {verdict: tested("x", deadOnHTTP), want: `False/StandbySilent: port "http" (80): Pod "p" refused the connection. Fix it. on 80`},
		"it is yet to be tested":               {verdict: tested("x", nil), want: untested},
		"what was found before holds":          {verdict: tested("x", nil), known: held, want: "False/StandbySilent: as it was on 80"},
		"of another spec it does not":          {verdict: tested("x", nil), known: held, outdated: true, want: untested},
		"there is nothing to test":             {verdict: tested("x", notAsked), known: held, want: untestable},
		"its fallback is about to be there":    {verdict: open(criticalv2.StateArming, criticalv2.ReasonResponderStarting, notAsked), want: untested},
		"a dry run is pending":                 {verdict: provisional, known: held, want: "False/StandbySilent: as it was on 80"},
		"its fallback is blocked":              {verdict: open(criticalv2.StateArming, criticalv2.ReasonResponderFailing, notAsked), known: held, want: "False/NotProtected: No fallback works: ResponderFailing."},
		"it answers in the outage":             {verdict: open(criticalv2.StateCovered, criticalv2.ReasonFallbackServing, wellAsked), want: works},
		"it is Ignored":                        {verdict: open(criticalv2.StateIgnored, criticalv2.ReasonNoSelector, notAsked), known: held, want: "none"},
		"another CriticalService is in charge": {verdict: elsewhere, known: held, want: "none"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := policy("a")
			p.Generation, p.Status.ObservedGeneration = 2, 2
			if test.outdated {
				p.Status.ObservedGeneration = 1
			}
			if test.known != nil {
				p.Status.Details = []criticalv2.ServiceStatus{{Namespace: "web", Name: "x", State: criticalv2.StateArmed, Failover: test.known}}
			}
			status := summary.Summarize(p, []summary.Verdict{test.verdict}, summary.Scope{}, now)
			NewWithT(t).Expect(textOf(status.Details[0].Failover)).To(Equal(test.want))
		})
	}
}

func textOf(failover *criticalv2.Failover) string {
	if failover == nil {
		return "none"
	}
	text := fmt.Sprintf("%s/%s: %s", failover.Status, failover.Reason, failover.Message)
	if failover.Port != 0 {
		text += fmt.Sprintf(" on %d", failover.Port)
	}
	return text
}

// Two checks are compared by what was found, not by how a server worded its answer.
func TestChecksAreComparedByFacts(t *testing.T) {
	found := func(change func(*summary.Silence)) *summary.Check {
		silence := &summary.Silence{
			Pod: "p", Address: "10.0.0.3:80", Port: 80, PortName: "http", Protocol: "http", Failure: "foreign",
			Message: `port "http" (80): Pod "p" answered on 10.0.0.3:80, but not in http: it said "220 \"mail\" at 19:44". Fix it.`,
		}
		change(silence)
		return &summary.Check{Asked: 2, Silence: silence}
	}
	first := found(func(*summary.Silence) {})
	tests := map[string]struct {
		other *summary.Check
		same  bool
	}{
		"the same":                    {found(func(*summary.Silence) {}), true},
		"another time in the answer":  {found(func(s *summary.Silence) { s.Message = `... it said "220 \"mail\" at 19:45". Fix it.` }), true},
		"another Pod":                 {found(func(s *summary.Silence) { s.Pod = "q" }), false},
		"another port":                {found(func(s *summary.Silence) { s.Port = 81 }), false},
		"another failure":             {found(func(s *summary.Silence) { s.Failure = "refused" }), false},
		"one more is silent":          {found(func(s *summary.Silence) { s.More = 1 }), false},
		"it answers":                  {wellAsked, false},
		"there is nothing to ask now": {notAsked, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(first.Same(test.other)).To(Equal(test.same))
			g.Expect(test.other.Same(first)).To(Equal(test.same))
		})
	}
	NewWithT(t).Expect(wellAsked.Same(notAsked)).To(BeFalse(), "a standby that answers is no longer there")
	NewWithT(t).Expect(wellAsked.Same(&summary.Check{Asked: 5})).To(BeTrue())
}
