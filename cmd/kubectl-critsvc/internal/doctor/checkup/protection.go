package checkup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/protection"
)

const (
	checkProtected = "protected"
	checkCondition = "condition"
	checkStandby   = "standby"
	checkPort      = "port"
	checkListening = "listening"
	checkSelfTest  = "self-test"
	checkTemplate  = "template"

	whyNoFailover = "if the application fails now, nothing answers"
)

// protected checks that a policy governs the Service, and in what state it is.
func protected(w *World, s *Service) []Finding {
	policy, status := w.governor(s)
	switch {
	case w.Policies.Problem != "" && (policy == nil || status != nil && status.OverriddenBy != nil):
		return []Finding{unseen(w, policy, status)}
	case policy == nil:
		return []Finding{{
			Check: checkProtected, Severity: Problem, What: "no CriticalService or ServiceFallback matches the Service", Why: whyNoFailover,
			Fix: "make a ServiceFallback that names the Service, or a CriticalService whose serviceSelector matches its labels: " + labelsOf(s.Labels),
		}}
	case status == nil:
		return []Finding{{
			Check: checkProtected, Severity: Warning, What: access.Title(policy) + " matches the Service, and its status does not name it",
			Why: "the operator has not seen the Service yet, does not watch its namespace (setting NAMESPACES), or lists others: a status has room for 100 Services",
			Fix: "wait a moment; if it stays, check that the operator runs, and its settings",
		}}
	case isOld(s, status):
		return []Finding{oldStatus(policy, status)}
	}
	finding := Finding{
		Check: checkProtected, Why: whyNoFailover, Fix: output.Docs + "runbooks/README.md says what to do by reason",
		What: fmt.Sprintf("%s (tier %s): %s", access.Title(policy), protection.TierOf(policy, s.Name), stateText(status)),
	}
	switch status.State {
	case criticalv2.StateArmed:
		finding.Severity, finding.Why, finding.Fix = OK, "", ""
	case criticalv2.StateCovered:
		finding.Severity, finding.Why = Warning, "the Service is in outage: its fallback answers, not the application"
		finding.Fix = fmt.Sprintf("kubectl critsvc explain svc/%s -n %s", s.Name, s.Namespace)
	case criticalv2.StateExposed:
		finding.Severity, finding.Why = Problem, "the Service is in outage, and nothing answers"
		finding.Fix = fmt.Sprintf("kubectl critsvc explain svc/%s -n %s", s.Name, s.Namespace)
	case criticalv2.StateArming, criticalv2.StateIgnored:
		finding.Severity = Problem
	default:
		finding.Severity = Warning
	}
	return []Finding{finding}
}

// unseen is the finding of a Service that a policy may govern that could not be read.
func unseen(w *World, overridden criticalv2.Policy, status *criticalv2.ServiceStatus) Finding {
	what := w.Policies.Problem
	if overridden != nil { // Why it could not be read is in the finding of the Services.
		governor := access.GovernorOf(overridden, status)
		what = fmt.Sprintf("%s %s governs the Service, as the status of %s says, and its own could not be read", governor.Kind, governor.Name, access.Title(overridden))
	}
	return unchecked(checkProtected, what, "run it with the right to list criticalservices.mycrd.com and servicefallbacks.mycrd.com")[0]
}

// isOld reports whether the status says that the Service answers by itself, and its
// endpoints say that it does not.
func isOld(s *Service, status *criticalv2.ServiceStatus) bool {
	ready, _ := endpoints.Count(s.endpoints(), endpoints.Application)
	return len(s.Slices.Value) > 0 && endpoints.IsOutdated(status.State, status.Reason, ready)
}

// oldStatus is the finding of a Service that is down without the operator's notice.
func oldStatus(policy criticalv2.Policy, status *criticalv2.ServiceStatus) Finding {
	finding := Finding{
		Check: checkProtected, Severity: Warning,
		What: fmt.Sprintf("%s says %s (%s), and the Service has no ready endpoint of its own: the status is old", access.Title(policy), status.State, status.Reason),
		Why:  "the Service has just gone down, and the operator is about to see it; or the operator does not run, and nothing is promoted, repaired or reported",
		Fix:  "repeat this in a moment; if it stays, see the findings of the installation, then read the operator's log",
	}
	if status.State == criticalv2.StateArming {
		finding.Severity = Problem
	}
	return finding
}

func stateText(status *criticalv2.ServiceStatus) string {
	text := fmt.Sprintf("the Service is %s (%s)", status.State, status.Reason)
	if status.Message != "" {
		text += ": " + status.Message
	}
	return text
}

func labelsOf(set map[string]string) string {
	if len(set) == 0 {
		return "it has none, so give it one first"
	}
	return metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: set})
}

