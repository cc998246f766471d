package decide

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// attemptFor is the API server's last answer, if it was about this very Pod.
func (s *Snapshot) attemptFor(pod *corev1.Pod) *Attempt {
	if s.Attempt == nil || s.Attempt.Hash != render.Hash(pod) {
		return nil
	}
	return s.Attempt
}

// untilNextAttempt is how long to wait before the API server is asked again.
func (s *Snapshot) untilNextAttempt(attempt *Attempt) time.Duration {
	if attempt == nil {
		return 0
	}
	interval := rehearseEvery
	if attempt.Reason != "" {
		interval = min(firstRetry<<min(attempt.Refusals-1, 5), lastRetry)
	}
	return attempt.At.Add(interval).Sub(s.Now)
}

func (s *Snapshot) templateNotFound(name types.NamespacedName) string {
	advice := "name another in spec.fallback.podTemplate"
	if name == s.Settings.Template {
		advice = "name another with POD_TEMPLATE and POD_TEMPLATE_NS"
	}
	return fmt.Sprintf("PodTemplate %q does not exist in namespace %q: create it, or %s.", name.Name, name.Namespace, advice)
}

func (s *Snapshot) portMismatch(missing []render.PortMismatch) string {
	texts := make([]string, 0, len(missing))
	for _, mismatch := range missing {
		texts = append(texts, mismatch.String())
	}
	return fmt.Sprintf("PodTemplate %s/%s does not serve the Service: %s. Let a container listen there and declare that containerPort.",
		s.Template.Namespace, s.Template.Name, strings.Join(texts, "; "))
}
