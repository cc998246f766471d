package status

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/text/terminal"
)

// columns of the table. NAMESPACE is left out where all rows have the same.
func columns(allNamespaces bool) []output.Column {
	all := []output.Column{
		{Name: "NAMESPACE"},
		{Name: "NAME"},
		{Name: "STATE", Tone: output.ToneOfState},
		{Name: "SINCE"},
		{Name: "READY"},
		{Name: "FALLBACK"},
		{Name: "FAILOVER", Tone: toneOfFailover},
		{Name: "GOVERNOR", Wide: true},
		{Name: "TIER", Wide: true},
		{Name: "REASON", Wide: true},
		{Name: "CAUSE"},
		{Name: "MESSAGE", Wide: true},
	}
	if !allNamespaces {
		return all[1:]
	}
	return all
}

// row is a Service as a row of the table.
func row(service *Service, allNamespaces bool, now time.Time) []string {
	why, message := cause(service), service.Message
	if strings.HasSuffix(why, message) {
		message = "" // It is said once.
	}
	cells := []string{
		service.Namespace,
		service.Name,
		string(service.State),
		output.Age(service.Since.Time, now),
		ready(service),
		fallback(service),
		failsOver(service),
		service.Governor.String(),
		service.Governor.Tier,
		service.Reason,
		why,
		message,
	}
	if !allNamespaces {
		return cells[1:]
	}
	return cells
}

func ready(service *Service) string {
	if service.Endpoints == nil {
		return "?"
	}
	return fmt.Sprintf("%d/%d", service.Endpoints.Ready, service.Endpoints.Total)
}

func fallback(service *Service) string {
	switch {
	case service.Fallback == nil:
		return ""
	case service.Fallback.Service != "":
		return "svc/" + service.Fallback.Service
	default:
		return service.Fallback.Kind
	}
}

// failsOver says whether the fallback would answer.
func failsOver(service *Service) string {
	return map[metav1.ConditionStatus]string{
		metav1.ConditionTrue: "yes", metav1.ConditionFalse: "no", metav1.ConditionUnknown: "?",
	}[service.FailoverReady]
}

func toneOfFailover(text string) output.Tone {
	switch text {
	case "yes":
		return output.Good
	case "no":
		return output.Bad
	default:
		return output.Neutral
	}
}

// What is said of an outage that is not in the status: for a moment, and then.
const (
	late     = "just gone down: the operator is about to report it"
	outdated = "the status is old: the operator does not seem to run"
)

// cause says why a Service is down, and why nothing answers in its place if nothing does;
// or why it is not protected while it is not down.
func cause(service *Service) string {
	switch {
	case service.late:
		return late
	case service.Outdated:
		return outdated
	}
	switch service.State {
	case criticalv2.StateArmed:
		if service.Reason == criticalv2.ReasonStandbyReady || service.Reason == criticalv2.ReasonEndpointsReady {
			return ""
		}
		return service.Message
	case criticalv2.StateExposed:
		return strings.TrimSuffix(causeOf(service.Cause), ".") + "; no fallback: " + service.Message
	case criticalv2.StateCovered:
		return causeOf(service.Cause)
	case criticalv2.StateArming, criticalv2.StateIgnored:
		return service.Message
	default:
		return service.Message
	}
}

func causeOf(cause *criticalv2.OutageCause) string {
	switch {
	case cause == nil:
		return "not known yet"
	case cause.Reason == criticalv2.CauseNotFound:
		return "not found"
	case cause.Message != "":
		return cause.Message
	default:
		return cause.Reason
	}
}

// printTable prints the Services.
func printTable(table *output.Table, view *View, allNamespaces bool, now time.Time) error {
	for i := range view.Services {
		table.Row(row(&view.Services[i], allNamespaces, now)...)
	}
	return table.Flush()
}

// printSentences prints in words what the table means.
func printSentences(out io.Writer, view *View, palette output.Palette) {
	lines := sentences(view)
	if len(lines) > 0 {
		fmt.Fprintln(out)
	}
	for _, line := range lines {
		fmt.Fprintln(out, palette.Paint(line.tone, terminal.OneLine(line.text)))
	}
}

