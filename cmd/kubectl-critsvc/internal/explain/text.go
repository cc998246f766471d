package explain

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/text/terminal"
)

// labelWidth is the width of what stands before the values.
const labelWidth = 16

// printer prints an explanation as text.
type printer struct {
	out     io.Writer
	palette output.Palette
	now     time.Time
	failed  error
}

// print prints an explanation as text.
func (v *View) print(out io.Writer, palette output.Palette, now time.Time) error {
	p := &printer{out: out, palette: palette, now: now}
	p.line("Service:", fmt.Sprintf("%s/%s (%s)", v.Service.Namespace, v.Service.Name, cmp.Or(v.Service.Type, "ClusterIP")))
	p.state(v)
	p.answers(v)
	p.governors(v)
	p.ports(v.Ports)
	p.endpoints(v)
	p.events(v.Events)
	for _, notice := range v.Notices {
		p.write("\nNote: " + terminal.OneLine(notice) + "\n")
	}
	return p.failed
}

func (p *printer) write(text string) {
	if p.failed == nil {
		_, p.failed = io.WriteString(p.out, text)
	}
}

// line prints a label and what belongs to it, one line each.
func (p *printer) line(label string, texts ...string) {
	p.tinted(output.Neutral, label, texts...)
}

// tinted is line, with the first text in a tone.
func (p *printer) tinted(tone output.Tone, label string, texts ...string) {
	for i, text := range texts {
		text = terminal.OneLine(text)
		switch {
		case text == "":
			continue
		case i == 0 && tone != output.Neutral:
			text = p.palette.Paint(tone, text)
		}
		p.write(fmt.Sprintf("%-*s %s\n", labelWidth, label, text))
		label = ""
	}
}

func (p *printer) state(v *View) {
	switch {
	case v.Status != nil:
		state := string(v.Status.State)
		tone, message := output.ToneOfState(state), v.Status.Message
		text := fmt.Sprintf("%s (%s) for %s, since %s", state, v.Status.Reason, output.Age(v.Status.Since.Time, p.now), v.Status.Since.UTC().Format(time.RFC3339))
		if v.Status.Outdated {
			tone, text = output.Bad, "old: the status still says "+text
			message = "The Service has no ready endpoint, and the operator has not noticed: it does not seem to run (see `kubectl critsvc doctor`)."
		}
		p.tinted(tone, "State:", text, message)
	case v.Governor != nil:
		p.tinted(output.Warning, "State:", "not known: see the note below")
	case v.partial:
		p.tinted(output.Warning, "State:", "not known: nothing that you may read matches this Service; see the note below")
	default:
		p.tinted(output.Warning, "State:", "not protected: no CriticalService or ServiceFallback matches this Service")
	}
	if v.Cause != nil {
		text := v.Cause.Reason
		if v.Cause.Message != "" {
			text += ": " + v.Cause.Message
		}
		by := ""
		if v.Cause.By == byPlugin {
			by = "(found just now with your permissions; the operator has not reported it)"
		}
		p.tinted(output.Bad, "Cause:", text, by)
	}
	if v.Maintenance != nil {
		message := ""
		if v.Maintenance.Message != "" {
			message = fmt.Sprintf("Its message: %q", v.Maintenance.Message)
		}
		p.tinted(output.Warning, "Maintenance:", v.Maintenance.sentence(), message)
	}
}

// sentence says how long a maintenance lasts, and what belongs to it.
func (m *Maintenance) sentence() string {
	text := "announced"
	if m.Silent {
		text = "a live drill, of which clients are not informed,"
	}
	if m.Until == nil {
		text = strings.TrimSuffix(text, ",") + ", without an end"
	} else {
		text += " until " + m.Until.UTC().Format(time.RFC3339)
	}
	if m.Over {
		text += ", which is over"
	}
	if m.Workload != "" {
		text += fmt.Sprintf("; %s gets %d replicas back", m.Workload, m.Replicas)
	}
	if m.Name == "" {
		return text
	}
	return text + fmt.Sprintf(" (Maintenance %s%s)", m.Name, strings.TrimSuffix(": "+m.Reason, ": "))
}

func (p *printer) answers(v *View) {
	tone := output.Good
	switch v.Answers.By {
	case answersFallback:
		tone = output.Warning
	case answersNothing:
		tone = output.Bad
	case answersUnknown:
		tone = output.Neutral
	}
	p.tinted(tone, "Answers now:", v.Answers.Message)
	p.line("If it goes down:", v.Next)
	p.failover(v)
	if v.Outages > 0 {
		p.line("Past outages:", fmt.Sprintf("%d recorded: kubectl critsvc history svc/%s -n %s", v.Outages, v.Service.Name, v.Service.Namespace))
	}
}

