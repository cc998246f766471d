package decide_test

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/render"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// world is a namespace with one AppConfig, and what is done in it.
type world struct {
	now     time.Time
	reasons *recheck.Reasons
	// app has its settings, as the API server has them.
	app       *workloadsv2.AppConfig
	configs   []decide.ConfigMap
	workloads []decide.Workload
	// foreign are names of ConfigMaps of others; pinned those that something names by hand.
	foreign, pinned map[string]bool
	// writes counts what plans wrote.
	writes int
}

func newWorld() *world {
	return &world{now: now, reasons: new(recheck.Reasons), foreign: map[string]bool{}, pinned: map[string]bool{}, app: &workloadsv2.AppConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop", UID: "app-1", Generation: 1},
		Spec:       workloadsv2.AppConfigSpec{AppName: "shop", Configuration: workloadsv2.Configuration{Settings: workloadsv2.Settings{"LOG_LEVEL": "debug"}}},
	}}
}

// set changes the settings.
func (w *world) set(value string) string {
	w.app.Spec.Configuration.Settings = workloadsv2.Settings{"LOG_LEVEL": value}
	w.app.Generation++
	return render.Name(w.app, render.Hash(w.app.Spec.Configuration.Settings))
}

// use adds a Deployment that uses the AppConfig.
func (w *world) use(name string) *decide.Workload {
	w.workloads = append(w.workloads, decide.Workload{
		Workload:  render.Workload{Kind: "Deployment", Namespace: "web", Name: name, UID: types.UID(name), Container: "app"},
		RolledOut: true,
	})
	return &w.workloads[len(w.workloads)-1]
}

// see makes the Snapshot that observe would.
func (w *world) see() decide.Snapshot {
	app := w.app.DeepCopy()
	app.Spec.Configuration.Settings = nil
	s := decide.Snapshot{
		Now: w.now, AppConfig: app, Hash: render.Hash(w.app.Spec.Configuration.Settings),
		ConfigMaps: slices.Clone(w.configs), Workloads: slices.Clone(w.workloads), Taken: map[string]bool{},
		Ages: w.reasons.Observe(types.NamespacedName{Namespace: app.Namespace, Name: app.Name}, app.Status.Conditions, w.now),
	}
	needs := decide.NeedsOf(s)
	for _, name := range needs.Free {
		s.Taken[name] = w.foreign[name]
	}
	if len(needs.Stale) > 0 {
		s.Used = map[string]bool{}
		for _, name := range needs.Stale {
			s.Used[name] = w.pinned[name] || slices.ContainsFunc(w.workloads, func(one decide.Workload) bool { return one.ConfigMap == name })
		}
	}
	return s
}

// do does what a plan says.
func (w *world) do(plan decide.Plan) {
	add := func(config *corev1.ConfigMap, hash string) {
		w.writes++
		config.CreationTimestamp = metav1.NewTime(w.now)
		config.UID = types.UID(fmt.Sprint("config-", w.writes))
		config.Data = nil
		w.configs = append(w.configs, decide.ConfigMap{ConfigMap: config, Hash: hash})
	}
	hash := render.Hash(w.app.Spec.Configuration.Settings)
	if plan.Create > 0 {
		revision := render.Revision(w.app, plan.Create)
		render.Own(revision, w.app, plan.Takers)
		add(revision, hash)
	}
	if plan.WritePage {
		w.configs = slices.DeleteFunc(w.configs, func(c decide.ConfigMap) bool { return c.Name == w.app.Name })
		add(render.Page(w.app), hash)
	}
	for _, update := range plan.Update {
		for i := range w.configs {
			if w.configs[i].Name == update.From.Name {
				w.writes++
				w.configs[i].ConfigMap = update.To
			}
		}
	}
	for _, rolled := range plan.Roll {
		for i := range w.workloads {
			if w.workloads[i].Name == rolled.Name {
				w.writes++
				w.workloads[i].ConfigMap = plan.Status.ConfigMapName
			}
		}
	}
	for _, deleted := range plan.Delete {
		w.writes++
		w.configs = slices.DeleteFunc(w.configs, func(c decide.ConfigMap) bool { return c.Name == deleted.Name })
	}
	w.app.Status = plan.Status
	w.now = w.now.Add(time.Second)
}

// copied is the same world, in which something else may happen.
func (w *world) copied() *world {
	other := *w
	other.app = w.app.DeepCopy()
	other.configs, other.workloads = slices.Clone(w.configs), slices.Clone(w.workloads)
	return &other
}

// settle does what plans say until there is nothing left to do.
func (w *world) settle() decide.Plan {
	for {
		before := w.writes
		plan := decide.Decide(w.see())
		w.do(plan)
		if w.writes == before {
			return plan
		}
	}
}

// names are those of the ConfigMaps that are there.
func (w *world) names() []string {
	var names []string
	for _, config := range w.configs {
		names = append(names, config.Name)
	}
	slices.Sort(names)
	return names
}
