package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor/checkup"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/text/terminal"
)

var tones = map[checkup.Severity]output.Tone{
	checkup.OK: output.Good, checkup.Warning: output.Warning, checkup.Problem: output.Bad, checkup.Unclear: output.Bad,
}

// write prints a report for a person.
func write(out io.Writer, palette output.Palette, report *checkup.Report) {
	subject := ""
	for _, finding := range report.Findings {
		if finding.Subject != subject {
			if subject != "" {
				fmt.Fprintln(out)
			}
			subject = finding.Subject
			fmt.Fprintln(out, heading(subject))
		}
		word := fmt.Sprintf("%-7s", finding.Severity)
		fmt.Fprintf(out, "  %s  %-14s  %s\n", palette.Paint(tones[finding.Severity], word), finding.Check, terminal.OneLine(finding.What))
		if finding.Why != "" {
			fmt.Fprintf(out, "%27swhy: %s\n", "", terminal.OneLine(finding.Why))
		}
		if finding.Fix != "" {
			fmt.Fprintf(out, "%27sfix: %s\n", "", terminal.OneLine(finding.Fix))
		}
	}
	fmt.Fprintf(out, "\n%s\n", palette.Paint(tones[report.Verdict], verdict(report)))
}

// heading names the subject of a group of findings.
func heading(subject string) string {
	kind, name, _ := strings.Cut(subject, "/")
	switch kind {
	case "namespace":
		return "Namespace " + name
	case "service":
		return "Service " + name
	default:
		return "Installation"
	}
}

// verdict is the report in one line.
func verdict(report *checkup.Report) string {
	counts := fmt.Sprintf("%s, %s, %s checked", count(report.Problems, "problem"), count(report.Warnings, "warning"), count(report.Services, "Service"))
	switch report.Verdict {
	case checkup.Problem:
		return counts + ": the next failover will not work as it should."
	case checkup.Unclear:
		if report.Services == 0 {
			return counts + ": it is not known whether the next failover works, because no Service was checked."
		}
		return counts + `: it is not known whether the next failover works; see what was "not checked".`
	case checkup.Warning:
		return counts + ": the next failover should work; see the warnings for whom it may not."
	default:
		return counts + ": the next failover should work."
	}
}

func count(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}
