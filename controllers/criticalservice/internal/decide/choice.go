package decide

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/page"
	"github.com/critical-service/operator/internal/protection"
)

// choice is the fallback that a Service gets.
type choice struct {
	// kind is a member of spec.fallback; empty where none can answer.
	kind string
	// page is what to answer, of a page.
	page *criticalv2.PageFallback
	// announced is the maintenance that a page announces; nil if none is.
	announced *criticalv2.Announcement
	// preparing is true if the page is to take the place of this one as soon as it
	// can answer: its responder is asked for meanwhile.
	preparing bool
	// backup names the backup Service, of a service.
	backup string
	// pod says how the Pod is made and published, of a podTemplate.
	pod criticalv2.PodTemplateFallback
	// shortfall is why this is not what was wanted; empty if it is.
	shortfall shortfall
	// problems are those of the page's content, where it is invalid, and unjudged is
	// true where that is not known yet.
	problems []page.Problem
	unjudged bool
	// excluded is why the Service cannot or must not be protected; empty if it can.
	excluded exclusion
}

// shortfall is why a Service does not get the fallback that was wanted.
type shortfall string

const (
	// podsForbidden: the operator has no permission to run Pods of PodTemplates.
	podsForbidden shortfall = "pods forbidden"
	// templateForbidden: the PodTemplate is of a third namespace.
	templateForbidden shortfall = "template forbidden"
	// templateUnsafe: Pods of it may not run on behalf of a team.
	templateUnsafe shortfall = "template unsafe"
	// templateMissing: the PodTemplate does not exist.
	templateMissing shortfall = "template missing"
	// templateTooLarge: the PodTemplate is larger than MaxTemplate.
	templateTooLarge shortfall = "template too large"
	// headless: clients dial the port of the Pod itself.
	headless shortfall = "headless"
	// contentMissing: the ConfigMap of the page is not there.
	contentMissing shortfall = "content missing"
	// contentInvalid: the ConfigMap of the page is not valid.
	contentInvalid shortfall = "content invalid"
)

// byLabels reports whether the Service itself selects the fallback, so that there
// is nothing to publish.
func (c *choice) byLabels() bool {
	return c.isPod() && c.pod.Publish == criticalv2.PublishSelectorLabels
}

// isPod reports whether a Pod of a template stands in.
func (c *choice) isPod() bool { return c.kind == criticalv2.FallbackKindPodTemplate }

// keepsPod reports whether the Pod runs before the outage.
func (c *choice) keepsPod() bool {
	return c.isPod() && !c.byLabels() && c.pod.Activation == criticalv2.ActivationStandby
}

// answersOn reports whether a Pod that is published on demand still answers after
// the outage, because deactivationDelay runs.
func (c *choice) answersOn(f *facts) bool {
	return c.isPod() && !c.byLabels() && !c.keepsPod() && f.up() && phaseOf(f).promoted
}

// awaitsTemplate reports whether nothing is to be changed before it is known what the
// template says: the Service answers by itself, and no Pod was made.
func (c *choice) awaitsTemplate(f *facts) bool {
	return c.isPod() && f.isUnread() && f.current == nil && f.up()
}

// choose finds the fallback: while a maintenance is announced, the page, so far as
// the Service can have one; else the one that is configured. That one also stays
// until the page can answer: an announcement must not cost what it announces.
func choose(f *facts) choice {
	c := preferredOf(f)
	c.excluded = excluded(f, c.kind)
	return c
}

func preferredOf(f *facts) choice {
	configured := configuredOf(f)
	if f.maintenance == nil || !f.mayHavePage() {
		return configured
	}
	announcement := announcing(f)
	answering := pageTarget(f)
	if configured.kind == "" || configured.kind == criticalv2.FallbackKindPage || !answering.isEmpty() {
		return announcement
	}
	configured.page, configured.preparing = announcement.page, true
	return configured
}

