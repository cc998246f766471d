package stories_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/test/testenv"
)

// documentedConditions are the reasons that the specification lists, by
// "Type/Status".
func documentedConditions() (map[string][]string, error) {
	rows, err := tableRows("docs/spec/criticalservice.md", "## Conditions", 4)
	known := map[string][]string{}
	for _, cells := range rows {
		key := strings.Trim(cells[0], " `") + "/" + strings.TrimSpace(cells[1])
		for reason := range strings.SplitSeq(cells[2], "`") {
			if testenv.IsWord(reason) {
				known[key] = append(known[key], reason)
			}
		}
	}
	return known, err
}

// lint holds what the operator last said of a policy, and all it reported in events, to
// the rules. It is called at the end of every test that has a policy, in whatever
// state the test leaves it: what a status says must agree with itself at any time.
func (w *world) lint(policy criticalv2.Policy) {
	w.T.Helper()
	ctx := context.WithoutCancel(w.T.Context())
	now := policy.DeepCopyObject().(criticalv2.Policy)
	if w.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(policy), now) == nil {
		known, err := documentedConditions()
		w.Expect(err).NotTo(HaveOccurred())
		for _, wrong := range lintStatus(now, known) {
			w.T.Errorf("the status of %s: %s", policy.GetName(), wrong)
		}
	}
	w.lintEvents(ctx, policy)
}

// lintStatus says what is wrong with the status of a policy.
func lintStatus(policy criticalv2.Policy, known map[string][]string) []string {
	status := policy.Observed()
	if status.ObservedGeneration == -1 && len(status.Conditions) == 0 {
		return nil // No operator has looked at it yet.
	}
	wrong := testenv.LintConditions(policy.GetGeneration(), status.ObservedGeneration, status.Conditions, known)
	for _, kind := range []string{
		criticalv2.ConditionReady, criticalv2.ConditionFallbackReady, criticalv2.ConditionFailoverReady,
		criticalv2.ConditionOutage, criticalv2.ConditionOverridden,
	} {
		if apimeta.FindStatusCondition(status.Conditions, kind) == nil {
			wrong = append(wrong, "it has no condition "+kind)
		}
	}
	return slices.Concat(wrong, lintDetails(status), lintAgreement(status), lintOutages(status))
}

func lintDetails(status *criticalv2.ProtectionStatus) []string {
	var wrong []string
	for i, detail := range status.Details {
		where := fmt.Sprintf("Service %s/%s", detail.Namespace, detail.Name)
		if i > 0 && status.Details[i-1].Namespace+"/"+status.Details[i-1].Name >= detail.Namespace+"/"+detail.Name {
			wrong = append(wrong, where+" is not in its place")
		}
		if !testenv.IsWord(detail.Reason) || detail.Since.IsZero() {
			wrong = append(wrong, fmt.Sprintf("%s: reason %q, since %s", where, detail.Reason, detail.Since))
		}
		if detail.Cause != nil && (!down(detail) || !testenv.IsWord(detail.Cause.Reason)) {
			wrong = append(wrong, fmt.Sprintf("%s: cause %v in state %s", where, detail.Cause, detail.State))
		}
		if (detail.Failover == nil) != (detail.State == criticalv2.StateIgnored) {
			wrong = append(wrong, fmt.Sprintf("%s: failover %v in state %s", where, detail.Failover, detail.State))
		}
		if failover := detail.Failover; failover != nil {
			if !testenv.IsWord(failover.Reason) {
				wrong = append(wrong, fmt.Sprintf("%s: failover with reason %q", where, failover.Reason))
			}
			wrong = append(wrong, testenv.LintMessage(where, failover.Message)...)
		}
		wrong = append(wrong, testenv.LintMessage(where, detail.Message)...)
	}
	return wrong
}

func down(detail criticalv2.ServiceStatus) bool {
	return detail.State == criticalv2.StateExposed || detail.State == criticalv2.StateCovered
}

