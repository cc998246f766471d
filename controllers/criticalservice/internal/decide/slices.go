package decide

import (
	"encoding/json"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/protection"
)

// sliceChanges are the changes of the standby slices.
type sliceChanges struct {
	publish, retract, unpublish []*discoveryv1.EndpointSlice
	recheck
}

// writes reports whether slices are to be created or changed.
func (s *sliceChanges) writes() bool { return len(s.publish)+len(s.retract) > 0 }

// changeSlices plans the standby slices.
func changeSlices(f *facts, want choice, now target) sliceChanges {
	switch {
	case !want.byLabels() && (want.kind != "" || !f.up()):
		return publish(f, want, now)
	case !want.byLabels():
		return withdrawSlices(f.Snapshot)
	// The Service selects its fallback itself: what another kind of fallback published
	// answers until it is not needed.
	case f.unknown():
		return sliceChanges{}
	case want.preparing:
		return publish(f, want, target{})
	case f.up() || f.current != nil && f.isSelected(f.current):
		return withdrawSlices(f.Snapshot)
	case len(f.Standby) > 0:
		return publish(f, want, target{})
	default:
		return sliceChanges{}
	}
}

// withdrawSlices plans the end of every standby slice.
func withdrawSlices(s *Snapshot) sliceChanges {
	var changes sliceChanges
	for i := range s.Standby {
		if s.Standby[i].DeletionTimestamp == nil {
			changes.unpublish = append(changes.unpublish, &s.Standby[i])
		}
	}
	return changes
}

// publish plans one standby slice per IP family of the Service.
func publish(f *facts, want choice, now target) sliceChanges {
	var changes sliceChanges
	ph := phaseOf(f)
	changes.in(ph.left)
	families := render.Families(f.Service)
	for _, family := range families {
		existing := f.standby(family)
		if existing == nil && (want.byLabels() || want.kind == "") && !want.preparing {
			continue // The Service selects its fallback itself, or can have none.
		}
		wanted := wantedSlice(f, family, existing, want, now, ph)
		if existing == nil {
			changes.publish = append(changes.publish, wanted)
			continue
		}
		changes.change(existing, render.Updated(existing, wanted))
	}
	for i := range f.Standby {
		slice := &f.Standby[i]
		isCopy := slice.Name != render.SliceName(f.Service.Name, slice.AddressType)
		if isCopy || !slices.Contains(families, slice.AddressType) {
			changes.unpublish = append(changes.unpublish, slice)
		}
	}
	return changes
}

// wantedSlice is the standby slice of one IP family as it must become.
func wantedSlice(f *facts, family discoveryv1.AddressType, existing *discoveryv1.EndpointSlice, want choice, now target, ph phase) *discoveryv1.EndpointSlice {
	want, now = meanwhile(f, existing, want, now)
	kind := want.kind
	switch {
	case want.preparing:
		kind = criticalv2.FallbackKindPage // By this the responder's controller knows.
	case kind == "":
		kind = existing.Labels[criticalv2.LabelFallbackKind]
	}
	wanted := render.Slice(render.Standby{
		Service: f.Service, Governor: f.governor, Others: f.others, Family: family, Kind: kind,
		Page: want.page, Announced: want.announced, Backup: want.backup,
		Ports: now.ports, Endpoints: now.endpoints[family],
		Promoted: ph.promoted, OutageSince: ph.outageSince, RecoveredSince: ph.recoveredSince,
	})
	if existing != nil && len(wanted.Endpoints) == 0 {
		keep(f, existing, wanted, ph)
	}
	return wanted
}

// change plans the change of a slice: it adds, or takes something away.
func (s *sliceChanges) change(existing, updated *discoveryv1.EndpointSlice) {
	promotes := protection.IsPromoted(updated) && !protection.IsPromoted(existing)
	switch {
	case sameSlice(existing, updated):
	case !takesAway(existing, updated):
		s.publish = append(s.publish, updated)
	case promotes && len(existing.Endpoints) > 0:
		// Promotion waits for nothing: what is to go goes with the next plan.
		s.publish = append(s.publish, promoted(existing, updated))
		s.in(firstRetry)
	default:
		s.retract = append(s.retract, updated)
	}
}

