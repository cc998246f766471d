package fault

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/critical-service/operator/internal/text"
)

// maxRefusal keeps what the API server says so short that the remedy is read as well.
const maxRefusal = 700

// Refusal is a refused request in a sentence, and what to do about it: by the cause, or else as
// the caller says.
func Refusal(err error, otherwise string) string {
	remedy := otherwise
	switch {
	case isOverQuota(err):
		remedy = "Raise the quota, or ask for less."
	case IsServerFailure(err):
		remedy = "It is retried: if it stays so, see why the API server or an admission webhook fails."
	}
	return text.Shorten(strings.TrimRight(err.Error(), ". "), maxRefusal) + ". " + remedy
}

// isOverQuota reports whether a quota is used up. The API server gives this no reason of its
// own, only a text (k8s.io/apiserver, resourcequota controller).
func isOverQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}
