package responder

import (
	"maps"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/controllers/responder/internal/render"
	"github.com/critical-service/operator/internal/controller/fault"
)

const (
	// cacheLag is how long the cache may take to show what was decided. An intention
	// that is older counts no more.
	cacheLag = 30 * time.Second
	// refusalCounts is how long a namespace counts as failed after the API server has
	// refused a version. Until then it has most likely tried again; if it waits for
	// others that were refused as well, one of them must try some time.
	refusalCounts = 5 * time.Minute
	// forgetAfter is how long a namespace that is not seen under way is remembered. It is
	// much longer than an editor can hide a Deployment, which is made again at once.
	forgetAfter = time.Hour
)

// versions is what is known of the rollouts of namespaces besides the cache.
type versions struct {
	mu sync.Mutex
	// intended is what was decided and the cache may not show yet. A namespace's own is
	// dropped when it is decided again, and every write wakes it.
	intended map[string]intention
	// refused are versions that the API server did not accept in a namespace.
	refused map[string]refusal
	// seen is since when a namespace is under way with the operator's version.
	seen map[string]observation
	// up is the version with which a namespace has come up. What becomes of its Pods later,
	// in a drain for one, says nothing about the version.
	up map[string]string
}

type intention struct {
	deployment *appsv1.Deployment
	decided    time.Time
}

type refusal struct {
	version string
	at      time.Time
}

type observation struct {
	version     string
	first, last time.Time
}

// intend remembers what was decided for a namespace. The caller holds the lock.
func (v *versions) intend(deployment *appsv1.Deployment, now time.Time) {
	if v.intended == nil {
		v.intended = map[string]intention{}
	}
	v.intended[deployment.Namespace] = intention{deployment, now}
}

// drop takes back what was decided for a namespace and not written.
func (v *versions) drop(namespace string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.intended, namespace)
}

// failed takes back a Deployment that could not be written. One that the API server
// refuses in place of another version counts as failed with its own. A responder that is
// new takes no part in the rollout, so that its refusal does not stop it either.
func (v *versions) failed(snap *decide.Snapshot, wanted *appsv1.Deployment, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.intended, snap.Namespace)
	if snap.Deployment == nil || !fault.IsRefusal(err) {
		return
	}
	if v.refused == nil {
		v.refused = map[string]refusal{}
	}
	v.refused[snap.Namespace] = refusal{wanted.Annotations[render.AnnotationVersion], snap.Now}
}

// complete adds what is known of neighbours to what the cache has of them, as a
// namespace sees them that asks with a version. The caller holds the lock.
func (v *versions) complete(neighbours map[string]decide.Neighbour, asking, version string, now time.Time) {
	v.forget(now)
	for namespace, refused := range v.refused {
		// Without its Deployment, or with the version, there is nothing to add.
		if known, found := neighbours[namespace]; found && known.Version != refused.version {
			known.Version, known.Progress = refused.version, decide.Failed
			neighbours[namespace] = known
		}
	}
	for namespace, intended := range v.intended {
		wanted, known := decide.NeighbourOf(intended.deployment, now), neighbours[namespace]
		if namespace != asking && (known.Version != wanted.Version || known.Ports != wanted.Ports) {
			neighbours[namespace] = wanted // The cache does not show it yet.
		}
	}
	for namespace, known := range neighbours {
		switch {
		case known.Version != version:
			continue
		case known.Progress == decide.Complete:
			v.cameUp(namespace, version)
		case v.up[namespace] == version:
			known.Progress = decide.Complete
		case known.Progress == decide.Underway:
			known.SeenUnderway(v.observe(namespace, version, now), now)
		}
		neighbours[namespace] = known
	}
	maps.DeleteFunc(v.up, func(namespace, _ string) bool { return neighbours[namespace].Version != version })
}

func (v *versions) cameUp(namespace, version string) {
	if v.up == nil {
		v.up = map[string]string{}
	}
	v.up[namespace] = version
}

// observe notes that a namespace is under way, and returns since when it was first seen
// to be. Only the operator's own version is noted: an editor could invent others.
func (v *versions) observe(namespace, version string, now time.Time) time.Time {
	if v.seen == nil {
		v.seen = map[string]observation{}
	}
	seen, found := v.seen[namespace]
	if !found || seen.version != version {
		seen = observation{version: version, first: now}
	}
	seen.last = now
	v.seen[namespace] = seen
	return seen.first
}

func (v *versions) forget(now time.Time) {
	maps.DeleteFunc(v.intended, func(_ string, i intention) bool { return now.Sub(i.decided) > cacheLag })
	maps.DeleteFunc(v.refused, func(_ string, r refusal) bool { return now.Sub(r.at) > refusalCounts })
	maps.DeleteFunc(v.seen, func(_ string, o observation) bool { return now.Sub(o.last) > forgetAfter })
}