// promoted is a slice that exists, promoted with all the endpoints it has.
func promoted(existing, updated *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	slice := existing.DeepCopy()
	slice.Annotations, slice.Labels, slice.OwnerReferences = updated.Annotations, updated.Labels, updated.OwnerReferences
	for i := range slice.Endpoints {
		slice.Endpoints[i].Conditions = discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)}
	}
	return slice
}

// meanwhile lets what is published in an outage go on answering until the fallback
// that is wanted can. It follows the responder's Pods, or the backup, until then; the
// responder stays as long as a slice asks for it.
func meanwhile(f *facts, existing *discoveryv1.EndpointSlice, want choice, now target) (choice, target) {
	if existing == nil || !now.isEmpty() || f.up() {
		return want, now
	}
	if name := existing.Annotations[criticalv2.AnnotationBackup]; name != "" && name != want.backup {
		if former := backupOf(f, name); !former.isEmpty() {
			return formerBackup(want, name), former.target
		}
	}
	if want.kind == criticalv2.FallbackKindPage || want.preparing || existing.Labels[criticalv2.LabelFallbackKind] != criticalv2.FallbackKindPage {
		return want, now
	}
	page := &criticalv2.PageFallback{}
	if json.Unmarshal([]byte(existing.Annotations[criticalv2.AnnotationPage]), page) != nil {
		return want, now // It was edited: nothing is known of the page.
	}
	return choice{kind: criticalv2.FallbackKindPage, page: page}, pageTarget(f)
}

// formerBackup is how a backup is published that is not wanted any more. A page
// that is wanted stands on the slice already, so that it gets its responder.
func formerBackup(want choice, backup string) choice {
	if want.kind != criticalv2.FallbackKindPage && !want.preparing {
		return choice{kind: criticalv2.FallbackKindService, backup: backup}
	}
	want.backup = backup
	return want
}

// keep leaves what is published where nothing better is known: an endpoint that
// may answer is better than none, so long as its Pod exists. This is also how one
// kind of fallback goes on answering until another can.
func keep(f *facts, existing, wanted *discoveryv1.EndpointSlice, ph phase) {
	var kept []discoveryv1.Endpoint
	ofResponder := false
	for _, endpoint := range existing.Endpoints {
		pod := f.podOf(&endpoint)
		if pod == nil || hasEnded(pod) {
			continue
		}
		ofResponder = ofResponder || protection.IsResponder(pod)
		endpoint.Conditions = discoveryv1.EndpointConditions{
			Ready: new(ph.promoted), Serving: new(true), Terminating: new(!ph.promoted),
		}
		kept = append(kept, endpoint)
	}
	// Own Pods of a kind that is made in an outage only go with the outage.
	if len(kept) == 0 || !ofResponder && f.up() {
		return
	}
	wanted.Ports, wanted.Endpoints = existing.Ports, kept
}

func sameSlice(a, b *discoveryv1.EndpointSlice) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) &&
		equality.Semantic.DeepEqual(a.Ports, b.Ports) &&
		equality.Semantic.DeepEqual(a.Endpoints, b.Endpoints)
}

// takesAway reports whether a change takes an endpoint away, or makes ready ones
// standby again.
func takesAway(from, to *discoveryv1.EndpointSlice) bool {
	missing := slices.ContainsFunc(from.Endpoints, func(published discoveryv1.Endpoint) bool {
		return !slices.ContainsFunc(to.Endpoints, func(e discoveryv1.Endpoint) bool {
			return slices.Equal(e.Addresses, published.Addresses) && equality.Semantic.DeepEqual(e.TargetRef, published.TargetRef)
		})
	})
	return missing || protection.IsPromoted(from) && !protection.IsPromoted(to)
}
