package summary_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

func TestConditions(t *testing.T) {
	overridden := verdict("o", criticalv2.StateCovered, criticalv2.ReasonFallbackServing)
	other := policy("A")
	overridden.Matching = []summary.Policy{summary.PolicyOf(other)}

	tests := map[string]struct {
		verdicts  []summary.Verdict
		unwatched []string
		selector  map[string]string
		want      string
	}{
		"no Service is no trouble": {
			want: "Ready=True/NoServices FallbackReady=True/FallbackPrepared FailoverReady=Unknown/NotTested Outage=False/NoOutage Overridden=False/NotOverridden",
		},
		"armed Services are protected": {
			verdicts: []summary.Verdict{verdict("x", criticalv2.StateArmed, criticalv2.ReasonEndpointsReady)},
			want:     "Ready=True/Protected FallbackReady=True/FallbackPrepared FailoverReady=Unknown/NotTested Outage=False/NoOutage Overridden=False/NotOverridden",
		},
		"a Service that cannot be protected does not spoil the rest": {
			verdicts: []summary.Verdict{
				verdict("x", criticalv2.StateArmed, criticalv2.ReasonEndpointsReady),
				verdict("y", criticalv2.StateIgnored, criticalv2.ReasonNoSelector),
			},
			want: "Ready=True/Protected FallbackReady=True/FallbackPrepared FailoverReady=Unknown/NotTested Outage=False/NoOutage Overridden=False/NotOverridden",
		},
		"a covered Service is protected, and in outage": {
			verdicts: []summary.Verdict{verdict("x", criticalv2.StateCovered, criticalv2.ReasonFallbackServing)},
			want:     "Ready=True/Protected FallbackReady=True/FallbackPrepared FailoverReady=Unknown/NotTested Outage=True/Covered Overridden=False/NotOverridden",
		},
		"one exposed Service counts more than one that is covered": {
			verdicts: []summary.Verdict{
				verdict("x", criticalv2.StateCovered, criticalv2.ReasonFallbackServing),
				verdict("y", criticalv2.StateExposed, criticalv2.ReasonFallbackStarting),
			},
			want: "Ready=False/NotProtected FallbackReady=True/FallbackPrepared FailoverReady=Unknown/NotTested Outage=True/Exposed Overridden=False/NotOverridden",
		},
		"one Service that no waiting helps is enough: Ready stays False for all": {
			verdicts: []summary.Verdict{
				verdict("x", criticalv2.StateArmed, criticalv2.ReasonStandbyReady),
				verdict("y", criticalv2.StateExposed, criticalv2.ReasonFallbackFailing),
				verdict("z", criticalv2.StateExposed, criticalv2.ReasonHeadlessUnsupported),
			},
			want: "Ready=False/NotProtected FallbackReady=False/HeadlessUnsupported FailoverReady=False/NotProtected Outage=True/Exposed Overridden=False/NotOverridden Stalled=True/HeadlessUnsupported",
		},
		"a missing template that the page stands in for is nothing to wait for": {
			verdicts: []summary.Verdict{verdict("x", criticalv2.StateArmed, criticalv2.ReasonTemplateNotFound)},
			want:     "Ready=True/Protected FallbackReady=False/TemplateNotFound FailoverReady=Unknown/NotTested Outage=False/NoOutage Overridden=False/NotOverridden",
		},
		"a problem of a fallback is reported before the outage": {
			verdicts: []summary.Verdict{verdict("x", criticalv2.StateArming, criticalv2.ReasonCreateDenied)},
			want:     "Ready=False/NotProtected FallbackReady=False/CreateDenied FailoverReady=False/NotProtected Outage=False/NoOutage Overridden=False/NotOverridden",
		},
		"a missing template is said before what concerns one Service": {
			verdicts: []summary.Verdict{
				verdict("x", criticalv2.StateArming, criticalv2.ReasonNameTaken),
				verdict("y", criticalv2.StateArming, criticalv2.ReasonTemplateNotFound),
			},
			want: "Ready=False/NotProtected FallbackReady=False/TemplateNotFound FailoverReady=False/NotProtected Outage=False/NoOutage Overridden=False/NotOverridden Stalled=True/TemplateNotFound",
		},
		"a fallback that answers on some ports only is a problem": {
			verdicts: []summary.Verdict{verdict("x", criticalv2.StateCovered, criticalv2.ReasonPortMismatch)},
			want:     "Ready=True/Protected FallbackReady=False/PortMismatch FailoverReady=Unknown/NotTested Outage=True/Covered Overridden=False/NotOverridden",
		},
		"what another governs is not ours to worry about": {
			verdicts: []summary.Verdict{overridden},
			want:     "Ready=True/NoServices FallbackReady=True/FallbackPrepared FailoverReady=Unknown/NotTested Outage=False/NoOutage Overridden=True/FirstByName",
		},
		"a selector that cannot be read is said": {
			selector: map[string]string{"role": "front end"},
			want:     "Ready=False/SelectorInvalid FallbackReady=True/FallbackPrepared FailoverReady=Unknown/NotTested Outage=False/NoOutage Overridden=False/NotOverridden Stalled=True/SelectorInvalid",
		},
		"a namespace that is not looked at is said": {
			unwatched: []string{"elsewhere"},
			want:      "Ready=False/NamespaceNotWatched FallbackReady=True/FallbackPrepared FailoverReady=Unknown/NotTested Outage=False/NoOutage Overridden=False/NotOverridden Stalled=True/NamespaceNotWatched",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := policy("a")
			if test.selector != nil {
				p.Spec.ServiceSelector.MatchLabels = test.selector
			}
			status := summary.Summarize(p, test.verdicts, summary.Scope{Unwatched: test.unwatched}, now)
			var got []string
			for _, condition := range status.Conditions {
				got = append(got, fmt.Sprintf("%s=%s/%s", condition.Type, condition.Status, condition.Reason))
				g.Expect(condition.Message).NotTo(BeEmpty())
			}
			g.Expect(strings.Join(got, " ")).To(Equal(test.want))
		})
	}
}

