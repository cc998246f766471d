package decide

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/critical-service/operator/internal/protection"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// publish plans the standby slices of the Service, one per IP family.
func (s *Snapshot) publish(plan *Plan, c choice, b backing, ph phase) {
	for _, family := range render.Families(s.Service) {
		existing := s.standby(family)
		if existing == nil && (c.byLabels() || c.kind == "") && !c.preparing {
			continue // The Service selects its fallback itself, or can have none.
		}
		c, b := s.until(existing, c, b)
		if c.kind == "" {
			c.kind = existing.Labels[criticalv2.LabelFallbackKind]
		}
		kind := c.kind
		if c.preparing {
			kind = criticalv2.FallbackKindPage // By this the responder's controller knows.
		}
		wanted := render.Slice(render.Standby{
			Service: s.Service, Governor: plan.Governor, Others: s.others(plan.Governor), Family: family, Kind: kind,
			Page: c.page, Announced: c.announced, Backup: c.backup,
			Ports: b.ports, Endpoints: b.endpoints[family],
			Promoted: ph.promoted, OutageSince: ph.outageSince, RecoveredSince: ph.recoveredSince,
		})
		if existing == nil {
			plan.Publish = append(plan.Publish, wanted)
			continue
		}
		if len(wanted.Endpoints) == 0 {
			s.keep(existing, wanted, ph)
		}
		plan.change(existing, render.Updated(existing, wanted))
	}
	for i := range s.Standby {
		slice := &s.Standby[i]
		isCopy := slice.Name != render.SliceName(s.Service.Name, slice.AddressType)
		if isCopy || !slices.Contains(render.Families(s.Service), slice.AddressType) {
			plan.Unpublish = append(plan.Unpublish, slice)
		}
	}
	if ph.left > 0 {
		plan.recheck(ph.left)
	}
}

// change plans the change of a slice: it adds, or takes something away.
func (p *Plan) change(existing, updated *discoveryv1.EndpointSlice) {
	promotes := protection.IsPromoted(updated) && !protection.IsPromoted(existing)
	switch {
	case sameSlice(existing, updated):
	case !takesAway(existing, updated):
		p.Publish = append(p.Publish, updated)
	case promotes && len(existing.Endpoints) > 0:
		// Promotion waits for nothing: what is to go goes with the next plan.
		p.Publish = append(p.Publish, promoted(existing, updated))
		p.recheck(firstRetry)
	default:
		p.Retract = append(p.Retract, updated)
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

// until lets what is published in an outage go on answering until the fallback
// that is wanted can. It follows the responder's Pods, or the backup, meanwhile; the
// responder stays as long as a slice asks for it.
func (s *Snapshot) until(existing *discoveryv1.EndpointSlice, wanted choice, b backing) (choice, backing) {
	if existing == nil || !b.isEmpty() || len(s.OwnReady()) > 0 {
		return wanted, b
	}
	if backup := existing.Annotations[criticalv2.AnnotationBackup]; backup != "" && backup != wanted.backup {
		if former := s.serviceBacking(backup); !former.isEmpty() {
			return formerBackup(wanted, backup), former
		}
	}
	if wanted.kind == criticalv2.FallbackKindPage || wanted.preparing || existing.Labels[criticalv2.LabelFallbackKind] != criticalv2.FallbackKindPage {
		return wanted, b
	}
	page := &criticalv2.PageFallback{}
	if json.Unmarshal([]byte(existing.Annotations[criticalv2.AnnotationPage]), page) != nil {
		return wanted, b // Somebody edited it: nothing is known of the page.
	}
	return choice{kind: criticalv2.FallbackKindPage, page: page}, s.pageBacking()
}

// formerBackup is how a backup is published that is not wanted any more. A page
// that is wanted stands on the slice already, so that it gets its responder.
func formerBackup(wanted choice, backup string) choice {
	if wanted.kind != criticalv2.FallbackKindPage && !wanted.preparing {
		return choice{kind: criticalv2.FallbackKindService, backup: backup}
	}
	wanted.backup = backup
	return wanted
}

// keep leaves what is published where nothing better is known: an endpoint that
// may answer is better than none, so long as its Pod exists. This is also how one
// kind of fallback goes on answering until another can.
func (s *Snapshot) keep(existing, wanted *discoveryv1.EndpointSlice, ph phase) {
	var kept []discoveryv1.Endpoint
	ofResponder := false
	for _, endpoint := range existing.Endpoints {
		pod := s.podOf(&endpoint)
		if pod == nil || hasEnded(pod) {
			continue
		}
		ofResponder = ofResponder || pod.Labels[criticalv2.LabelResponder] == criticalv2.ResponderServer
		endpoint.Conditions = discoveryv1.EndpointConditions{
			Ready: new(ph.promoted), Serving: new(true), Terminating: new(!ph.promoted),
		}
		kept = append(kept, endpoint)
	}
	// Own Pods of a kind that is made in an outage only go with the outage.
	if len(kept) == 0 || !ofResponder && len(s.OwnReady()) > 0 {
		return
	}
	wanted.Ports, wanted.Endpoints = existing.Ports, kept
}

// podOf is the Pod of ours that a published endpoint is; nil if it is none.
func (s *Snapshot) podOf(endpoint *discoveryv1.Endpoint) *corev1.Pod {
	if endpoint.TargetRef == nil {
		return nil
	}
	for _, pods := range [][]corev1.Pod{s.Pods, s.Responder.Pods} {
		for i := range pods {
			if pods[i].UID == endpoint.TargetRef.UID {
				return &pods[i]
			}
		}
	}
	return nil
}

func (s *Snapshot) standby(family discoveryv1.AddressType) *discoveryv1.EndpointSlice {
	name := render.SliceName(s.Service.Name, family)
	for i := range s.Standby {
		if s.Standby[i].Name == name {
			return &s.Standby[i]
		}
	}
	return nil
}

func sameSlice(a, b *discoveryv1.EndpointSlice) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) &&
		equality.Semantic.DeepEqual(a.Ports, b.Ports) &&
		equality.Semantic.DeepEqual(a.Endpoints, b.Endpoints)
}

