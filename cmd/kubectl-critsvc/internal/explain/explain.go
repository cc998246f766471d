package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
	"github.com/critical-service/operator/internal/protection"
)

// mostShown is how many events are shown.
const mostShown = 10

// viewOf makes an explanation from what was read.
func viewOf(found facts, now time.Time) View {
	view := View{
		Service: serviceOf(found.service), Ports: found.ports(), Endpoints: endpoints.Of(found.service, found.slices, found.fallbacks),
		Events: latest(found.events), Maintenance: found.planned(now),
		partial: found.unseen.Err() != nil,
	}
	if view.Endpoints == nil {
		view.Endpoints = []endpoints.Endpoint{}
	}
	view.Notices = append(view.Notices, found.unread...)
	matching := found.matching()
	if len(matching) == 0 {
		view.Nearest = found.nearest()
	} else {
		view.govern(&found, matching)
	}
	view.answer(&found)
	view.explainOutage(&found)
	return view
}

func serviceOf(service *corev1.Service) Service {
	return Service{
		Namespace: service.Namespace, Name: service.Name, Type: string(service.Spec.Type), ClusterIP: service.Spec.ClusterIP,
		Labels: service.Labels, Selector: service.Spec.Selector,
	}
}

// govern says what the first of the policies that match says.
func (v *View) govern(found *facts, matching []criticalv2.Policy) {
	governor := matching[0]
	v.Governor = new(found.matchOf(governor))
	for _, other := range matching[1:] {
		v.Others = append(v.Others, found.matchOf(other))
	}
	if rivals := slices.DeleteFunc(slices.Clone(v.Others), func(m Match) bool { return m.Tier != v.Governor.Tier }); len(rivals) > 0 {
		v.Governor.Why += fmt.Sprintf("; it is the first by name of the %d of this tier that match", len(rivals)+1)
	}
	for _, outage := range governor.Observed().Outages {
		if outage.Ended != nil && outage.Namespace == found.service.Namespace && outage.Name == found.service.Name {
			v.Outages++
		}
	}
	detail := governor.Observed().DetailOf(found.service.Namespace, found.service.Name)
	switch {
	case detail == nil:
		v.Notices = append(v.Notices, unlisted(governor, found.service))
	case v.partial && detail.OverriddenBy != nil:
		v.override(governor, detail)
		return
	default:
		v.Status = &Status{State: detail.State, Reason: detail.Reason, Message: detail.Message, Since: detail.Since}
		v.Protected, v.Failover = detail.State != criticalv2.StateIgnored, detail.Failover
		if detail.Cause != nil {
			v.Cause = &Cause{OutageCause: *detail.Cause, By: byOperator}
		}
	}
	v.Fallback = found.fallback(governor, v.Endpoints)
}

// override puts a policy that may not be read in the place of the one that would govern
// without it.
func (v *View) override(overridden criticalv2.Policy, detail *criticalv2.ServiceStatus) {
	v.Others = append([]Match{*v.Governor}, v.Others...)
	v.Governor = &Match{Governor: access.GovernorOf(overridden, detail), Why: "the status of " + access.Title(overridden) + " says so"}
	v.Notices = append(v.Notices, fmt.Sprintf("The state of the Service is in the status of %s %s, which you may not read. The status of %s says: %s",
		v.Governor.Kind, v.Governor.Name, access.Title(overridden), detail.Message))
}

// unlisted says why the status of the policy that governs a Service does not list it.
func unlisted(policy criticalv2.Policy, service *corev1.Service) string {
	status, title := policy.Observed(), access.Title(policy)
	misdirected := access.Misdirected(policy)
	switch {
	case meta.FindStatusCondition(status.Conditions, criticalv2.ConditionReady) == nil:
		return fmt.Sprintf("%s has no status: the operator is about to write it, or it does not run (see `kubectl critsvc doctor`).", title)
	case misdirected != nil:
		return fmt.Sprintf("%s: %s", title, misdirected.Message)
	case int(status.Services.Total) > len(status.Details):
		return fmt.Sprintf("%s matches %d Services, and its status lists only the %d most urgent of them: this one is not among them.",
			title, status.Services.Total, len(status.Details))
	default:
		return fmt.Sprintf("%s matches this Service, and its status does not list it: the operator is about to see it, "+
			"or does not watch namespace %q (its setting NAMESPACES), or does not run (see `kubectl critsvc doctor`).", title, service.Namespace)
	}
}

