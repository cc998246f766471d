package drill

import (
	"fmt"
	"io"
	"time"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/text/terminal"
)

// write prints a Result as text.
func write(out io.Writer, palette output.Palette, o *options, result *Result) {
	writeDryRun(out, palette, result)
	if result.Live != nil {
		fmt.Fprintln(out)
		writeLive(out, palette, result.Live)
	}
	fmt.Fprintln(out)
	switch {
	case result.Good && result.Live != nil:
		fmt.Fprintln(out, palette.Paint(output.Good, fmt.Sprintf("The failover worked: no gap was longer than %s.", o.maxGap)))
	case result.Good:
		fmt.Fprintln(out, palette.Paint(output.Good, "Everything that stands by answers."))
	case result.Live != nil:
		fmt.Fprintln(out, palette.Paint(output.Bad, "The failover did not work as it should."))
	default:
		fmt.Fprintln(out, palette.Paint(output.Bad, "What stands by does not answer as it should."))
	}
}

func writeDryRun(out io.Writer, palette output.Palette, result *Result) {
	fmt.Fprintf(out, "What stands by for svc/%s in namespace %s, as a client sees it:\n\n", result.Service, result.Namespace)
	table := output.NewTable(out, palette, false,
		output.Column{Name: "PORT"}, output.Column{Name: "PROTOCOL"}, output.Column{Name: "POD"}, output.Column{Name: "ANSWERED", Tone: toneOfShare},
		output.Column{Name: "STATUS"}, output.Column{Name: "P50"}, output.Column{Name: "MAX"}, output.Column{Name: "BYTES"}, output.Column{Name: "ANSWER"})
	for _, e := range result.DryRun.Endpoints {
		answer := e.Title
		if answer == "" {
			answer = e.Line
		}
		table.Row(e.Port, e.Protocol, e.Pod, fmt.Sprintf("%d/%d", e.Answered, e.Tries), e.Status, took(e.P50), took(e.Max), fmt.Sprint(e.Bytes), answer)
	}
	_ = table.Flush()
	for _, e := range result.DryRun.Endpoints {
		if e.Problem != "" {
			problem(out, palette, fmt.Sprintf("port %s: Pod %s %s", e.Port, e.Pod, e.Problem))
		}
	}
	for _, text := range result.DryRun.Problems {
		problem(out, palette, text)
	}
	for _, text := range result.DryRun.Notes {
		fmt.Fprintf(out, "  note: %s\n", terminal.OneLine(text))
	}
}

func problem(out io.Writer, palette output.Palette, text string) {
	fmt.Fprintf(out, "  %s: %s\n", palette.Paint(output.Bad, "problem"), terminal.OneLine(text))
}

func toneOfShare(text string) output.Tone {
	var answered, tries int
	if _, err := fmt.Sscanf(text, "%d/%d", &answered, &tries); err == nil && answered == tries {
		return output.Good
	}
	return output.Bad
}

func writeLive(out io.Writer, palette output.Palette, live *Live) {
	fmt.Fprintf(out, "The outage, from %s for %s, as clients saw it:\n\n", live.Began.Format(time.TimeOnly), live.Ended.Sub(live.Began).Round(time.Second))
	table := output.NewTable(out, palette, false,
		output.Column{Name: "PORT"}, output.Column{Name: "REQUESTS"}, output.Column{Name: "FAILED"}, output.Column{Name: "UNANSWERED"}, output.Column{Name: "LONGEST GAP"},
		output.Column{Name: "FALLBACK AFTER"}, output.Column{Name: "APPLICATION BACK AFTER"})
	for _, m := range live.Ports {
		table.Row(m.Port, fmt.Sprint(m.Requests), fmt.Sprint(m.Failed), took(m.Unanswered), took(m.LongestGap), moment(&m, m.FallbackAfter), moment(&m, m.ApplicationAfter))
	}
	_ = table.Flush()
	for _, m := range live.Ports {
		if !m.Distinct {
			fmt.Fprintf(out, "  note: on port %s the answers of application and fallback cannot be distinguished, so that only gaps were measured\n", m.Port)
		}
	}
	for _, text := range live.Problems {
		problem(out, palette, text)
	}
}

func moment(m *Measurement, after *Milliseconds) string {
	switch {
	case !m.Distinct:
		return "unknown"
	case after == nil:
		return "never"
	default:
		return took(*after)
	}
}

// took is a time as people read it: short ones matter in parts of a millisecond.
func took(m Milliseconds) string {
	d := m.Duration()
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}