// lintAgreement holds counts, details and conditions against each other.
func lintAgreement(status *criticalv2.ProtectionStatus) []string {
	var wrong []string
	counted, needsAction := criticalv2.ServiceCounts{Total: int32(min(len(status.Details), criticalv2.MaxDetails))}, false
	for _, detail := range status.Details {
		*map[criticalv2.ServiceState]*int32{
			criticalv2.StateIgnored: &counted.Ignored, criticalv2.StateArming: &counted.Arming, criticalv2.StateArmed: &counted.Armed,
			criticalv2.StateExposed: &counted.Exposed, criticalv2.StateCovered: &counted.Covered,
		}[detail.State]++
		needsAction = needsAction || protection.NeedsAction(detail.Reason)
	}
	counts := status.Services
	if counts.Ignored+counts.Arming+counts.Armed+counts.Exposed+counts.Covered != counts.Total {
		wrong = append(wrong, fmt.Sprintf("the states do not add up to the total: %+v", counts))
	}
	if counts.Total <= criticalv2.MaxDetails && counted != counts {
		wrong = append(wrong, fmt.Sprintf("services says %+v, and details %+v", counts, counted))
	}
	open := counts.Arming+counts.Exposed > 0
	for _, rule := range []struct {
		kind  string
		holds bool
	}{
		{criticalv2.ConditionOutage, counts.Exposed+counts.Covered > 0},
		{criticalv2.ConditionFallbackReady, !needsAction},
		{criticalv2.ConditionStalled, waitingIsVain(status)},
		{criticalv2.ConditionOverridden, slices.ContainsFunc(status.Details, func(d criticalv2.ServiceStatus) bool { return d.Reason == criticalv2.ReasonOverridden })},
	} {
		if counts.Total <= criticalv2.MaxDetails && apimeta.IsStatusConditionTrue(status.Conditions, rule.kind) != rule.holds {
			wrong = append(wrong, fmt.Sprintf("condition %s must be %t by what the details say", rule.kind, rule.holds))
		}
	}
	fails := slices.ContainsFunc(status.Details, func(d criticalv2.ServiceStatus) bool {
		return d.Failover != nil && d.Failover.Status == metav1.ConditionFalse
	})
	if fails && !apimeta.IsStatusConditionFalse(status.Conditions, criticalv2.ConditionFailoverReady) {
		wrong = append(wrong, "condition FailoverReady must be False by what the details say")
	}
	ready := apimeta.FindStatusCondition(status.Conditions, criticalv2.ConditionReady)
	if ready != nil && (open && ready.Status == "True" || !open && ready.Reason == criticalv2.ConditionReasonNotProtected) {
		wrong = append(wrong, fmt.Sprintf("condition Ready is %s (%s) with %+v", ready.Status, ready.Reason, counts))
	}
	return wrong
}

// waitingIsVain reports whether no waiting makes Ready True, by its reason and the details.
func waitingIsVain(status *criticalv2.ProtectionStatus) bool {
	ready := apimeta.FindStatusCondition(status.Conditions, criticalv2.ConditionReady)
	return ready != nil && protection.NeedsChange(ready.Reason) || slices.ContainsFunc(status.Details, func(d criticalv2.ServiceStatus) bool {
		open := d.State == criticalv2.StateArming || d.State == criticalv2.StateExposed
		return open && protection.NeedsChange(d.Reason)
	})
}

// lintOutages holds the history against the states.
func lintOutages(status *criticalv2.ProtectionStatus) []string {
	var wrong []string
	underWay := map[string]bool{}
	for _, outage := range status.Outages {
		name := outage.Namespace + "/" + outage.Name
		if outage.Ended == nil {
			underWay[name] = true
		}
		if outage.Covered != nil && (outage.Covered.Before(&outage.Began) || outage.Ended != nil && outage.Ended.Before(outage.Covered)) ||
			outage.Ended != nil && outage.Ended.Before(&outage.Began) || (outage.Covered == nil) != (outage.Fallback == "") {
			wrong = append(wrong, fmt.Sprintf("the outage %+v makes no sense", outage))
		}
	}
	for _, detail := range status.Details { // One that is down and not listed is new.
		// An outage goes on where another policy comes to govern the Service.
		unknown := detail.Reason == criticalv2.ReasonEndpointsUnknown || detail.Reason == criticalv2.ReasonOverridden
		if underWay[detail.Namespace+"/"+detail.Name] && !down(detail) && !unknown {
			wrong = append(wrong, fmt.Sprintf("Service %s/%s is %s, and an outage of it is under way", detail.Namespace, detail.Name, detail.State))
		}
	}
	return wrong
}

// versions lets read each version of a policy in turn, from the present one on.
func (w *world) versions(policy *criticalv2.CriticalService) (next func() *criticalv2.CriticalService) {
	w.T.Helper()
	changes := make(chan watch.Event, 1000)
	ctx, cancel := context.WithCancel(w.T.Context())
	ended := w.Follow(ctx, &criticalv2.CriticalServiceList{}, func(change watch.Event) { changes <- change }, client.MatchingFields{"metadata.name": policy.Name})
	w.T.Cleanup(func() { cancel(); ended() })
	return func() *criticalv2.CriticalService {
		w.T.Helper()
		var change watch.Event
		w.Eventually(changes).Should(Receive(&change))
		version, isPolicy := change.Object.(*criticalv2.CriticalService)
		w.Expect(isPolicy).To(BeTrue(), "%v", change)
		return version
	}
}