// explainOutage completes the cause: what the plugin found counts where the
// operator found nothing.
func (v *View) explainOutage(found *facts) {
	operatorKnows := v.Cause != nil && v.Cause.Reason != criticalv2.CauseNotFound
	if found.diagnosed == nil || operatorKnows {
		return
	}
	if v.Cause == nil || found.diagnosed.Reason != criticalv2.CauseNotFound {
		v.Cause = &Cause{OutageCause: *found.diagnosed, By: byPlugin}
	}
}

// needsDiagnosis reports whether the application has no ready endpoint, and the operator
// has not said why. A Service without a selector has no Pods to read.
func (f *facts) needsDiagnosis() bool {
	ready, _ := endpoints.Count(endpoints.Of(f.service, f.slices, f.fallbacks), endpoints.Application)
	if ready > 0 || len(f.service.Spec.Selector) == 0 || f.service.Spec.Type == corev1.ServiceTypeExternalName {
		return false
	}
	for _, policy := range f.matching() {
		if detail := policy.Observed().DetailOf(f.service.Namespace, f.service.Name); detail != nil && detail.Cause != nil && detail.Cause.Reason != criticalv2.CauseNotFound {
			return false
		}
	}
	return true
}

// planned is the maintenance, or the live drill, that is on for the Service.
func (f *facts) planned(now time.Time) *Maintenance {
	for i := range f.maintenances {
		m := &f.maintenances[i]
		if !m.IsAbout(f.service.Name) || !outage.IsOn(m, now) {
			continue
		}
		planned := &Maintenance{Name: m.Name, Message: m.Spec.Message, Until: m.End(), Silent: m.IsDrill(), Over: m.IsOver(now)}
		if active := meta.FindStatusCondition(m.Status.Conditions, criticalv2.MaintenanceActive); active != nil {
			planned.Reason = active.Reason
		}
		if owed := m.Owes(); owed != nil {
			planned.Workload, planned.Replicas = owed.String(), owed.Replicas
		}
		return planned
	}
	return f.announced(now)
}

// announced is the maintenance as the standby slice announces it: that is what is
// known of it without the permission to read Maintenances.
func (f *facts) announced(now time.Time) *Maintenance {
	for i := range f.slices {
		var announced criticalv2.Announcement
		text := f.slices[i].Annotations[criticalv2.AnnotationMaintenance]
		if protection.IsStandby(&f.slices[i]) && text != "" && json.Unmarshal([]byte(text), &announced) == nil {
			return &Maintenance{Message: announced.Message, Until: announced.Until, Over: announced.Until != nil && !now.Before(announced.Until.Time)}
		}
	}
	return nil
}

// latest are the newest events, the newest first.
func latest(events []eventsv1.Event) []Event {
	shown := make([]Event, 0, len(events))
	for i := range events {
		shown = append(shown, eventOf(&events[i]))
	}
	slices.SortStableFunc(shown, func(a, b Event) int { return b.At.Compare(a.At.Time) })
	return shown[:min(len(shown), mostShown)]
}

func eventOf(event *eventsv1.Event) Event {
	shown := Event{
		At: metav1.NewTime(event.EventTime.Time), Type: event.Type, Reason: event.Reason, Action: event.Action, Note: event.Note,
		Count: max(event.DeprecatedCount, 1), From: cmp.Or(event.ReportingController, event.DeprecatedSource.Component),
	}
	switch {
	case event.Series != nil:
		shown.At, shown.Count = metav1.NewTime(event.Series.LastObservedTime.Time), event.Series.Count
	case !event.DeprecatedLastTimestamp.IsZero():
		shown.At = event.DeprecatedLastTimestamp
	case shown.At.IsZero():
		shown.At = event.CreationTimestamp
	}
	if event.Related != nil {
		shown.Related = event.Related.Kind + "/" + event.Related.Name
	}
	return shown
}