// takesAway tells whether a change takes an endpoint away, or makes ready ones
// standby again.
func takesAway(from, to *discoveryv1.EndpointSlice) bool {
	missing := slices.ContainsFunc(from.Endpoints, func(published discoveryv1.Endpoint) bool {
		return !slices.ContainsFunc(to.Endpoints, func(e discoveryv1.Endpoint) bool {
			return slices.Equal(e.Addresses, published.Addresses) && equality.Semantic.DeepEqual(e.TargetRef, published.TargetRef)
		})
	})
	return missing || protection.IsPromoted(from) && !protection.IsPromoted(to)
}

// unpublish plans the end of every standby slice.
func (s *Snapshot) unpublish(plan *Plan) {
	for i := range s.Standby {
		if s.Standby[i].DeletionTimestamp == nil {
			plan.Unpublish = append(plan.Unpublish, &s.Standby[i])
		}
	}
}

// published tells whether what is published now answers: in every IP family of
// the Service, and in one of them.
func (s *Snapshot) published() (all, some bool) {
	all = true
	for _, family := range render.Families(s.Service) {
		slice := s.standby(family)
		here := slice != nil && slices.ContainsFunc(slice.Endpoints, s.answers)
		all, some = all && here, some || here
	}
	return all, some
}

// answers tells whether a published endpoint answers: it is a Pod of ours that is
// ready, or a ready endpoint of the backup Service.
func (s *Snapshot) answers(endpoint discoveryv1.Endpoint) bool {
	if pod := s.podOf(&endpoint); pod != nil {
		return isReady(pod)
	}
	for _, backup := range s.Backups {
		for i := range backup.Slices {
			if slices.ContainsFunc(backup.Slices[i].Endpoints, func(e discoveryv1.Endpoint) bool {
				same := e.TargetRef != nil && endpoint.TargetRef != nil && e.TargetRef.UID == endpoint.TargetRef.UID
				return same && answersWell(e.Conditions)
			}) {
				return true
			}
		}
	}
	return false
}

