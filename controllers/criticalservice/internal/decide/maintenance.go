package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/critical-service/operator/internal/protection"

	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// maintenance is the one that is announced for the Service now: the first by the
// name of its ConfigMap. One that is over is announced only until the Service
// answers by itself again.
func (s *Snapshot) maintenance() *criticalv2.Maintenance {
	for _, config := range s.maintenances() {
		m, err := criticalv2.ParseMaintenance(config.Data)
		if err == nil && m.Announces(s.Now) && !(m.IsOver(s.Now) && len(s.OwnReady()) > 0) {
			return m
		}
	}
	return nil
}

// drill is the live drill that is under way: a maintenance of which clients are told
// nothing.
func (s *Snapshot) drill() *criticalv2.Maintenance {
	for _, config := range s.maintenances() {
		if m, err := criticalv2.ParseMaintenance(config.Data); err == nil && m.Silent && m.Workload != nil && !m.IsOver(s.Now) {
			return m
		}
	}
	return nil
}

func (s *Snapshot) maintenances() []corev1.ConfigMap {
	return slices.SortedFunc(slices.Values(s.Maintenance), func(a, b corev1.ConfigMap) int { return strings.Compare(a.Name, b.Name) })
}

// mayHavePage tells whether the responder can stand in for the Service at all.
func (s *Snapshot) mayHavePage() bool {
	return s.Service.Spec.ClusterIP != corev1.ClusterIPNone && s.Settings.NoResponder == "" &&
		slices.ContainsFunc(s.Service.Spec.Ports, protection.IsTCP)
}

// announcing is the page while a maintenance is announced, whatever kind of fallback
// is configured. A message goes before the team's own content, so that what is wrong
// with that matters only without one.
func (s *Snapshot) announcing(governor *criticalv2.CriticalService, m *criticalv2.Maintenance) choice {
	page := governor.Spec.Fallback.Page
	if page == nil {
		page = criticalv2.DefaultPage()
	}
	c := choice{kind: criticalv2.FallbackKindPage, page: page, announced: &m.Announcement}
	if m.Message == "" {
		c.reason, c.message = s.contentTrouble(page)
	}
	return c
}

// mention says in the state that a maintenance is announced, and what is wrong with
// one that is not.
func (s *Snapshot) mention(plan *Plan, c choice) {
	switch m := plan.Maintenance; {
	case m == nil:
	case c.preparing:
		_, message := s.responderTrouble()
		plan.Message += fmt.Sprintf(" A maintenance is announced%s, and its page is being prepared: %s", ending(m), message)
	default:
		s.mentionAnnounced(plan, m)
	}
	for _, config := range s.maintenances() {
		if trouble := s.maintenanceTrouble(plan, &config); trouble != "" {
			plan.Message += " " + trouble
		}
	}
}

func (s *Snapshot) mentionAnnounced(plan *Plan, m *criticalv2.Maintenance) {
	said := "A maintenance is announced" + ending(m)
	if m.IsOver(s.Now) {
		said = "A maintenance was announced" + ending(m) + ", and the application is not back yet"
	}
	plain := !protection.NeedsAction(plan.Reason)
	switch {
	case plain && plan.State == criticalv2.StateArmed:
		plan.Reason = criticalv2.ReasonMaintenance
		plan.Message = fmt.Sprintf("%s. %s; %s would answer in their place at once.", said, s.stillServing(), s.answerer())
	case plain && plan.State == criticalv2.StateCovered:
		plan.Reason = criticalv2.ReasonMaintenance
		plan.Message = fmt.Sprintf("%s; %s answers.", said, s.answerer())
	default:
		plan.Message = said + ". " + plan.Message
	}
}

// stillServing says how many endpoints a maintenance does not take away: nobody can,
// without a change of what is the user's.
func (s *Snapshot) stillServing() string {
	if count := len(s.OwnReady()); count != 1 {
		return fmt.Sprintf("%d endpoints of the Service's own still take the traffic", count)
	}
	return "1 endpoint of the Service's own still takes the traffic"
}

// maintenanceTrouble says what a person has to do about a ConfigMap that announces
// nothing. It plans to look again when one ends.
func (s *Snapshot) maintenanceTrouble(plan *Plan, config *corev1.ConfigMap) string {
	m, err := criticalv2.ParseMaintenance(config.Data)
	switch {
	case err != nil:
		return fmt.Sprintf("ConfigMap %q announces no maintenance, because it is not valid: %v.", config.Name, err)
	case m.Until == nil:
		return ""
	case m.IsExpired(s.Now):
		return fmt.Sprintf("ConfigMap %q is about a maintenance that was over at %s, and is ignored: `kubectl critsvc maintenance off svc/%s -n %s` gives back what it took, and deletes it.",
			config.Name, m.Until.UTC().Format(time.RFC3339), s.Service.Name, s.Service.Namespace)
	case m.IsOver(s.Now):
		plan.recheck(m.Until.Add(criticalv2.MaintenanceGrace).Sub(s.Now))
	default:
		plan.recheck(m.Until.Sub(s.Now))
	}
	return ""
}

// IsPlanned tells whether somebody has announced an outage, or drills one: nobody
// needs to look for its cause.
func (p *Plan) IsPlanned() bool { return p.Maintenance != nil || p.Drill != nil }

func ending(m *criticalv2.Maintenance) string {
	if m.Until == nil {
		return ""
	}
	return " until " + m.Until.UTC().Format(time.RFC3339)
}
