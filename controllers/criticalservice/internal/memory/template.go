package memory

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TemplateKey is the name of a PodTemplate.
type TemplateKey types.NamespacedName

// Template is a PodTemplate as it was read last. The zero value is one that is yet to be
// read.
type Template struct {
	// UID and Version are those of the object.
	UID     types.UID
	Version string
	// At is when it was read.
	At time.Time
	// Object is what it says; nil if it is too large.
	Object *corev1.PodTemplate
}

// Template is what is known of a PodTemplate that exists; nil if it was not read yet. A
// new version counts as the last one that was read, until it is read itself.
func (m *Memory) Template(key types.NamespacedName, uid types.UID) *Template {
	known := m.Templates.Get(TemplateKey(key))
	if known == nil || known.UID != uid {
		return nil
	}
	return known
}
