package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/render"
)

// kept is how many ConfigMaps stay: the one with the settings of now, and those before it.
const kept = 3

// What one pass does is bounded, because users of the namespace can make as many ConfigMaps as
// they like that look like the operator's.
const (
	// mostStale is how many ConfigMaps are looked for at once, and deleted.
	mostStale = 32
	// mostUpdates is how many are changed.
	mostUpdates = 100
)

// No watch reports when a ConfigMap goes out of use. It is looked for again by the age of the
// settings of now: what takes others is often a Pod that is ending.
var (
	// searches is when to look for what is in use, where that could not be done at once.
	searches = recheck.Bounds{Shortest: 10 * time.Second, Longest: 10 * time.Minute}
	// releases is when to look again where something is in use.
	releases = recheck.Bounds{Shortest: time.Minute, Longest: time.Hour}
)

// Decide decides what an AppConfig needs. A ConfigMap with its settings comes first, then the
// workloads that use it take that one, and only then those go that nothing needs.
func Decide(s Snapshot) Plan {
	d := newDecision(&s)
	if d == nil {
		return Plan{}
	}
	d.revision()
	d.page()
	d.carry()
	d.roll()
	d.prune()
	d.conclude()
	return d.plan
}

// decision is a Snapshot and the Plan that grows from it.
type decision struct {
	*Snapshot
	plan Plan
	// wanted is the name of the ConfigMap with the settings.
	wanted string
	// revisions are the ConfigMaps with settings of now and before, the newest first.
	revisions []ConfigMap
	// current is the one of the wanted name, and published that for a page; nil if it is not
	// there.
	current, published *ConfigMap
	// rendered reports whether the ConfigMap with the settings is there, or will be before
	// the rest is done.
	rendered bool
	// problems are what blocks something, the most pressing first.
	problems []problem
}

// has reports whether the cache has a ConfigMap with settings.
func (d *decision) has(name string) bool {
	return slices.ContainsFunc(d.revisions, func(config ConfigMap) bool { return config.Name == name })
}

// NeedsOf says what a decision needs to have read.
func NeedsOf(s Snapshot) Needs {
	d := newDecision(&s)
	if d == nil {
		return Needs{}
	}
	var needs Needs
	if d.current == nil {
		needs.Free = append(needs.Free, d.wanted)
	}
	if d.published == nil && render.IsPublished(s.AppConfig) {
		needs.Free = append(needs.Free, s.AppConfig.Name)
	}
	if last := s.AppConfig.Status.ConfigMapName; last != "" && last != d.wanted && !d.has(last) {
		// The next number follows that of the last one.
		needs.Free = append(needs.Free, last)
	}
	d.revision()
	d.roll()
	if d.isSettled() {
		for _, stale := range d.stale() {
			needs.Stale = append(needs.Stale, stale.Name)
		}
	}
	return needs
}

// Failed is the plan where the API server refused what another plan wanted: why, and what to do.
func Failed(s Snapshot, why string) Plan {
	s.Denied = fmt.Sprintf("%.850s", why)
	return Decide(s)
}

