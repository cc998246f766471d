package diagnosis

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/critical-service/operator/internal/text"
	"github.com/critical-service/operator/internal/text/quote"
)

// maxSentence is what a status and an event hold.
const maxSentence = 1024

// with puts a detail after what it is the detail of; there may be none.
func with(text, detail string) string {
	if detail == "" {
		return text
	}
	return text + ": " + detail
}

// sentence makes a message of a text without its end.
func sentence(said string) string { return text.Shorten(said, maxSentence-1) + "." }

// What follows reads texts of Kubernetes, which have no other form. Texts of our own are
// never read.

// schedulerProblem is why a Pod cannot be scheduled, without what the scheduler says of
// preemption and of resource claims, which does not explain it.
func schedulerProblem(message string) string {
	message, _, _ = strings.Cut(message, " preemption: ")
	message, _, _ = strings.Cut(message, " no new claims to deallocate")
	return quote.Kubernetes(strings.TrimSuffix(message, ". not found"))
}

// beforeRefusal is what stands before the reason of a refusal: the name of a Pod
// that is another one each time.
var beforeRefusal = regexp.MustCompile(`^.*?(?:pods "[^"]*" is forbidden: |Pod "[^"]*" is (invalid: )|[Ee]rror creating: |failed error: )`)

// refusalProblem is why the API server refuses the Pods of a workload.
func refusalProblem(message string) string {
	said := quote.Line(message)
	for {
		rest := beforeRefusal.ReplaceAllString(said, "$1")
		if rest == said {
			return quote.Kubernetes(said)
		}
		said = rest
	}
}

// isProbeKill reports whether the note of an event Killing names the probe of a container.
func isProbeKill(note, container, probe string) bool {
	return strings.Contains(note, fmt.Sprintf("Container %s failed %s probe", container, probe))
}

// probeAnswer is what a probe saw, by the note of an event Unhealthy of this probe.
func probeAnswer(note, probe string) (answer string, found bool) {
	return strings.CutPrefix(note, probe+" probe failed: ")
}