func TestCountsAddUp(t *testing.T) {
	g := NewWithT(t)
	p := policy("a")
	status := summary.Summarize(p, []summary.Verdict{
		verdict("a", criticalv2.StateArmed, "x"), verdict("b", criticalv2.StateArmed, "x"),
		verdict("c", criticalv2.StateArming, "x"), verdict("d", criticalv2.StateExposed, "x"),
		verdict("e", criticalv2.StateCovered, "x"), verdict("f", criticalv2.StateIgnored, "x"),
	}, summary.Scope{}, now)
	g.Expect(status.Services).To(Equal(criticalv2.ServiceCounts{Total: 6, Armed: 2, Arming: 1, Exposed: 1, Covered: 1, Ignored: 1}))
}

func TestDetailsAreCappedAndSorted(t *testing.T) {
	g := NewWithT(t)
	var verdicts []summary.Verdict
	for i := range 150 {
		verdicts = append(verdicts, verdict(fmt.Sprintf("s-%03d", i), criticalv2.StateArmed, criticalv2.ReasonEndpointsReady))
	}
	verdicts = append(verdicts,
		verdict("zz", criticalv2.StateExposed, criticalv2.ReasonFallbackStarting),
		verdict("zy", criticalv2.StateCovered, criticalv2.ReasonFallbackServing))
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(verdicts), func(i, j int) { verdicts[i], verdicts[j] = verdicts[j], verdicts[i] })

	p := policy("a")
	status := summary.Summarize(p, verdicts, summary.Scope{}, now)

	g.Expect(status.Services.Total).To(BeEquivalentTo(152))
	g.Expect(status.Details).To(HaveLen(criticalv2.MaxDetails))
	var names []string
	for _, detail := range status.Details {
		names = append(names, detail.Name)
	}
	g.Expect(names[:2]).To(Equal([]string{"s-000", "s-001"}))
	g.Expect(names[98:]).To(Equal([]string{"zy", "zz"}), "those in outage are kept")
}

