package checkup

import (
	"cmp"
	"slices"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
)

// Severity is how much a finding matters.
type Severity string

const (
	// OK means that nothing is to be done.
	OK Severity = "ok"
	// Warning means that the failover works, and that a person should look at it.
	Warning Severity = "warning"
	// Problem means that the failover will not work, or not for all clients.
	Problem Severity = "problem"
	// Unclear is a verdict, and never a finding: what decides whether the failover
	// works was not checked.
	Unclear Severity = "unknown"
)

func (s Severity) weight() int {
	return slices.Index([]Severity{Problem, Unclear, Warning, OK}, s)
}

// Finding is the result of one check of one thing.
type Finding struct {
	// Check is the name of the check; docs/plugin.md lists them.
	Check string `json:"check"`
	// Subject is what the check is about: "installation", "namespace/NAME" or
	// "service/NAMESPACE/NAME".
	Subject string `json:"subject"`
	// Severity is ok, warning or problem.
	Severity Severity `json:"severity"`
	// Unchecked means that it could not be checked.
	Unchecked bool `json:"unchecked,omitempty"`
	// What was found.
	What string `json:"what"`
	// Why it matters; empty where nothing is to be done.
	Why string `json:"why,omitempty"`
	// Fix is what to do; empty where nothing is to be done.
	Fix string `json:"fix,omitempty"`
}

// Report is all that a check-up found.
type Report struct {
	// Verdict is the severity of the worst finding. It is Unclear where there is no
	// problem, and no Service was checked, or the standby of one was not.
	Verdict Severity `json:"verdict"`
	// Services is how many Services were checked.
	Services int `json:"services"`
	// Problems and Warnings count findings.
	Problems int `json:"problems"`
	Warnings int `json:"warnings"`
	// Findings are grouped by subject: the installation first, then the worst subject.
	// In each group the worst finding comes first.
	Findings []Finding `json:"findings"`
}

// Installation is the subject of findings that concern every Service.
const Installation = "installation"

// subject is that of the findings about a Service.
func (s *Service) subject() string { return "service/" + s.Namespace + "/" + s.Name }

// Examine runs every check.
func Examine(world *World) Report {
	report := Report{Verdict: OK, Services: len(world.Services)}
	for _, check := range installationChecks {
		report.add(Installation, check(world))
	}
	for _, namespace := range world.Namespaces {
		for _, check := range namespaceChecks {
			report.add("namespace/"+namespace.Name, check(world, namespace))
		}
	}
	governed := map[criticalv2.Policy][]*Service{}
	for _, service := range world.Services {
		for _, check := range serviceChecks {
			report.add(service.subject(), check(world, service))
		}
		governor := world.Governor(service)
		governed[governor] = append(governed[governor], service)
	}
	for _, policy := range world.Policies.Value {
		if services := governed[policy]; len(services) > 0 {
			report.add(services[0].subject(), conditions(policy, services))
		} else if policy.GetNamespace() != "" && access.Misdirected(policy) != nil {
			report.add("namespace/"+policy.GetNamespace(), conditions(policy, nil)) // Its team wants it to govern something.
		}
	}
	if len(world.Services) == 0 && report.Verdict != Problem {
		report.Verdict = Unclear
	}
	report.sort()
	return report
}

// decisive are the checks without which it is not known whether the fallback of a
// Service would answer.
var decisive = []string{checkProtected, checkStandby, checkListening}

var (
	installationChecks = []func(*World) []Finding{
		definition, operator, versions, certificates, permissions, nodes, apis, services,
	}
	namespaceChecks = []func(*World, *Namespace) []Finding{
		responder, budgets, quotas,
	}
	serviceChecks = []func(*World, *Service) []Finding{
		protected, standby, ports, listening, selfTest, template,
		clusterIP, loadBalancer, localPolicies, addresses, ingresses, routes, networkPolicies,
	}
)

func (r *Report) add(subject string, findings []Finding) {
	for _, finding := range findings {
		finding.Subject = subject
		switch finding.Severity {
		case Problem:
			r.Problems++
		case Warning:
			r.Warnings++
		case OK, Unclear:
		}
		verdict := finding.Severity
		if finding.Unchecked && slices.Contains(decisive, finding.Check) {
			verdict = Unclear
		}
		if verdict.weight() < r.Verdict.weight() {
			r.Verdict = verdict
		}
		r.Findings = append(r.Findings, finding)
	}
}

func (r *Report) sort() {
	worst := map[string]int{}
	for _, finding := range r.Findings {
		weight, seen := worst[finding.Subject]
		if !seen || finding.Severity.weight() < weight {
			worst[finding.Subject] = finding.Severity.weight()
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(later(a.Subject), later(b.Subject)),
			cmp.Compare(worst[a.Subject], worst[b.Subject]),
			cmp.Compare(a.Subject, b.Subject),
			cmp.Compare(a.Severity.weight(), b.Severity.weight()),
		)
	})
}

// later is 0 for the installation: what is wrong with it often explains the rest.
func later(subject string) int {
	if subject == Installation {
		return 0
	}
	return 1
}

func ok(check, what string) []Finding {
	return []Finding{{Check: check, Severity: OK, What: what}}
}

// unchecked is the finding of a check that lacks a permission, or failed.
func unchecked(check, what, fix string) []Finding {
	return []Finding{{
		Check: check, Severity: Warning, Unchecked: true, What: "not checked: " + what,
		Why: "what was not checked may block the failover",
		Fix: fix,
	}}
}
