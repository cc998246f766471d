package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/controller/store"
)

// ObjectKey is the name of an object that a CriticalService names.
type ObjectKey types.NamespacedName

// Reading is what an object said when it was read last. The zero value is one that is yet
// to be read.
type Reading[T any] struct {
	// UID and Version are those of the object.
	UID     types.UID
	Version string
	// At is when it was read.
	At time.Time
	// Value is what it said.
	Value T
}

// Readings are those of the objects of one kind, by name.
type Readings[T any] struct {
	store.Map[ObjectKey, Reading[T]]
}

// Of is what is known of an object that exists; nil if it was not read yet. A new version
// counts as the last one that was read, until it is read itself: so nothing changes back
// and forth.
func (r *Readings[T]) Of(key types.NamespacedName, uid types.UID) *Reading[T] {
	if known := r.Get(ObjectKey(key)); known != nil && known.UID == uid {
		return known
	}
	return nil
}