func TestSinceIsWhenTheStateBegan(t *testing.T) {
	earlier := metav1.NewTime(now.Add(-time.Hour))
	was := func(state criticalv2.ServiceState, reason string) criticalv2.ServiceStatus {
		return criticalv2.ServiceStatus{Namespace: "web", Name: "x", State: state, Reason: reason, Message: "old", Since: earlier}
	}
	provisional := func(v summary.Verdict) summary.Verdict { v.Provisional = true; return v }
	tests := map[string]struct {
		was        criticalv2.ServiceStatus
		verdict    summary.Verdict
		wantReason string
		wantSince  time.Time
	}{
		"the same state goes on, though the reason is another": {
			was(criticalv2.StateExposed, criticalv2.ReasonFallbackStarting),
			verdict("x", criticalv2.StateExposed, criticalv2.ReasonCreateDenied),
			criticalv2.ReasonCreateDenied, earlier.Time,
		},
		"another state begins now": {
			was(criticalv2.StateExposed, criticalv2.ReasonFallbackStarting),
			verdict("x", criticalv2.StateCovered, criticalv2.ReasonFallbackServing),
			criticalv2.ReasonFallbackServing, now,
		},
		"until the API server has answered, what it said before holds": {
			was(criticalv2.StateArmed, criticalv2.ReasonEndpointsReady),
			provisional(verdict("x", criticalv2.StateArming, criticalv2.ReasonDryRunPending)),
			criticalv2.ReasonEndpointsReady, earlier.Time,
		},
		"a Service that is no longer opted out is not called so until the API server has answered": {
			was(criticalv2.StateIgnored, criticalv2.ReasonOptedOut),
			provisional(verdict("x", criticalv2.StateArming, criticalv2.ReasonDryRunPending)),
			criticalv2.ReasonDryRunPending, now,
		},
		"a recovery is not hidden by a dry run that is pending": {
			was(criticalv2.StateCovered, criticalv2.ReasonFallbackServing),
			provisional(verdict("x", criticalv2.StateArming, criticalv2.ReasonDryRunPending)),
			criticalv2.ReasonDryRunPending, now,
		},
		"a fallback that is gone is not said to answer until the next one is made": {
			was(criticalv2.StateCovered, criticalv2.ReasonFallbackServing),
			provisional(verdict("x", criticalv2.StateExposed, criticalv2.ReasonFallbackStarting)),
			criticalv2.ReasonFallbackStarting, now,
		},
		"an outage is not hidden by a create that is still to come": {
			was(criticalv2.StateArmed, criticalv2.ReasonEndpointsReady),
			provisional(verdict("x", criticalv2.StateExposed, criticalv2.ReasonFallbackStarting)),
			criticalv2.ReasonFallbackStarting, now,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := policy("a")
			p.Status.Details = []criticalv2.ServiceStatus{test.was}
			status := summary.Summarize(p, []summary.Verdict{test.verdict}, summary.Scope{}, now)
			g.Expect(status.Details[0].Reason).To(Equal(test.wantReason))
			g.Expect(status.Details[0].Since.Time).To(Equal(test.wantSince))
		})
	}
}

func TestASummaryOfTheSameIsTheSame(t *testing.T) {
	g := NewWithT(t)
	p := policy("a")
	verdicts := []summary.Verdict{
		verdict("x", criticalv2.StateArmed, "r"), verdict("y", criticalv2.StateExposed, "r"),
		verdict("z", criticalv2.StateExposed, criticalv2.ReasonNameTaken),
	}
	p.Status = summary.Summarize(p, verdicts, summary.Scope{}, now)
	g.Expect(summary.Summarize(p, verdicts, summary.Scope{}, now.Add(time.Hour))).To(Equal(p.Status))
}

// The condition goes as soon as waiting helps again, and its message is that of the first
// Service concerned.
func TestStalledIsThereOnlyWhileNoWaitingHelps(t *testing.T) {
	g := NewWithT(t)
	p := policy("a")
	after := func(verdicts ...summary.Verdict) *metav1.Condition {
		p.Status = summary.Summarize(p, verdicts, summary.Scope{}, now)
		return meta.FindStatusCondition(p.Status.Conditions, criticalv2.ConditionStalled)
	}
	stalled := after(verdict("y", criticalv2.StateArming, criticalv2.ReasonPortMismatch), verdict("x", criticalv2.StateArming, criticalv2.ReasonPortMismatch))
	g.Expect(stalled.Message).To(Equal("Service web/x: message of x (and 1 more)"))
	g.Expect(after(verdict("x", criticalv2.StateCovered, criticalv2.ReasonPortMismatch))).To(BeNil(), "Ready is True")
	g.Expect(after(verdict("x", criticalv2.StateArming, criticalv2.ReasonPortMismatch))).NotTo(BeNil())
	g.Expect(after(verdict("x", criticalv2.StateArming, criticalv2.ReasonFallbackStarting))).To(BeNil(), "Ready is False, and may become True")
	g.Expect(meta.IsStatusConditionFalse(p.Status.Conditions, criticalv2.ConditionReady)).To(BeTrue())
}

func TestOneOfTooManyIsStalled(t *testing.T) {
	g := NewWithT(t)
	p := &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "n"}, Spec: criticalv2.ServiceFallbackSpec{Services: []string{"x"}}}
	status := summary.Summarize(p, nil, summary.Scope{Surplus: true}, now)
	stalled := meta.FindStatusCondition(status.Conditions, criticalv2.ConditionStalled)
	g.Expect(stalled.Reason).To(Equal(criticalv2.ConditionReasonTooMany))
	g.Expect(stalled.Message).To(Equal(meta.FindStatusCondition(status.Conditions, criticalv2.ConditionReady).Message))
}