// conditions reports the conditions of a policy that are about what blocks
// fallbacks: once for all Services that it governs, and not where the check of the
// protection gives the same reason of one of them.
func conditions(policy criticalv2.Policy, governed []*Service) []Finding {
	isSaid := func(reason string) bool {
		return slices.ContainsFunc(governed, func(s *Service) bool {
			status := policy.Observed().DetailOf(s.Namespace, s.Name)
			return status != nil && !isOld(s, status) && status.Reason == reason
		})
	}
	var findings []Finding
	for _, kind := range []string{criticalv2.ConditionReady, criticalv2.ConditionFallbackReady} {
		condition := meta.FindStatusCondition(policy.Observed().Conditions, kind)
		if condition == nil || condition.Status != metav1.ConditionFalse || isSaid(condition.Reason) {
			continue
		}
		findings = append(findings, Finding{
			Check: checkCondition, Severity: Warning, What: fmt.Sprintf("%s is not %s (%s): %s", access.Title(policy), kind, condition.Reason, condition.Message),
			Why: "the operator says so of this Service, of another that the same object matches, or of the object itself", Fix: output.Docs + "runbooks/README.md says what to do by reason",
		})
	}
	return findings
}

// standby checks that something stands by.
func standby(w *World, s *Service) []Finding {
	if s.Slices.Problem != "" {
		return unchecked(checkStandby, "the EndpointSlices: "+s.Slices.Problem, "run it with the right to list endpointslices in the namespace")
	}
	policy, _ := w.governor(s)
	if policy == nil {
		return nil
	}
	count := 0
	for _, slice := range s.standbys() {
		count += len(slice.Endpoints)
	}
	switch {
	case count > 0:
		return ok(checkStandby, fmt.Sprintf("endpoints that stand by: %d", count))
	case onDemand(policy):
		return []Finding{{
			Check: checkStandby, Severity: Warning, What: "nothing stands by: the fallback is a Pod that is made in an outage",
			Why: "until it runs, for seconds at best, nothing answers; and without the operator it is not made", Fix: "set fallback.podTemplate.activation to Standby, or use a page",
		}}
	}
	return []Finding{{
		Check: checkStandby, Severity: Problem, What: "nothing stands by: the operator has published no standby endpoint", Why: whyNoFailover,
		Fix: fmt.Sprintf("the state and its reason say why: kubectl critsvc explain svc/%s -n %s", s.Name, s.Namespace),
	}}
}

// ports checks that every port of the Service has one of the standby's.
func ports(_ *World, s *Service) []Finding {
	if !s.hasStandby() {
		return nil
	}
	var findings []Finding
	for _, port := range s.Spec.Ports {
		if !protection.IsTCP(port) {
			findings = append(findings, Finding{
				Check: checkPort, Severity: Warning, What: fmt.Sprintf("port %s is %s", portName(port), port.Protocol),
				Why: "a page answers TCP only, and whether a UDP port is answered cannot be tested", Fix: "use a backup Service or a podTemplate that has this port, if its clients need an answer",
			})
			continue
		}
		if !slices.ContainsFunc(s.standbys(), func(slice discoveryv1.EndpointSlice) bool { return len(slice.Endpoints) > 0 && serves(slice, port) }) {
			findings = append(findings, Finding{
				Check: checkPort, Severity: Problem, What: fmt.Sprintf("no standby endpoint has port %s", portName(port)),
				Why: "clients of this port get no answer in an outage", Fix: "give the fallback a port of that name: " + output.Docs + "runbooks/PortMismatch.md",
			})
		}
	}
	if len(findings) == 0 {
		return ok(checkPort, fmt.Sprintf("ports that the standby serves: all %d", len(s.Spec.Ports)))
	}
	return findings
}

func serves(slice discoveryv1.EndpointSlice, port corev1.ServicePort) bool {
	return slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool {
		return ptr.Deref(p.Name, "") == port.Name && ptr.Deref(p.Protocol, corev1.ProtocolTCP) == cmp.Or(port.Protocol, corev1.ProtocolTCP)
	})
}

// portName is the name of a port in messages.
func portName(port corev1.ServicePort) string {
	if port.Name == "" {
		return fmt.Sprint(port.Port)
	}
	return fmt.Sprintf("%s (%d)", port.Name, port.Port)
}

// listening reports the answers of the standby endpoints.
func listening(_ *World, s *Service) []Finding {
	if s.hasStandby() && len(s.Answers) == 0 {
		return unchecked(checkListening, "what the standby answers: it has no TCP port, or is no Pod", "ask it as a client of the Service would")
	}
	var findings []Finding
	good := map[string]int{}
	var example []string
	for _, answer := range s.Answers {
		where := fmt.Sprintf("port %s of Pod %s", answer.Port, answer.Pod)
		switch {
		case answer.Unchecked != "":
			findings = append(findings, unchecked(checkListening, where+": "+answer.Unchecked,
				"run it with the right to forward ports of Pods (pods/portforward) in the namespace; kubectl critsvc drill asks from inside the cluster instead")...)
		case !answer.Answered:
			findings = append(findings, Finding{
				Check: checkListening, Severity: Problem, What: fmt.Sprintf("%s does not answer in %s: %s", where, answer.Protocol, answer.Problem),
				Why: "clients that fail over to it get no answer either", Fix: fmt.Sprintf("kubectl describe pod %s -n %s, and its log", answer.Pod, s.Namespace),
			})
		default:
			if good[answer.Port] == 0 {
				example = append(example, fmt.Sprintf("%s: %s %s", answer.Port, answer.Protocol, answer.Status))
			}
			good[answer.Port]++
		}
	}
	if len(example) > 0 {
		findings = append(findings, ok(checkListening, "the standby answers: "+strings.Join(example, "; "))...)
	}
	return findings
}