// newDecision returns nil for an AppConfig that is gone, or is going: its ConfigMaps go with
// it.
func newDecision(s *Snapshot) *decision {
	app := s.AppConfig
	if app == nil || app.DeletionTimestamp != nil {
		return nil
	}
	own := *s
	own.Workloads = slices.Clone(s.Workloads) // They are sorted.
	d := &decision{Snapshot: &own, plan: Plan{Status: *app.Status.DeepCopy()}, wanted: render.Name(app, s.Hash)}
	d.plan.Status.ObservedGeneration = app.Generation
	for i := range s.ConfigMaps {
		switch config := s.ConfigMaps[i]; config.Name {
		case app.Name:
			d.published = &config
		default:
			d.revisions = append(d.revisions, config)
			if config.Name == d.wanted {
				d.current = &config
			}
		}
	}
	slices.SortFunc(d.revisions, newestFirst)
	slices.SortFunc(d.Workloads, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return d
}

func newestFirst(a, b ConfigMap) int {
	return cmp.Or(
		cmp.Compare(render.RevisionOf(b.ConfigMap), render.RevisionOf(a.ConfigMap)),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// greatest is the greatest number of a ConfigMap but the wanted one.
func (d *decision) greatest() (greatest int64) {
	for _, config := range d.revisions {
		if config.Name != d.wanted {
			greatest = max(greatest, render.RevisionOf(config.ConfigMap))
		}
	}
	return greatest
}

// revision plans the ConfigMap with the settings. Where its name is taken, the status goes on
// naming the one before it.
func (d *decision) revision() {
	isAsMade := d.current != nil && d.current.Hash == d.Hash && d.current.Immutable != nil && *d.current.Immutable
	switch {
	case d.Taken[d.wanted], d.current != nil && !isAsMade:
		d.problems = append(d.problems, taken(d.wanted, "workloads keep what they have until it is deleted"))
		return
	case d.current == nil && d.Denied != "":
		return
	case d.current == nil:
		d.plan.Create = render.NextRevision(d.greatest())
	}
	d.rendered = true
	if d.plan.Create > 0 {
		d.plan.Takers = d.takers(d.wanted)
	}
	d.plan.Status.ConfigMapName, d.plan.Status.Hash = d.wanted, d.Hash
}

// takers are the workloads that take a ConfigMap, or will.
func (d *decision) takers(name string) []render.Workload {
	var takers []render.Workload
	for i := range d.Workloads {
		workload := &d.Workloads[i]
		if workload.ConfigMap == name || d.rendered && name == d.wanted && workload.Manager == "" {
			takers = append(takers, workload.Workload)
		}
	}
	return takers
}

// page plans the ConfigMap for a page, which is there while the AppConfig has the label.
func (d *decision) page() {
	name := d.AppConfig.Name
	switch wants := render.IsPublished(d.AppConfig); {
	case wants && d.Taken[name]:
		d.problems = append(d.problems, taken(name, "no page can have the settings until it is deleted"))
	case wants && (d.published == nil || d.published.Hash != d.Hash):
		d.plan.WritePage = true
	case !wants && d.published != nil && d.published.DeletionTimestamp == nil:
		d.plan.Delete = append(d.plan.Delete, d.published.ConfigMap)
	}
}

// carry plans the labels, annotations and owners of all ConfigMaps that stay. After a rollback an old
// one becomes the newest.
func (d *decision) carry() {
	for _, config := range d.revisions {
		wanted := config.DeepCopy()
		render.Publish(wanted, d.AppConfig)
		render.Own(wanted, d.AppConfig, d.takers(config.Name))
		if config.Name == d.wanted && d.rendered {
			number, greatest := render.RevisionOf(wanted), d.greatest()
			if number == 0 || number < greatest {
				number = render.NextRevision(greatest)
			}
			render.Describe(wanted, d.AppConfig, number)
		}
		d.update(config.ConfigMap, wanted)
	}
	if d.published != nil && render.IsPublished(d.AppConfig) {
		wanted := d.published.DeepCopy()
		render.Publish(wanted, d.AppConfig)
		render.Own(wanted, d.AppConfig, nil)
		d.update(d.published.ConfigMap, wanted)
	}
}

func (d *decision) update(from, to *corev1.ConfigMap) {
	if from.DeletionTimestamp == nil && len(d.plan.Update) < mostUpdates && !equality.Semantic.DeepEqual(from, to) {
		d.plan.Update = append(d.plan.Update, Update{From: from, To: to}) // An update wakes the AppConfig, so that the rest follows.
	}
}

// roll plans which workloads take the ConfigMap with the settings. What another field manager
// has set stays as it is.
func (d *decision) roll() {
	if !d.rendered {
		return
	}
	var blocked []Workload
	for _, workload := range d.Workloads {
		switch {
		case workload.ConfigMap == d.wanted:
		case workload.Manager != "":
			blocked = append(blocked, workload)
		default:
			d.plan.Roll = append(d.plan.Roll, workload)
		}
	}
	if len(blocked) > 0 {
		d.problems = append(d.problems, conflicts(blocked, d.wanted))
	}
}

// isSettled reports whether no ConfigMap comes into use or goes out of it at the moment, so
// that it is worth the reads to find out which are in use.
func (d *decision) isSettled() bool {
	rollsOut := slices.ContainsFunc(d.Workloads, func(w Workload) bool { return !w.RolledOut })
	return d.current != nil && d.rendered && len(d.plan.Roll) == 0 && !rollsOut
}

// stale are the oldest ConfigMaps beyond those that are kept.
func (d *decision) stale() []*corev1.ConfigMap {
	var before []*corev1.ConfigMap
	for _, config := range d.revisions {
		if config.Name != d.wanted && config.DeletionTimestamp == nil {
			before = append(before, config.ConfigMap)
		}
	}
	before = before[min(len(before), kept-1):]
	return before[max(0, len(before)-mostStale):]
}

// prune plans which ConfigMaps go. One that something in the namespace names stays.
func (d *decision) prune() {
	if !d.isSettled() {
		return
	}
	age := d.Now.Sub(d.current.CreationTimestamp.Time)
	for _, config := range d.stale() {
		switch {
		case d.Used == nil:
			d.recheckAfter(searches.After(age, d.AppConfig.UID))
		case d.Used[config.Name]:
			d.recheckAfter(releases.After(age, d.AppConfig.UID))
		default:
			d.plan.Delete = append(d.plan.Delete, config)
			d.dropUpdate(config)
		}
	}
}

// dropUpdate keeps a ConfigMap that goes from being changed before.
func (d *decision) dropUpdate(config *corev1.ConfigMap) {
	d.plan.Update = slices.DeleteFunc(d.plan.Update, func(u Update) bool { return u.From == config })
}

func (d *decision) recheckAfter(wait time.Duration) {
	if d.plan.RecheckAfter == 0 || wait < d.plan.RecheckAfter {
		d.plan.RecheckAfter = wait
	}
}

// users says in a sentence how many workloads take the settings.
func (d *decision) users() string {
	switch count := len(d.Workloads); count {
	case 0:
		return fmt.Sprintf("no Deployment or StatefulSet has the label %s: %s", workloadsv2.LabelAppConfig, d.AppConfig.Name)
	case 1:
		return "1 workload takes it"
	default:
		return fmt.Sprintf("%d workloads take it", count)
	}
}
