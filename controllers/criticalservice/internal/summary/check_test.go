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
	deadOnHTTP = &summary.Check{Asked: 2, Problem: `port "http" (80): Pod "p" refused the connection. Mend it.`}
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
	elsewhere.Plan.Governor = &other
	ignored := tested("ignored", nil)
	ignored.Plan.State = criticalv2.StateIgnored
	covered := tested("covered", wellAsked)
	covered.Plan.State = criticalv2.StateCovered
	open := func(name string, state criticalv2.ServiceState, reason string, check *summary.Check) summary.Verdict {
		v := verdict(name, state, reason)
		v.Plan.Message, v.Check = "Mend it.", check
		return v
	}
	arming := open("arming", criticalv2.StateArming, criticalv2.ReasonResponderStarting, notAsked)
	hindered := open("hindered", criticalv2.StateArming, criticalv2.ReasonResponderFailing, notAsked)
	denied := open("denied", criticalv2.StateExposed, criticalv2.ReasonCreateDenied, notAsked)
	lame := open("lame", criticalv2.StateCovered, criticalv2.ReasonPortMismatch, wellAsked)
	elsewhereHindered := hindered
	elsewhereHindered.Plan.Governor = &other
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
		"one that cannot be asked tells nothing":                {verdicts: []summary.Verdict{tested("x", notAsked)}, want: untested},
		"one that cannot be asked does not hold on":             {verdicts: []summary.Verdict{tested("x", notAsked)}, known: held, want: untested},
		"one that answers":                                      {verdicts: []summary.Verdict{tested("x", wellAsked)}, want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"two that answer":                                       {verdicts: []summary.Verdict{tested("x", wellAsked), tested("y", wellAsked)}, want: "True/StandbyAnswers: The standbys of 2 Services answer."},
		"one that answers, and one that cannot be asked":        {verdicts: []summary.Verdict{tested("x", wellAsked), tested("y", notAsked)}, want: "True/StandbyAnswers: The standby of 1 Service answers. 1 more has none that can be asked."},
		"one that answers, and two that cannot be asked":        {verdicts: []summary.Verdict{tested("x", wellAsked), tested("y", notAsked), tested("z", notAsked)}, want: "True/StandbyAnswers: The standby of 1 Service answers. 2 more have none that can be asked."},
		"one that answers, and one that is yet to be asked":     {verdicts: []summary.Verdict{tested("x", wellAsked), tested("y", nil)}, want: untested},
		"what was found holds on until all have been asked":     {verdicts: []summary.Verdict{tested("x", wellAsked), tested("y", nil)}, known: held, want: "True/StandbyAnswers: as it was"},
		"what was found of another spec does not hold on":       {verdicts: []summary.Verdict{tested("x", nil)}, known: held, generation: 2, want: untested},
		"one that is silent is named, with what to do":          {verdicts: []summary.Verdict{tested("x", wellAsked), tested("y", deadOnHTTP)}, want: `False/StandbySilent: Service web/y: port "http" (80): Pod "p" refused the connection. Mend it.`},
		"one that is silent is said before all are asked":       {verdicts: []summary.Verdict{tested("x", nil), tested("y", deadOnHTTP)}, known: held, want: `False/StandbySilent: Service web/y: port "http" (80): Pod "p" refused the connection. Mend it.`},
		"of three that are silent the first is named":           {verdicts: []summary.Verdict{tested("c", deadOnHTTP), tested("a", deadOnHTTP), tested("b", deadOnHTTP)}, want: `False/StandbySilent: Service web/a: port "http" (80): Pod "p" refused the connection. Mend it. (and 2 more)`},
		"what another CriticalService governs says nothing":     {verdicts: []summary.Verdict{tested("x", wellAsked), elsewhere}, want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"a Service that is not protected is not waited for":     {verdicts: []summary.Verdict{ignored, tested("x", wellAsked)}, known: held, want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"a Service in outage counts as any":                     {verdicts: []summary.Verdict{covered}, want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"an answer follows silence":                             {verdicts: []summary.Verdict{tested("x", wellAsked)}, known: silenced(), want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"one whose responder fails is known not to work":        {verdicts: []summary.Verdict{tested("x", wellAsked), hindered}, known: held, want: "False/NotProtected: Service web/hindered has no fallback that works (ResponderFailing): Mend it."},
		"one that is denied in an outage is, too":               {verdicts: []summary.Verdict{denied}, want: "False/NotProtected: Service web/denied has no fallback that works (CreateDenied): Mend it."},
		"what is silent is said first, and all are counted":     {verdicts: []summary.Verdict{hindered, denied, tested("y", deadOnHTTP)}, want: `False/StandbySilent: Service web/y: port "http" (80): Pod "p" refused the connection. Mend it. (and 2 more)`},
		"what hinders another's Service says nothing":           {verdicts: []summary.Verdict{tested("x", wellAsked), elsewhereHindered}, want: "True/StandbyAnswers: The standby of 1 Service answers."},
		"one that answers in spite of a hindrance does":         {verdicts: []summary.Verdict{lame}, want: "True/StandbyAnswers: The standby of 1 Service answers."},
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
			status := summary.Summarize(&p, test.verdicts, nil, now)
			got := meta.FindStatusCondition(status.Conditions, criticalv2.ConditionFailoverReady)
			g.Expect(fmt.Sprintf("%s/%s: %s", got.Status, got.Reason, got.Message)).To(Equal(test.want))
		})
	}
}

func TestASilenceFitsIntoTheStatus(t *testing.T) {
	g := NewWithT(t)
	p := policy("a")
	long := &summary.Check{Asked: 1, Problem: strings.Repeat("ä", 2000)}
	status := summary.Summarize(&p, []summary.Verdict{tested("x", long), tested("y", long)}, nil, now)
	message := meta.FindStatusCondition(status.Conditions, criticalv2.ConditionFailoverReady).Message
	g.Expect(message).To(HavePrefix("Service web/x: ä"))
	g.Expect(len(message)).To(BeNumerically("<=", 1024))
	g.Expect(utf8.ValidString(message)).To(BeTrue())
}

func silenced() *metav1.Condition {
	return &metav1.Condition{
		Type: criticalv2.ConditionFailoverReady, Status: metav1.ConditionFalse, ObservedGeneration: 1,
		Reason: criticalv2.ConditionReasonStandbySilent, Message: "as it was",
	}
}