// failover says whether the fallback works: by the last self-test, or without one by
// the state, where that says that nothing stands by.
func (p *printer) failover(v *View) {
	if !v.Protected {
		return
	}
	nothing := v.Status.State == criticalv2.StateExposed || v.Status.State == criticalv2.StateArming
	switch {
	case nothing && !v.isSilent():
		p.tinted(output.Bad, "Failover test:", fmt.Sprintf("would not work: %s: %s", v.Status.Reason, v.Status.Message))
	case v.Failover == nil:
		p.line("Failover test:", "not known: the status has no result of a self-test.")
	default:
		text := map[metav1.ConditionStatus]string{
			metav1.ConditionTrue: "works", metav1.ConditionFalse: "may not work", metav1.ConditionUnknown: "not tested",
		}[v.Failover.Status]
		p.tinted(output.ToneOfCondition(string(v.Failover.Status)), "Failover test:", text+". "+v.Failover.Message)
	}
}

// isSilent reports whether the standby did not answer the last self-test.
func (v *View) isSilent() bool {
	return v.Failover != nil && v.Failover.Reason == criticalv2.ConditionReasonStandbySilent
}

func (p *printer) governors(v *View) {
	if v.Governor != nil {
		p.line("Governed by:", v.Governor.text())
	}
	for i := range v.Others {
		p.line("Matches too:", v.Others[i].text()+", which has no effect here")
	}
	if v.Fallback != nil {
		p.line("Fallback:", fmt.Sprintf("%s: %s", v.Fallback.Kind, v.Fallback.Message))
	}
	if v.Governor != nil {
		return
	}
	p.line("Its labels:", labelsText(v.Service.Labels))
	if len(v.Nearest) == 0 {
		p.line("To protect it:", "declare a ServiceFallback that names it in spec.services, or a CriticalService whose serviceSelector matches its labels.")
		return
	}
	for _, near := range v.Nearest {
		p.line("To protect it:", fmt.Sprintf("%s %s would match if the Service had:", near.Kind, near.Name), "  "+strings.Join(near.Missing, "; "))
	}
}

func labelsText(set map[string]string) string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(set)) {
		texts = append(texts, key+"="+set[key])
	}
	return cmp.Or(strings.Join(texts, ", "), "none")
}

// table prints rows below a heading.
func (p *printer) table(heading string, rows [][]string, empty string, columns ...output.Column) {
	if len(rows) == 0 {
		p.write(fmt.Sprintf("\n%s: %s\n", heading, empty))
		return
	}
	var text bytes.Buffer
	table := output.NewTable(&text, p.palette, false, columns...)
	for _, row := range rows {
		table.Row(row...)
	}
	if err := table.Flush(); err != nil && p.failed == nil {
		p.failed = err
	}
	p.write("\n" + heading + ":\n")
	for line := range strings.Lines(text.String()) {
		p.write("  " + line)
	}
}

func (p *printer) ports(ports []Port) {
	var rows [][]string
	for _, port := range ports {
		var application []string
		for _, number := range port.ApplicationPorts {
			application = append(application, strconv.Itoa(int(number)))
		}
		number := fmt.Sprintf("%d/%s", port.Port, port.Protocol)
		if port.NodePort != 0 {
			number = fmt.Sprintf("%d:%d/%s", port.Port, port.NodePort, port.Protocol)
		}
		fallback := port.Message
		if port.FallbackPort != 0 {
			fallback = strconv.Itoa(int(port.FallbackPort))
		}
		rows = append(rows, []string{port.Name, number, port.TargetPort, strings.Join(application, ","), fallback})
	}
	p.table("Ports", rows, "none",
		output.Column{Name: "NAME"}, output.Column{Name: "PORT"}, output.Column{Name: "TARGETPORT"},
		output.Column{Name: "APPLICATION"}, output.Column{Name: "FALLBACK"})
}

func (p *printer) endpoints(v *View) {
	var rows [][]string
	for _, endpoint := range v.Endpoints {
		rows = append(rows, []string{
			endpoint.Address, string(endpoint.Source), yes(endpoint.Ready), yes(endpoint.Serving), yes(endpoint.Terminating), endpoint.Pod, endpoint.Node,
		})
	}
	p.table("Endpoints", rows, fmt.Sprintf("none (the Service selects Pods with %s)", labelsText(v.Service.Selector)),
		output.Column{Name: "ADDRESS"}, output.Column{Name: "OF"}, output.Column{Name: "READY"}, output.Column{Name: "SERVING"},
		output.Column{Name: "TERMINATING"}, output.Column{Name: "POD"}, output.Column{Name: "NODE"})
	if v.Fallback != nil && !v.Fallback.Promoted && slices.ContainsFunc(v.Endpoints, isStandby) {
		p.write("  (A fallback that is serving and terminating is a standby: proxies use it only while no endpoint is ready.)\n")
	}
}

func yes(value bool) string {
	if value {
		return "yes"
	}
	return "no"
}

func (p *printer) events(events []Event) {
	var rows [][]string
	for _, event := range events {
		age := output.Age(event.At.Time, p.now)
		if event.Count > 1 {
			age += fmt.Sprintf(" (x%d)", event.Count)
		}
		rows = append(rows, []string{age, event.Type, event.Reason, event.Note})
	}
	tone := func(text string) output.Tone {
		if text == "Warning" {
			return output.Warning
		}
		return output.Neutral
	}
	p.table("Events", rows, "none about this Service (clusters keep them for an hour by default)",
		output.Column{Name: "AGE"}, output.Column{Name: "TYPE", Tone: tone}, output.Column{Name: "REASON"}, output.Column{Name: "NOTE"})
}