func TestLongMessagesFitTheSchema(t *testing.T) {
	g := NewWithT(t)
	p, v := policy("a"), judged("x", decide.Plan{State: criticalv2.StateArming, Reason: "r", Message: strings.Repeat("é", 5000)})
	status := summary.Summarize(p, []summary.Verdict{v}, summary.Scope{}, now)
	message := status.Details[0].Message
	g.Expect(len(message)).To(BeNumerically("~", 1024, 3), "an event's note has at most 1024 bytes")
	g.Expect(len(message)).To(BeNumerically("<=", 1024))
	g.Expect(utf8.ValidString(message)).To(BeTrue())
	for _, condition := range status.Conditions {
		g.Expect(len(condition.Message)).To(BeNumerically("<", 32768))
	}
}

func TestAConditionsTimeChangesWithItsStatusOnly(t *testing.T) {
	g := NewWithT(t)
	p := policy("a")
	p.Status = summary.Summarize(p, []summary.Verdict{verdict("x", criticalv2.StateExposed, "r")}, summary.Scope{}, now)
	p.Status = summary.Summarize(p, []summary.Verdict{verdict("x", criticalv2.StateArming, "r")}, summary.Scope{}, now.Add(time.Minute))
	g.Expect(meta.FindStatusCondition(p.Status.Conditions, criticalv2.ConditionReady).LastTransitionTime.Time).To(Equal(now))
	g.Expect(meta.FindStatusCondition(p.Status.Conditions, criticalv2.ConditionOutage).LastTransitionTime.Time).To(Equal(now.Add(time.Minute)))
}

func TestAStatusSaysWhichObjectGovernsInItsPlace(t *testing.T) {
	front := &metav1.LabelSelector{MatchLabels: map[string]string{"role": "shop"}}
	fallback := func(name string, spec criticalv2.ServiceFallbackSpec) *criticalv2.ServiceFallback {
		return &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, UID: types.UID(name)}, Spec: spec}
	}
	enforced := policy("z")
	enforced.Spec.Precedence = criticalv2.PrecedenceEnforced
	naming := fallback("n", criticalv2.ServiceFallbackSpec{Services: []string{"x"}})
	selecting := fallback("a", criticalv2.ServiceFallbackSpec{ServiceSelector: front})
	for sentence, test := range map[string]struct {
		of, winner   criticalv2.Policy
		kind, reason string
		message      string
	}{
		"an enforced CriticalService, over a ServiceFallback": {naming, enforced, "CriticalService", "Precedence",
			`CriticalService "z" governs this Service: its precedence is Enforced.`},
		"an enforced CriticalService, over another": {policy("a"), enforced, "CriticalService", "Precedence",
			`CriticalService "z" governs this Service: its precedence is Enforced.`},
		"a ServiceFallback that names it, over a CriticalService": {policy("a"), naming, "ServiceFallback", "Precedence",
			`ServiceFallback "n" governs this Service: it is of this namespace and names the Service.`},
		"one that names it, over one that selects it": {selecting, naming, "ServiceFallback", "Precedence",
			`ServiceFallback "n" governs this Service: it is of this namespace and names the Service.`},
		"one that selects it, over a CriticalService": {policy("a"), selecting, "ServiceFallback", "Precedence",
			`ServiceFallback "a" governs this Service: it is of this namespace and selects the Service.`},
		"the first of two by name": {policy("b"), policy("a"), "CriticalService", "FirstByName",
			`CriticalService "a" governs this Service: it comes first by name.`},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "x", Labels: front.MatchLabels}}
			snap := decide.Snapshot{Service: service, Policies: []criticalv2.Policy{test.of, test.winner}, Now: now}
			judgement := summary.Judge(&snap, &decide.Plan{Governor: test.winner, State: criticalv2.StateCovered})
			verdicts := []summary.Verdict{{Judgement: *judgement}}

			status := summary.Summarize(test.of, verdicts, summary.Scope{}, now)
			g.Expect(status.Details[0].Message).To(Equal(test.message))
			g.Expect(*status.Details[0].OverriddenBy).To(Equal(criticalv2.PolicyReference{Kind: test.kind, Name: test.winner.GetName()}))
			condition := meta.FindStatusCondition(status.Conditions, criticalv2.ConditionOverridden)
			g.Expect(string(condition.Status) + "/" + condition.Reason).To(Equal("True/" + test.reason))

			status = summary.Summarize(test.winner, verdicts, summary.Scope{}, now)
			g.Expect(status.Details[0].OverriddenBy).To(BeNil())
			g.Expect(meta.IsStatusConditionFalse(status.Conditions, criticalv2.ConditionOverridden)).To(BeTrue())
		})
	}
}