// configuredOf is the fallback that the policy names. Where the PodTemplate
// is not to be had, the built-in page stands in for it.
func configuredOf(f *facts) choice {
	switch fallback := &f.governor.Protection().Fallback; {
	case fallback.Service != nil:
		return choice{kind: criticalv2.FallbackKindService, backup: fallback.Service.Name}
	case fallback.PodTemplate != nil:
		return choosePod(f, fallback.PodTemplate)
	default:
		return choosePage(f, pageOf(fallback))
	}
}

func pageOf(fallback *criticalv2.Fallback) *criticalv2.PageFallback {
	if fallback.Page == nil {
		return criticalv2.DefaultPage()
	}
	return fallback.Page
}

func choosePod(f *facts, fallback *criticalv2.PodTemplateFallback) choice {
	c := choice{kind: criticalv2.FallbackKindPodTemplate, pod: *fallback}
	switch {
	case f.Settings.NoPods != "":
		c.shortfall = podsForbidden
	case !f.Settings.Templates().Allows(f.governor, f.Service.Namespace):
		c.shortfall = templateForbidden
	case f.TemplateTooLarge:
		c.shortfall = templateTooLarge
	case f.Template == nil && !f.isUnread():
		c.shortfall = templateMissing
	case f.unsafe() != "":
		c.shortfall = templateUnsafe
	}
	// A fallback that is there stays, whatever became of its template.
	if c.shortfall == "" || f.current != nil {
		return c
	}
	builtIn := choosePage(f, criticalv2.DefaultPage())
	builtIn.pod, builtIn.shortfall = c.pod, c.shortfall
	return builtIn
}

// unsafe says why Pods of the template may not run on behalf of the team that governs the
// Service; empty if they may, or the administrator governs it.
func (f *facts) unsafe() string {
	if f.governor.GetNamespace() == "" || f.Template == nil {
		return ""
	}
	return protection.ForTeam(&f.Template.Template)
}

func choosePage(f *facts, wanted *criticalv2.PageFallback) choice {
	if f.Service.Spec.ClusterIP == corev1.ClusterIPNone {
		return choice{shortfall: headless}
	}
	c := choice{kind: criticalv2.FallbackKindPage, page: wanted}
	c.judgeContent(f)
	return c
}

// announcing is the page while a maintenance is announced. A message goes before the
// team's own content, so that what is wrong with that matters only without one.
func announcing(f *facts) choice {
	c := choice{kind: criticalv2.FallbackKindPage, page: pageOf(&f.governor.Protection().Fallback), announced: f.maintenance.Announcement()}
	if f.maintenance.Spec.Message == "" {
		c.judgeContent(f)
	}
	return c
}

// judgeContent says what is wrong with the team's own content.
func (c *choice) judgeContent(f *facts) {
	switch {
	case c.page.ConfigMapName == "":
	case f.Content == nil:
		c.shortfall = contentMissing
	case !f.Content.Judged:
		c.unjudged = true
	case len(f.Content.Problems) > 0:
		c.shortfall, c.problems = contentInvalid, f.Content.Problems
	}
}

// exclusion is why a Service cannot or must not be protected.
type exclusion string

const (
	terminating      exclusion = "terminating"
	optedOut         exclusion = "opted out"
	externalName     exclusion = "external name"
	noSelector       exclusion = "no selector"
	noTCPPort        exclusion = "no TCP port"
	reservedSelector exclusion = "reserved selector"
)

// excluded is why a Service cannot or must not be protected by a kind of fallback;
// empty if it can.
func excluded(f *facts, kind string) exclusion {
	service := f.Service
	switch {
	case service.DeletionTimestamp != nil:
		return terminating
	case protection.OptedOut(service, f.governor):
		return optedOut
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return externalName
	case len(service.Spec.Selector) == 0:
		return noSelector
	case kind == criticalv2.FallbackKindPage && !f.hasTCPPort():
		return noTCPPort
	case f.selectsReserved():
		return reservedSelector
	default:
		return ""
	}
}

// selectsReserved reports whether the Service selects Pods by a label that only the
// operator sets.
func (s *Snapshot) selectsReserved() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(s.Service.Spec.Selector)), func(key string) bool {
		return strings.HasPrefix(key, criticalv2.ReservedPrefix)
	})
}
