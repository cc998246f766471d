// Package quote repeats what other programs say: short, on one line, and without what looks
// like a secret. It is pure.
package quote

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/critical-service/operator/internal/text"
)

const (
	// MaxProgram is how many bytes of a text that a program wrote are repeated.
	MaxProgram = 200
	// maxKubernetes is the same for a text that Kubernetes wrote.
	maxKubernetes = 400
)

// Texts of programs may contain secrets. These are the usual shapes; that texts are
// short is the other half of the protection.
var (
	userInURL  = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s@"']+@`)
	queryOfURL = regexp.MustCompile(`(https?://[^\s"'?]+)\?[^\s"']+`)
	keyed      = regexp.MustCompile(`(?i)\b([a-z0-9_-]*(?:password|passwd|passphrase|pwd|token|secret|api[-_]?key|access[-_]?key|private[-_]?key|credentials?|authorization))("?\s*[=:]\s*)("[^"]*"?|'[^']*'?|(?:bearer |basic )?[^\s,;"']+)`)
	longRandom = regexp.MustCompile(`\b(?:eyJ[A-Za-z0-9_-]{10,}[A-Za-z0-9_.-]*|[A-Za-z0-9+_]{32,}={0,2})`)
)

// Program is a text of a program, made safe to be shown: one line, short, without
// what looks like a secret.
func Program(said string) string { return text.Shorten(Discreet(Line(said)), MaxProgram) }

// Kubernetes is a text of Kubernetes, made fit for a sentence.
func Kubernetes(said string) string { return text.Shorten(Discreet(Line(said)), maxKubernetes) }

// Discreet is a text without what looks like a secret.
func Discreet(text string) string {
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

// Line puts a text on one line, and leaves out what is no character to be read,
// and the end of its last sentence.
func Line(text string) string {
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

// What follows reads texts of Kubernetes, which have no other form. Texts of our own are
// never read.

// around is what the kubelet and the container runtime put around the reason why an
// image cannot be pulled: it names the image, which the sentence does already.
var around = regexp.MustCompile(`^(?:Back-off pulling image "[^"]*"|ErrImagePull|failed to pull and unpack image "[^"]*"|` +
	`failed to resolve (?:reference|image) "[^"]*"|failed to do request|rpc error|code = \w+ desc =?|(?:Head|Get) "[^"]*"|` +
	`Failed to apply default image tag "[^"]*"|couldn't parse image name "[^"]*")(?:: |: ?$|$| )`)

// ImagePull is why an image cannot be pulled, by the message or else the reason for
// which its container waits. It is the same while the kubelet pulls and while that waits.
func ImagePull(message, reason string) string {
	said := Line(message)
	for around.MatchString(said) {
		said = around.ReplaceAllString(said, "")
	}
	if said == "" {
		return reason
	}
	return Kubernetes(said)
}

// beforeProblem is what container runtimes put before the reason why a container
// cannot be started.
var beforeProblem = regexp.MustCompile(`^.*(?:unable to start container process|OCI runtime create failed|container init caused): `)

// ContainerStart is why a container cannot be created or started, by the message or else
// the reason of its state.
func ContainerStart(message, reason string) string {
	said := strings.TrimSuffix(beforeProblem.ReplaceAllString(Line(message), ""), ": unknown")
	if said == "" {
		return reason
	}
	return Kubernetes(said)
}