// Every version of a status, and not only the last, is held to the rules through an
// outage and two changes of the spec.
func TestEveryStatusOfAnOutageIsClean(t *testing.T) {
	w := withResponder(t)
	policy := w.policy("shop", toPage)
	nextVersion := w.versions(policy)
	w.start(w.complete())
	service, real := w.armed(policy, "web")
	w.fail(service, real)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.turn(policy, func(p *criticalv2.CriticalService) { p.Spec.Fallback.Page.Message = "Soon." })
	w.Eventually(func() int64 { return w.statusOf(policy).ObservedGeneration }).Should(BeEquivalentTo(2))
	w.recover(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.turn(policy, toBackup("elsewhere"))
	w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("False/BackupNotFound"))
	w.Eventually(func() int64 { return w.statusOf(policy).ObservedGeneration }).Should(BeEquivalentTo(3), "at rest a status is about the spec as it is")
	w.settle()

	last := &criticalv2.CriticalService{}
	w.Expect(w.Cluster.Client.Get(t.Context(), types.NamespacedName{Name: policy.Name}, last)).To(Succeed())
	known, err := documentedConditions()
	w.Expect(err).NotTo(HaveOccurred())
	versions := 0
	before := policy
	for before.ResourceVersion != last.ResourceVersion {
		after := nextVersion()
		versions++
		w.Expect(lintStatus(after, known)).To(BeEmpty(), "version %d: %+v", versions, after.Status)
		for _, condition := range after.Status.Conditions {
			was := apimeta.FindStatusCondition(before.Status.Conditions, condition.Type)
			if was != nil && was.Status == condition.Status {
				w.Expect(condition.LastTransitionTime).To(Equal(was.LastTransitionTime), "%s did not change", condition.Type)
			}
		}
		before = after
	}
	w.Expect(versions).To(BeNumerically(">", 4))

	for range 3 {
		w.look(service, func() {})
	}
	w.Expect(w.Cluster.Client.Get(t.Context(), types.NamespacedName{Name: policy.Name}, before)).To(Succeed())
	w.Expect(before.ResourceVersion).To(Equal(last.ResourceVersion), "where nothing changes, nothing flips")
}

func TestTheLintFindsAStatusThatDoesNotAgreeWithItself(t *testing.T) {
	known, err := documentedConditions()
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		spoil func(*criticalv2.ProtectionStatus)
		want  string
	}{
		"counts that do not add up":      {func(s *criticalv2.ProtectionStatus) { s.Services.Total = 5 }, "do not add up"},
		"counts that the details do not": {func(s *criticalv2.ProtectionStatus) { s.Details = nil }, "and details"},
		"an outage that no condition reports": {func(s *criticalv2.ProtectionStatus) {
			s.Details[0].State = criticalv2.StateCovered
			s.Services = criticalv2.ServiceCounts{Total: 1, Covered: 1}
		}, "condition Outage must be true"},
		"Ready though a Service is open": {func(s *criticalv2.ProtectionStatus) {
			s.Details[0].State = criticalv2.StateArming
			s.Services = criticalv2.ServiceCounts{Total: 1, Arming: 1}
		}, "condition Ready is True"},
		"a Service that no waiting helps, and no condition that says so": {func(s *criticalv2.ProtectionStatus) {
			s.Details[0].State, s.Details[0].Reason = criticalv2.StateArming, criticalv2.ReasonNameTaken
			s.Services = criticalv2.ServiceCounts{Total: 1, Arming: 1}
		}, "condition Stalled must be true"},
		"a condition that is missing":                 {func(s *criticalv2.ProtectionStatus) { s.Conditions = s.Conditions[1:] }, "no condition Ready"},
		"a Service without a result of the self-test": {func(s *criticalv2.ProtectionStatus) { s.Details[0].Failover = nil }, "failover <nil> in state Armed"},
		"a failover that no condition tells": {func(s *criticalv2.ProtectionStatus) {
			s.Details[0].Failover.Status = metav1.ConditionFalse
		}, "condition FailoverReady must be False"},
		"a cause without an outage": {func(s *criticalv2.ProtectionStatus) {
			s.Details[0].Cause = &criticalv2.OutageCause{Reason: "CrashLoop"}
		}, "in state Armed"},
		"an outage that no Service is in": {func(s *criticalv2.ProtectionStatus) {
			s.Outages = []criticalv2.Outage{{Namespace: "web", Name: "x"}}
		}, "is under way"},
		"a message without words": {func(s *criticalv2.ProtectionStatus) { s.Details[0].Message = "" }, "empty"},
	} {
		t.Run(sentence, func(t *testing.T) {
			policy := cleanPolicy()
			test.spoil(&policy.Status)
			NewWithT(t).Expect(lintStatus(policy, known)).To(ContainElement(ContainSubstring(test.want)))
		})
	}
	NewWithT(t).Expect(lintStatus(cleanPolicy(), known)).To(BeEmpty())
}

// cleanPolicy has one Service, which is armed.
func cleanPolicy() *criticalv2.CriticalService {
	policy := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 3}}
	policy.Spec.ServiceSelector.MatchLabels = map[string]string{"role": "x"}
	policy.Status = summary.Summarize(policy, []summary.Verdict{{Judgement: summary.Judgement{
		Service: types.NamespacedName{Namespace: "web", Name: "x"}, Matching: []summary.Policy{summary.PolicyOf(policy)},
		State: criticalv2.StateArmed, Reason: criticalv2.ReasonStandbyReady, Message: "It stands by.",
	}}}, summary.Scope{}, time.Now().Add(-time.Minute))
	return policy
}
