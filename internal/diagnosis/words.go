package diagnosis

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/critical-service/operator/internal/text"
)

const (
	// maxForeign is how many bytes of a text that a program wrote are repeated.
	maxForeign = 200
	// maxQuoted is the same for a text that Kubernetes wrote.
	maxQuoted = 400
	// maxSentence is what a status and an event hold.
	maxSentence = 1024
)

// Texts of programs may contain secrets. These are the usual shapes; that texts are
// short is the other half of the protection.
var (
	userInURL  = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s@"']+@`)
	queryOfURL = regexp.MustCompile(`(https?://[^\s"'?]+)\?[^\s"']+`)
	keyed      = regexp.MustCompile(`(?i)\b([a-z0-9_-]*(?:password|passwd|passphrase|pwd|token|secret|api[-_]?key|access[-_]?key|private[-_]?key|credentials?|authorization))("?\s*[=:]\s*)("[^"]*"?|'[^']*'?|(?:bearer |basic )?[^\s,;"']+)`)
	longRandom = regexp.MustCompile(`\b(?:eyJ[A-Za-z0-9_-]{10,}[A-Za-z0-9_.-]*|[A-Za-z0-9+_]{32,}={0,2})`)
)

// foreign is a text of a program, made safe to be shown: one line, short, without
// what looks like a secret.
func foreign(said string) string { return text.Shorten(discreet(line(said)), maxForeign) }

// quoted is a text of Kubernetes, made fit for a sentence.
func quoted(said string) string { return text.Shorten(discreet(line(said)), maxQuoted) }

func discreet(text string) string {
	text = userInURL.ReplaceAllString(text, "$1…@")
	text = queryOfURL.ReplaceAllString(text, "$1?…")
	text = keyed.ReplaceAllString(text, "$1$2…")
	return longRandom.ReplaceAllStringFunc(text, func(word string) string {
		if strings.ContainsAny(word, "0123456789") {
			return "…"
		}
		return word // A long name of something.
	})
}

// line puts a text on one line, and leaves out what is no character to be read,
// and the end of its last sentence.
func line(text string) string {
	text = strings.ToValidUTF8(text, "")
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsGraphic(r):
			return r
		default:
			return -1
		}
	}, text)
	return strings.TrimRight(strings.Join(strings.Fields(text), " "), ".:; ")
}

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

// around is what the kubelet and the container runtime put around the reason why an
// image cannot be pulled: it names the image, which the sentence does already.
var around = regexp.MustCompile(`^(?:Back-off pulling image "[^"]*"|ErrImagePull|failed to pull and unpack image "[^"]*"|` +
	`failed to resolve (?:reference|image) "[^"]*"|failed to do request|rpc error|code = \w+ desc =?|(?:Head|Get) "[^"]*"|` +
	`Failed to apply default image tag "[^"]*"|couldn't parse image name "[^"]*")(?:: |: ?$|$| )`)

// pullProblem is why an image cannot be pulled, by the message or else the reason for
// which its container waits.
func pullProblem(message, reason string) string {
	said := line(message)
	for around.MatchString(said) {
		said = around.ReplaceAllString(said, "")
	}
	if said == "" {
		return reason
	}
	return quoted(said)
}

// beforeProblem is what container runtimes put before the reason why a container
// cannot be started.
var beforeProblem = regexp.MustCompile(`^.*(?:unable to start container process|OCI runtime create failed|container init caused): `)

// runtimeProblem is why a container cannot be created or started.
func runtimeProblem(message, reason string) string {
	said := strings.TrimSuffix(beforeProblem.ReplaceAllString(line(message), ""), ": unknown")
	if said == "" {
		return reason
	}
	return quoted(said)
}

// schedulerProblem is why a Pod cannot be scheduled, without what the scheduler says of
// preemption and of resource claims, which does not explain it.
func schedulerProblem(message string) string {
	message, _, _ = strings.Cut(message, " preemption: ")
	message, _, _ = strings.Cut(message, " no new claims to deallocate")
	return quoted(strings.TrimSuffix(message, ". not found"))
}

// beforeRefusal is what stands before the reason of a refusal: the name of a Pod
// that is another one each time.
var beforeRefusal = regexp.MustCompile(`^.*?(?:pods "[^"]*" is forbidden: |Pod "[^"]*" is (invalid: )|[Ee]rror creating: |failed error: )`)

// refusalProblem is why the API server refuses the Pods of a workload.
func refusalProblem(message string) string {
	said := line(message)
	for {
		rest := beforeRefusal.ReplaceAllString(said, "$1")
		if rest == said {
			return quoted(said)
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
