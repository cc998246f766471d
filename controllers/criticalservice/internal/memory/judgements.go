package memory

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

// Judgements are what was decided last about each Service that a CriticalService
// matches, found by Service and by policy. The zero value is empty.
type Judgements struct {
	mu       sync.Mutex
	services map[types.NamespacedName]*Judged
	policies map[types.NamespacedName]sets.Set[types.NamespacedName]
	// namespaces count the Services of each namespace.
	namespaces map[string]int
}

// Judged is the last Judgement of a Service, and what was counted of it. It is never
// changed, only replaced.
type Judged struct {
	summary.Judgement
	// Since is when the Service was first seen in its state.
	Since time.Time
	// Outages is how many began since the Service is known to this process.
	Outages int
}

// Get returns what is known of a Service; nil if nothing is.
func (j *Judgements) Get(service types.NamespacedName) *Judged {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.services[service]
}

// Set stores the Judgement of a Service.
func (j *Judgements) Set(service types.NamespacedName, judgement summary.Judgement) {
	j.Replace(service, judgement.At, &judgement)
}

// Delete drops what is known of a Service.
func (j *Judgements) Delete(service types.NamespacedName) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.replace(service, nil)
}

// Replace stores the Judgement of a Service, nil if it has none any more, and returns
// the one before. It stores nothing if a later observation was judged already: several
// controllers work on a Service.
func (j *Judgements) Replace(service types.NamespacedName, at time.Time, next *summary.Judgement) (last *summary.Judgement, stored bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.judge(service, at, next)
}

// Amend is Replace of a Service that is known still. What was decided before it was forgotten
// would stay for good: no watch shows that the Service is gone once more.
func (j *Judgements) Amend(service types.NamespacedName, at time.Time, next *summary.Judgement) (last *summary.Judgement, stored bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.services[service] == nil {
		return nil, false
	}
	return j.judge(service, at, next)
}

func (j *Judgements) judge(service types.NamespacedName, at time.Time, next *summary.Judgement) (last *summary.Judgement, stored bool) {
	known := j.services[service]
	if known != nil {
		last = &known.Judgement
	}
	if last != nil && at.Before(last.At) {
		return last, false
	}
	if next == nil {
		j.replace(service, nil)
		return last, true
	}
	judged := &Judged{Judgement: *next, Since: at}
	if known != nil {
		judged.Outages = known.Outages
		if known.State == next.State {
			judged.Since = known.Since
		}
	}
	j.replace(service, judged)
	return last, true
}

// replace keeps the indexes.
func (j *Judgements) replace(service types.NamespacedName, next *Judged) {
	if last := j.services[service]; last != nil {
		for _, policy := range last.Matching {
			j.policies[policy.Key].Delete(service)
			if len(j.policies[policy.Key]) == 0 {
				delete(j.policies, policy.Key)
			}
		}
		delete(j.services, service)
		j.namespaces[service.Namespace]--
		if j.namespaces[service.Namespace] == 0 {
			delete(j.namespaces, service.Namespace)
		}
	}
	if next == nil {
		return
	}
	if j.services == nil {
		j.services = map[types.NamespacedName]*Judged{}
		j.policies = map[types.NamespacedName]sets.Set[types.NamespacedName]{}
		j.namespaces = map[string]int{}
	}
	j.services[service] = next
	j.namespaces[service.Namespace]++
	for _, policy := range next.Matching {
		if j.policies[policy.Key] == nil {
			j.policies[policy.Key] = sets.New[types.NamespacedName]()
		}
		j.policies[policy.Key].Insert(service)
	}
}

// CountOutage counts one more outage of a Service that is known.
func (j *Judgements) CountOutage(service types.NamespacedName) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if known := j.services[service]; known != nil {
		next := *known
		next.Outages++
		j.services[service] = &next
	}
}

// Of are those of the Services that a policy matches, in any order.
func (j *Judgements) Of(policy types.NamespacedName) []*Judged {
	j.mu.Lock()
	defer j.mu.Unlock()
	found := make([]*Judged, 0, len(j.policies[policy]))
	for service := range j.policies[policy] {
		found = append(found, j.services[service])
	}
	return found
}

// All are those of all Services, in any order.
func (j *Judgements) All() []*Judged {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Collect(maps.Values(j.services))
}

// Keys returns the Services that are known, in any order.
func (j *Judgements) Keys() []types.NamespacedName {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Collect(maps.Keys(j.services))
}

// HasNamespace reports whether a Service of a namespace is known.
func (j *Judgements) HasNamespace(namespace string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.namespaces[namespace] > 0
}
