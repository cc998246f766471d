package decide

import (
	"encoding/json"
	"maps"
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
	case want.awaitsTemplate(f): // The page that stands in for it may have to go on.
		return sliceChanges{}
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

// publish plans, for each IP family of the Service, the slice that asks for the
// fallback, and one for each Pod that can answer.
func publish(f *facts, want choice, now target) sliceChanges {
	var changes sliceChanges
	ph := phaseOf(f)
	changes.in(ph.left)
	families, published := render.Families(f.Service), map[string]bool{}
	for _, family := range families {
		request := f.request(family)
		if request == nil && (want.byLabels() || want.kind == "") && !want.preparing {
			// The Service selects its fallback itself, or can have none.
			changes.retireOthers(f, family, nil, f.replaced(family, now), ph)
			continue
		}
		maps.Copy(published, changes.publishFamily(f, family, request, want, now, ph))
	}
	for i := range f.Standby {
		slice := &f.Standby[i]
		isCopy := protection.StandsFor(slice) == "" && slice.Name != render.SliceName(f.Service.Name, slice.AddressType)
		if isCopy && !published[slice.Name] || !slices.Contains(families, slice.AddressType) {
			changes.unpublish = append(changes.unpublish, slice)
		}
	}
	return changes
}

// publishFamily plans the standby slices of one IP family, and returns the names of
// those of Pods.
func (s *sliceChanges) publishFamily(f *facts, family discoveryv1.AddressType, request *discoveryv1.EndpointSlice, want choice, now target, ph phase) map[string]bool {
	replaced := f.replaced(family, now)
	if !replaced {
		want, now = meanwhile(f, request, want, now)
	}
	kind := want.kind
	switch {
	case want.preparing:
		kind = criticalv2.FallbackKindPage // By this the responder's controller knows.
	case kind == "":
		kind = request.Labels[criticalv2.LabelFallbackKind]
	}
	standby := render.Standby{
		Service: f.Service, Governor: f.governor, Others: f.others, Family: family, Kind: kind,
		Page: want.page, Announced: want.announced, Backup: want.backup,
		Ports: now.ports, Endpoints: now.endpoints[family],
		Promoted: ph.promoted, Notes: ph.notes,
	}
	if request == nil {
		s.publish = append(s.publish, render.Slice(standby))
	} else {
		s.ask(f, request, standby, replaced)
		if f.Refusal == nil {
			standby.Notes, ph.notes = render.Notes{}, render.Notes{} // They are there.
		}
	}
	published := s.publishPods(f, standby, now)
	s.retireOthers(f, family, published, replaced, ph)
	return published
}

// retireOthers plans for the slices of Pods that are not among those published.
func (s *sliceChanges) retireOthers(f *facts, family discoveryv1.AddressType, published map[string]bool, replaced bool, ph phase) {
	for i := range f.Standby {
		slice := &f.Standby[i]
		if slice.AddressType == family && protection.StandsFor(slice) != "" && !published[slice.Name] {
			s.retire(f, slice, replaced, ph)
		}
	}
}

// ask plans the slice that asks for the fallback where it exists. What it publishes
// itself stays until something replaces it: a former backup, and Pods that an earlier
// version of the operator published there.
func (s *sliceChanges) ask(f *facts, request *discoveryv1.EndpointSlice, standby render.Standby, replaced bool) {
	name := request.Annotations[criticalv2.AnnotationBackup]
	if !replaced && len(standby.Endpoints) == 0 && name != standby.Backup {
		if former := backupOf(f, name); !former.isEmpty() {
			standby.Backup, standby.Ports, standby.Endpoints = name, former.ports, former.endpoints[request.AddressType]
			if standby.Kind != criticalv2.FallbackKindPage {
				standby.Kind = criticalv2.FallbackKindService
			}
		}
	}
	wanted := render.Slice(standby)
	if !replaced && len(wanted.Endpoints) == 0 {
		for _, endpoint := range request.Endpoints {
			if f.mayAnswer(&endpoint) {
				endpoint.Conditions = render.Conditions(standby.Promoted)
				wanted.Ports, wanted.Endpoints = request.Ports, append(wanted.Endpoints, endpoint)
			}
		}
	}
	s.change(f, request, render.Updated(request, wanted))
}

// publishPods plans the slices of the Pods that can answer, and returns their names.
func (s *sliceChanges) publishPods(f *facts, standby render.Standby, now target) map[string]bool {
	published := map[string]bool{}
	for _, p := range now.pods {
		endpoint, found := render.PodEndpoints(p.pod)[standby.Family]
		if !found {
			continue
		}
		standby.Kind = criticalv2.FallbackKindPodTemplate
		if protection.IsResponder(p.pod) {
			standby.Kind = criticalv2.FallbackKindPage
		}
		wanted := render.PodSlice(standby, p.pod, endpoint, p.ports)
		published[wanted.Name] = true
		if existing := f.standby(wanted.Name); existing == nil {
			s.publish = append(s.publish, wanted)
		} else if updated := render.Updated(existing, wanted); !sameSlice(existing, updated) {
			s.publish = append(s.publish, updated)
		}
	}
	return published
}

// retire plans for the slice of a Pod that is not wanted, or cannot answer. Where nothing
// better is known it stays, so long as its Pod exists and has the address: an endpoint
// that may answer is better than none. This is also how one kind of fallback goes on
// answering until another can.
func (s *sliceChanges) retire(f *facts, slice *discoveryv1.EndpointSlice, replaced bool, ph phase) {
	if slice.DeletionTimestamp != nil {
		return
	}
	refused := slices.ContainsFunc(slice.Endpoints, func(endpoint discoveryv1.Endpoint) bool { return !f.mayAnswer(&endpoint) })
	if refused || replaced {
		s.unpublish = append(s.unpublish, slice)
		return
	}
	s.change(f, slice, render.Kept(slice, ph.promoted, ph.notes))
}

// mayAnswer reports whether the Pod that an endpoint publishes exists and has the
// address. Own Pods of a kind that is made in an outage only go with the outage.
func (f *facts) mayAnswer(endpoint *discoveryv1.Endpoint) bool {
	pod := f.podOf(endpoint)
	return pod != nil && !hasEnded(pod) && protection.HasAddress(pod, endpoint.Addresses[0]) && (f.down() || protection.IsResponder(pod))
}

// replaced reports whether what is wanted is already published in an IP family, so
// that what was before may go.
func (f *facts) replaced(family discoveryv1.AddressType, now target) bool {
	for _, p := range now.pods {
		if _, found := render.PodEndpoints(p.pod)[family]; found && f.standby(render.PodSliceName(f.Service.Name, family, p.pod.UID)) != nil {
			return true
		}
	}
	request := f.request(family)
	return request != nil && slices.ContainsFunc(now.endpoints[family], func(e discoveryv1.Endpoint) bool {
		return slices.ContainsFunc(request.Endpoints, func(published discoveryv1.Endpoint) bool {
			return slices.Equal(published.Addresses, e.Addresses)
		})
	})
}

// change plans the change of a slice: it adds, or takes something away. Promotion and
// demotion take nothing away: a standby answers where nothing else does.
func (s *sliceChanges) change(f *facts, existing, updated *discoveryv1.EndpointSlice) {
	promotes := protection.IsPromoted(updated) && !protection.IsPromoted(existing)
	switch {
	case sameSlice(existing, updated):
	case !takesAway(existing, updated):
		s.publish = append(s.publish, updated)
	case promotes && len(existing.Endpoints) > 0:
		// Promotion waits for nothing: what is to go goes with the next plan.
		s.publish = append(s.publish, promoted(f, existing, updated))
		s.in(firstRetry)
	default:
		s.retract = append(s.retract, updated)
	}
}

// promoted is a slice that exists, promoted with all the endpoints it has that answer.
func promoted(f *facts, existing, updated *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	slice := existing.DeepCopy()
	slice.Annotations, slice.Labels, slice.OwnerReferences = updated.Annotations, updated.Labels, updated.OwnerReferences
	slice.Endpoints = slices.DeleteFunc(slice.Endpoints, func(endpoint discoveryv1.Endpoint) bool { return !f.answers(&endpoint) })
	if len(slice.Endpoints) == 0 {
		slice.Ports, slice.Endpoints = updated.Ports, updated.Endpoints
	}
	for i := range slice.Endpoints {
		slice.Endpoints[i].Conditions = render.Conditions(true)
	}
	return slice
}

// meanwhile lets the page go on answering in an outage until the fallback that is
// wanted can. It follows the responder's Pods until then; the responder stays as long
// as a slice asks for it.
func meanwhile(f *facts, request *discoveryv1.EndpointSlice, want choice, now target) (choice, target) {
	if request == nil || f.up() || want.kind == criticalv2.FallbackKindPage || want.preparing ||
		request.Labels[criticalv2.LabelFallbackKind] != criticalv2.FallbackKindPage {
		return want, now
	}
	page := &criticalv2.PageFallback{}
	if json.Unmarshal([]byte(request.Annotations[criticalv2.AnnotationPage]), page) != nil {
		return want, now // It was edited: nothing is known of the page.
	}
	now.pods = slices.Concat(now.pods, pageTarget(f).pods)
	return choice{kind: criticalv2.FallbackKindPage, page: page}, now
}

func sameSlice(a, b *discoveryv1.EndpointSlice) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) &&
		equality.Semantic.DeepEqual(a.Ports, b.Ports) &&
		equality.Semantic.DeepEqual(a.Endpoints, b.Endpoints)
}

// takesAway reports whether a change takes an endpoint away.
func takesAway(from, to *discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(from.Endpoints, func(published discoveryv1.Endpoint) bool {
		return !slices.ContainsFunc(to.Endpoints, func(e discoveryv1.Endpoint) bool {
			return slices.Equal(e.Addresses, published.Addresses) && equality.Semantic.DeepEqual(e.TargetRef, published.TargetRef)
		})
	})
}
