package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/render"
)

// Snapshot is all that matters about one AppConfig, at one moment.
type Snapshot struct {
	Now time.Time
	// AppConfig is the object without its settings, on which no decision depends; nil if it
	// is gone.
	AppConfig *workloadsv2.AppConfig
	// Ages say since when its conditions have their reasons.
	Ages recheck.Ages
	// Hash is that of its settings.
	Hash string
	// ConfigMaps are those that the operator made of it, in any order.
	ConfigMaps []ConfigMap
	// Workloads are those that carry its name, in any order.
	Workloads []Workload
	// Taken are the names of ConfigMaps that it needs and that are not the operator's. It is
	// read only for the names that NeedsOf gives.
	Taken map[string]bool
	// Used are the names that something in the namespace uses, of those that NeedsOf gives;
	// nil if that was not read.
	Used map[string]bool
	// Denied says why the API server refused a write.
	Denied string
}

// ConfigMap is one that the operator made, without its data.
type ConfigMap struct {
	*corev1.ConfigMap
	// Hash is that of its data; empty if it has other data, too.
	Hash string
}

// Workload is a Deployment or a StatefulSet that uses an AppConfig.
type Workload struct {
	render.Workload
	// ConfigMap is the one whose variables its container takes; empty if there is none.
	ConfigMap string
	// Manager is another field manager that has set what its container takes; empty if there
	// is none.
	Manager string
	// RolledOut reports whether its Pods are all of its newest template.
	RolledOut bool
}

// UnknownManager stands for a field manager whose name nothing says.
const UnknownManager = "another field manager"

// Held is the Snapshot in which another manager has set what some workloads take: the API
// server says so, and the cache does not.
func Held(s Snapshot, workloads []types.UID) Snapshot {
	s.Workloads = slices.Clone(s.Workloads)
	for i := range s.Workloads {
		if slices.Contains(workloads, s.Workloads[i].UID) {
			s.Workloads[i].Manager = UnknownManager
		}
	}
	return s
}

// Needs is what has to be read of the API server beside what the caches hold.
type Needs struct {
	// Free are the names that are to be free: of ConfigMaps that will be created, and of the
	// last one that was, if the cache does not have it (any more, or yet).
	Free []string
	// Stale are the ConfigMaps that are deleted unless something uses them.
	Stale []string
}

// Plan is what is to be done.
type Plan struct {
	// Status is what the status is to say once the rest is done.
	Status workloadsv2.AppConfigStatus
	// Create is the number of the ConfigMap that is created with the settings; 0 if none is.
	Create int64
	// Takers are the workloads that take that ConfigMap.
	Takers []render.Workload
	// WritePage creates the ConfigMap for a page, or writes its data.
	WritePage bool
	// Update changes what ConfigMaps carry.
	Update []Update
	// Roll are the workloads that take the ConfigMap of the Status.
	Roll []Workload
	// Delete are ConfigMaps that nothing needs.
	Delete []*corev1.ConfigMap
	// RecheckAfter is when to check again without an event; 0 is never.
	RecheckAfter time.Duration
}

// Writes reports whether anything but the status is to be written.
func (p *Plan) Writes() bool {
	return p.Create > 0 || p.WritePage || len(p.Update)+len(p.Roll)+len(p.Delete) > 0
}

// Update is a change of the labels and annotations of a ConfigMap.
type Update struct{ From, To *corev1.ConfigMap }