// describe says how the Service stands by what is published now.
func (s *Snapshot) describe(plan *Plan, c choice, b backing) {
	all, some := s.published()
	down := len(s.OwnReady()) == 0
	switch {
	case down && some:
		plan.is(criticalv2.StateCovered, criticalv2.ReasonStandbyServing,
			fmt.Sprintf("The Service has no ready endpoint of its own; %s answers.", s.answerer()))
		if s.promoted() {
			plan.Reason = criticalv2.ReasonFallbackServing
		}
		s.warnOfFamily(plan, all)
	case !down && all && b.reason == "":
		plan.is(criticalv2.StateArmed, criticalv2.ReasonStandbyReady,
			fmt.Sprintf("The Service answers by itself; %s would answer in its place at once.", s.answerer()))
	default:
		s.describeLack(plan, b, down)
	}
	if c.reason != "" {
		plan.add(c)
	}
}

// describeLack says why the Service has no fallback that answers.
func (s *Snapshot) describeLack(plan *Plan, b backing, down bool) {
	switch {
	case b.reason != "":
		plan.is(unprotected(down), b.reason, b.message)
		if left := s.untilLate(); b.reason == criticalv2.ReasonResponderStarting && left > 0 {
			plan.recheck(left)
		}
	case len(plan.Publish)+len(plan.Retract) > 0:
		plan.is(unprotected(down), criticalv2.ReasonSlicePending, "The standby endpoint is being published.")
		plan.Provisional = true
	default:
		plan.is(unprotected(down), criticalv2.ReasonFamilyMissing, s.familyMissing())
	}
}

// warnOfFamily lets a fallback that answers in one IP family only say so.
func (s *Snapshot) warnOfFamily(plan *Plan, all bool) {
	if !all && len(plan.Publish)+len(plan.Retract) == 0 {
		plan.Reason = criticalv2.ReasonFamilyMissing
		plan.Message += " " + s.familyMissing()
	}
}

// add says that this is not what was wanted, and why.
func (p *Plan) add(c choice) {
	answers := p.State == criticalv2.StateArmed || p.State == criticalv2.StateCovered
	if answers || c.reason != criticalv2.ReasonPageContentInvalid {
		p.Reason = c.reason
	}
	if p.Message != c.message {
		p.Message = strings.TrimSpace(c.message + " " + p.Message)
	}
}

// bridge says so where the Service is answered by what another kind of fallback
// published, until its own can.
func (s *Snapshot) bridge(plan *Plan) {
	if _, some := s.published(); some && plan.State == criticalv2.StateExposed {
		plan.State = criticalv2.StateCovered
		plan.Message = fmt.Sprintf("%s Until then, %s answers.", plan.Message, s.answerer())
	}
}

// familyMissing names the IP families of the Service in which nothing is published.
func (s *Snapshot) familyMissing() string {
	var missing []string
	for _, family := range render.Families(s.Service) {
		if slice := s.standby(family); slice == nil || len(slice.Endpoints) == 0 {
			missing = append(missing, string(family))
		}
	}
	return fmt.Sprintf("The fallback has no %s address, and the Service has: clients of that family get no answer.", strings.Join(missing, " and no "))
}

func unprotected(down bool) criticalv2.ServiceState {
	if down {
		return criticalv2.StateExposed
	}
	return criticalv2.StateArming
}

// answerer names what is published.
func (s *Snapshot) answerer() string {
	var names []string
	s.eachStandby(func(endpoint *discoveryv1.Endpoint) {
		if endpoint.TargetRef != nil && !slices.Contains(names, endpoint.TargetRef.Name) {
			names = append(names, endpoint.TargetRef.Name)
		}
	})
	slices.Sort(names)
	text := "the standby"
	if len(names) > 0 {
		text = fmt.Sprintf("Pod %q", names[0])
	}
	if len(names) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(names)-1)
	}
	return text
}

// lists tells whether a fallback Pod is published in a standby slice.
func (s *Snapshot) lists(uid types.UID) bool {
	found := false
	s.eachStandby(func(endpoint *discoveryv1.Endpoint) {
		found = found || endpoint.TargetRef != nil && endpoint.TargetRef.UID == uid
	})
	return found
}

// byFamily puts slices into the order of their names, which is that of their
// families.
func byFamily(a, b discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) }
