// Package memory keeps what was learnt by asking, and can be asked again.
package memory

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Answers remembers what was last learnt about each Service by asking: what the API
// server said of a fallback Pod (decide.Attempt) or of a standby slice that it
// refused (decide.Refusal), whose a Pod of the fallback's name is, what explains an outage, and whether the standby
// answers (summary.Check). It is a cache of something that can be asked again: after
// a restart it is empty, and the next question fills it.
type Answers[A any] struct {
	mu   sync.Mutex
	last map[types.NamespacedName]A
}

func NewAnswers[A any]() *Answers[A] {
	return &Answers[A]{last: map[types.NamespacedName]A{}}
}

// Get is the last answer; nil if there is none.
func (a *Answers[A]) Get(key types.NamespacedName) *A {
	a.mu.Lock()
	defer a.mu.Unlock()
	if answer, found := a.last[key]; found {
		return &answer
	}
	return nil
}

func (a *Answers[A]) Set(key types.NamespacedName, answer A) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last[key] = answer
}

func (a *Answers[A]) Forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.last, key)
}
