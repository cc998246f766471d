// Package store keeps in memory what a controller has learnt, and can learn again
// after a restart.
package store

import (
	"maps"
	"slices"
	"sync"
)

// Map is a map that several workers use at the same time. The zero value is empty.
// A value that is stored is never changed, only replaced.
type Map[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]*V
}

// Get returns the value of a key; nil if there is none.
func (m *Map[K, V]) Get(key K) *V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[key]
}

// Set stores the value of a key.
func (m *Map[K, V]) Set(key K, value V) {
	m.Update(key, func(*V) *V { return &value })
}

// Delete removes the value of a key.
func (m *Map[K, V]) Delete(key K) {
	m.Update(key, func(*V) *V { return nil })
}

// Update replaces the value of a key, nil if there is none, by what f makes of it.
func (m *Map[K, V]) Update(key K, f func(last *V) *V) *V {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := f(m.values[key])
	if next == nil {
		delete(m.values, key)
		return nil
	}
	if m.values == nil {
		m.values = map[K]*V{}
	}
	m.values[key] = next
	return next
}

// Count returns how many values are such. It must not use the map.
func (m *Map[K, V]) Count(isSuch func(value *V) bool) (count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, value := range m.values {
		if isSuch(value) {
			count++
		}
	}
	return count
}

// Keys returns the keys that have a value, in any order.
func (m *Map[K, V]) Keys() []K {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.values))
}
