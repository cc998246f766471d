package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/internal/contract/page"
)

// ContentKey is the name of a ConfigMap with content.
type ContentKey types.NamespacedName

// Content is what was found in a ConfigMap with content.
type Content struct {
	// UID and Version are those of the ConfigMap that was read; they are empty until
	// one was.
	UID     types.UID
	Version string
	// At is when it was read.
	At time.Time
	// Problems are what is wrong with it.
	Problems []page.Problem
}

// Content is what is known of a ConfigMap that exists. A new version counts as the
// last one that was read, until it is read itself: so nothing changes back and forth.
func (m *Memory) Content(key types.NamespacedName, uid types.UID) *decide.Content {
	known := m.Contents.Get(ContentKey(key))
	if known == nil || known.UID != uid {
		return &decide.Content{}
	}
	return &decide.Content{Judged: true, Problems: known.Problems}
}
