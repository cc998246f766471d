package decide

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Needs are the objects that a decision about a Service rests on, beside those
// of the Service itself. A zero name is none.
type Needs struct {
	// Template is the PodTemplate of the fallback Pod.
	Template types.NamespacedName
	// Content is the ConfigMap with the content of the page.
	Content types.NamespacedName
	// Backups are the backup Services: the one that is wanted, and one that is still
	// published.
	Backups []types.NamespacedName
}

// Needs says what else is to be read for a Snapshot that has the Service, its
// namespace, the policies and the slices.
func (s *Snapshot) Needs() Needs {
	if s.Service == nil {
		return Needs{}
	}
	governor := s.governor()
	if governor == nil {
		return Needs{}
	}
	beside := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: s.Service.Namespace, Name: name}
	}
	var needs Needs
	switch fallback := &governor.Spec.Fallback; {
	case fallback.Service != nil:
		needs.Backups = append(needs.Backups, beside(fallback.Service.Name))
	case fallback.PodTemplate != nil:
		needs.Template = s.templateName(fallback.PodTemplate)
	case fallback.Page != nil && fallback.Page.ConfigMapName != "":
		needs.Content = beside(fallback.Page.ConfigMapName)
	}
	for i := range s.Standby {
		if published := s.Standby[i].Annotations[criticalv2.AnnotationBackup]; published != "" {
			needs.Backups = append(needs.Backups, beside(published))
		}
	}
	return needs
}

// templateName is the PodTemplate that a fallback means.
func (s *Snapshot) templateName(fallback *criticalv2.PodTemplateFallback) types.NamespacedName {
	switch {
	case fallback.Name == "":
		return s.Settings.Template
	case fallback.Namespace == "":
		return types.NamespacedName{Namespace: s.Settings.OperatorNamespace, Name: fallback.Name}
	default:
		return types.NamespacedName{Namespace: fallback.Namespace, Name: fallback.Name}
	}
}

// choice is the kind of fallback that a Service gets.
type choice struct {
	// kind is a member of spec.fallback; empty where none can answer.
	kind string
	// page is what to answer, of a page.
	page *criticalv2.PageFallback
	// backup names the backup Service, of a service.
	backup string
	// announced is the maintenance that a page announces; nil if none is.
	announced *criticalv2.Announcement
	// preparing tells that the page is to take the place of this one as soon as it
	// can answer: its responder is asked for meanwhile.
	preparing bool
	// pod says how the Pod is made and published, of a podTemplate.
	pod criticalv2.PodTemplateFallback
	// reason and message say why this is not what was wanted; empty if it is.
	reason, message string
}

// byLabels tells whether the Service itself selects the fallback, so that there
// is nothing to publish.
func (c *choice) byLabels() bool {
	return c.kind == criticalv2.FallbackKindPodTemplate && c.pod.Publish == criticalv2.PublishSelectorLabels
}

// keepsPod tells whether the Pod runs before the outage.
func (c *choice) keepsPod() bool {
	return c.kind == criticalv2.FallbackKindPodTemplate && !c.byLabels() && c.pod.Activation == criticalv2.ActivationStandby
}

// choose finds the kind of fallback: while a maintenance is announced, the page, so
// far as the Service can have one; else the one that is configured. That one also
// stays until the page can answer: an announcement must not cost what it announces.
func (s *Snapshot) choose(governor *criticalv2.CriticalService, m *criticalv2.Maintenance) choice {
	configured := s.configured(governor)
	if m == nil || !s.mayHavePage() {
		return configured
	}
	page := s.announcing(governor, m)
	if configured.kind == "" || configured.kind == criticalv2.FallbackKindPage || s.canAnswer(page) {
		return page
	}
	configured.page, configured.preparing = page.page, true
	return configured
}

func (s *Snapshot) canAnswer(c choice) bool {
	b := s.backing(c)
	return !b.isEmpty()
}

// configured is the kind of fallback that the CriticalService names. Where the
// PodTemplate is not to be had, the built-in page stands in for it.
func (s *Snapshot) configured(governor *criticalv2.CriticalService) choice {
	fallback := &governor.Spec.Fallback
	switch {
	case fallback.Service != nil:
		return choice{kind: criticalv2.FallbackKindService, backup: fallback.Service.Name}
	case fallback.PodTemplate != nil:
		return s.choosePod(fallback.PodTemplate)
	default:
		page := fallback.Page
		if page == nil {
			page = criticalv2.DefaultPage()
		}
		return s.choosePage(page)
	}
}

func (s *Snapshot) choosePod(fallback *criticalv2.PodTemplateFallback) choice {
	c := choice{kind: criticalv2.FallbackKindPodTemplate, pod: *fallback}
	name := s.templateName(fallback)
	switch {
	case fallback.Name != "" && name.Namespace != s.Settings.OperatorNamespace && name.Namespace != s.Service.Namespace:
		c.reason = criticalv2.ReasonTemplateForbidden
		c.message = fmt.Sprintf("PodTemplate %s may not be used here: take one from the operator's namespace %q or from the Service's own.",
			name, s.Settings.OperatorNamespace)
	case s.Template == nil:
		c.reason, c.message = criticalv2.ReasonTemplateNotFound, s.templateNotFound(name)
	}
	// A fallback that is there stays, whatever became of its template.
	if c.reason == "" || s.current() != nil {
		return c
	}
	if page := s.choosePage(criticalv2.DefaultPage()); page.kind != "" {
		page.reason, page.message = c.reason, c.message+" The built-in page stands in for it."
		return page
	}
	c.kind = ""
	return c
}

func (s *Snapshot) choosePage(page *criticalv2.PageFallback) choice {
	if s.Service.Spec.ClusterIP == corev1.ClusterIPNone {
		return choice{
			reason: criticalv2.ReasonHeadlessUnsupported,
			message: "Clients of a headless Service dial the port of the Pod itself, on which the responder does not listen: " +
				"use a podTemplate fallback.",
		}
	}
	c := choice{kind: criticalv2.FallbackKindPage, page: page}
	c.reason, c.message = s.contentTrouble(page)
	return c
}