// selfTest reports the result of the operator's own test.
func selfTest(w *World, s *Service) []Finding {
	policy, status := w.governor(s)
	if status == nil || status.State == criticalv2.StateIgnored {
		return nil // The check of the protection says so.
	}
	const why = "whether the standby answers clients is not known"
	result := status.Failover
	switch {
	case result == nil:
		return []Finding{{
			Check: checkSelfTest, Severity: Warning, What: "the status has no result of a self-test", Why: why,
			Fix: "upgrade the operator: this one is older than the plugin",
		}}
	case result.Status == metav1.ConditionTrue:
		return ok(checkSelfTest, "the operator's last self-test was answered: "+result.Message)
	case result.Reason == criticalv2.ConditionReasonNotProtected:
		return []Finding{{
			Check: checkSelfTest, Severity: Problem, What: "the operator has nothing to test: " + result.Message, Why: whyNoFailover,
			Fix: "the state and its reason say what to do: see the check " + checkProtected,
		}}
	case result.Status == metav1.ConditionFalse:
		return []Finding{{
			Check: checkSelfTest, Severity: Problem, What: "the operator's last self-test was not answered: " + result.Message,
			Why: "clients that fail over get no answer either", Fix: output.Docs + "runbooks/CriticalServiceFailoverNotReady.md",
		}}
	case onDemand(policy):
		return ok(checkSelfTest, "the operator tests no standby, because the fallback is made in an outage only: "+result.Message)
	}
	return []Finding{{
		Check: checkSelfTest, Severity: Warning, What: "the operator has not tested the standby: " + result.Message, Why: why,
		Fix: "wait for the next self-test, or see the operator's setting SELF_TEST_INTERVAL; kubectl critsvc drill tests now",
	}}
}

// template checks that a Pod of the fallback's template would be admitted.
func template(w *World, s *Service) []Finding {
	policy, _ := w.governor(s)
	if policy == nil || policy.Protection().Fallback.PodTemplate == nil {
		return nil
	}
	found := s.Template
	switch {
	case found.Problem != "":
		return unchecked(checkTemplate, "the PodTemplate: "+found.Problem, "run it with the right to get podtemplates where the PodTemplate is")
	case found.Missing:
		return []Finding{{
			Check: checkTemplate, Severity: Warning, What: "the PodTemplate of the fallback does not exist",
			Why: "the built-in page stands in for it", Fix: "make the PodTemplate: " + output.Docs + "runbooks/TemplateNotFound.md",
		}}
	}
	name := found.Value.Namespace + "/" + found.Value.Name
	findings := quotaFor(s, &found.Value.Template.Spec, policy)
	switch {
	case s.Admission.Problem != "":
		findings = append(findings, unchecked(checkTemplate, fmt.Sprintf("whether a Pod of PodTemplate %s would be admitted: %s", name, s.Admission.Problem),
			"run it with the right to create pods in the namespace; nothing is created, it is a dry run")...)
	case s.Admission.Value != "":
		findings = append(findings, Finding{
			Check: checkTemplate, Severity: Problem, What: fmt.Sprintf("a Pod of PodTemplate %s would be refused: %s", name, s.Admission.Value),
			Why: "the fallback cannot be made", Fix: output.Docs + "runbooks/CreateDenied.md",
		})
	default:
		findings = append(findings, ok(checkTemplate, fmt.Sprintf("a Pod of PodTemplate %s would be admitted", name))...)
	}
	return findings
}

// quotaFor checks the room for a Pod that is made in an outage.
func quotaFor(s *Service, spec *corev1.PodSpec, policy criticalv2.Policy) []Finding {
	if !onDemand(policy) {
		return nil
	}
	if s.Home.Quotas.Problem != "" {
		return unchecked(checkQuota, "ResourceQuotas: "+s.Home.Quotas.Problem, "run it with the right to list resourcequotas in the namespace")
	}
	if lacking := short(s.Home.Quotas.Value, demand(spec, 1)); len(lacking) > 0 {
		return []Finding{{
			Check: checkQuota, Severity: Problem, What: "a quota has no room for the fallback Pod: " + strings.Join(lacking, ", "),
			Why: "the Pod would be refused in the outage", Fix: "raise the quota of the namespace, or let the PodTemplate ask for less",
		}}
	}
	return nil
}

func isPage(slice discoveryv1.EndpointSlice) bool {
	return slice.Labels[criticalv2.LabelFallbackKind] == criticalv2.FallbackKindPage
}