type sentence struct {
	tone output.Tone
	text string
}

// sentences say what is down, the most urgent first, and what else is to be known.
// Nothing is said where all is well.
func sentences(view *View) []sentence {
	var lines []sentence
	say := func(tone output.Tone, text string, is func(*Service) bool) {
		if names := named(view, is); names != "" {
			lines = append(lines, sentence{tone, text + names + "."})
		}
	}
	unplanned := func(state criticalv2.ServiceState) func(*Service) bool {
		return func(s *Service) bool { return s.State == state && s.Planned == nil && !s.Outdated && !s.late }
	}
	say(output.Bad, "Down, and the operator has not noticed (it does not seem to run): ", func(s *Service) bool { return s.Outdated })
	say(output.Warning, "Just gone down, and the operator is about to report it: ", func(s *Service) bool { return s.late })
	say(output.Bad, "Down, and nothing answers: ", unplanned(criticalv2.StateExposed))
	say(output.Warning, "Down, and the fallback answers: ", unplanned(criticalv2.StateCovered))
	lines = append(lines, planned(view)...)
	say(output.Warning, "Up, but with no fallback if they go down: ", unplanned(criticalv2.StateArming))
	for i := range view.Services {
		if first := &view.Services[i]; first.Outdated || first.State == criticalv2.StateExposed || first.State == criticalv2.StateCovered {
			lines = append(lines, sentence{output.Neutral, fmt.Sprintf("More about one of them: kubectl critsvc explain svc/%s -n %s", first.Name, first.Namespace)})
			break
		}
	}
	for _, notice := range view.Notices {
		lines = append(lines, sentence{output.Neutral, "Note: " + notice})
	}
	return lines
}

// planned are the sentences about Services that are down for a maintenance: one for
// each of their ends, and for those for which nothing answers.
func planned(view *View) []sentence {
	var texts []string
	services := map[string][]string{}
	for i := range view.Services {
		service := &view.Services[i]
		if service.Planned == nil {
			continue
		}
		text := "Down as planned"
		if service.Planned.Until != nil {
			text += " until " + service.Planned.Until.UTC().Format(time.RFC3339)
		}
		if service.State == criticalv2.StateExposed {
			text += ", and nothing answers"
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		services[text] = append(services[text], service.Namespace+"/"+service.Name)
	}
	lines := make([]sentence, 0, len(texts))
	for _, text := range texts {
		lines = append(lines, sentence{output.Warning, text + ": " + output.Names(services[text], mostNamed) + "."})
	}
	return lines
}

// mostNamed is how many Services a sentence names.
const mostNamed = 5

// named names the Services that are as asked.
func named(view *View, is func(*Service) bool) string {
	var names []string
	for i := range view.Services {
		if service := &view.Services[i]; is(service) {
			names = append(names, service.Namespace+"/"+service.Name)
		}
	}
	return output.Names(names, mostNamed)
}

// emptyMessage says why there is nothing to list.
func emptyMessage(found facts, scope scope) string {
	where := "in any namespace"
	if scope.namespace != "" {
		where = fmt.Sprintf("in namespace %q", scope.namespace)
	}
	if len(found.policies) == 0 {
		none := "the cluster has no CriticalService, and no ServiceFallback"
		if found.refused.policies.CriticalServices != nil {
			none = "there is no ServiceFallback"
		}
		return fmt.Sprintf("No Service is known to be critical: %s %s. How to declare one: https://github.com/critical-service/operator#readme", none, where)
	}
	text := fmt.Sprintf("No CriticalService or ServiceFallback lists a Service %s", where)
	if len(found.policies) == 1 {
		text += fmt.Sprintf("; there is one, %s", access.Title(found.policies[0]))
	} else {
		text += fmt.Sprintf("; there are %d of them", len(found.policies))
	}
	if scope.namespace != "" {
		return text + ". All namespaces: kubectl critsvc status -A"
	}
	return text + ". What they select: kubectl get criticalservices,servicefallbacks -A -o yaml"
}
