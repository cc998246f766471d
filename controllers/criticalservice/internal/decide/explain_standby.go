package decide

import (
	"fmt"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// standbyRules are about a fallback that the operator publishes: a page, a backup
// Service, or a Pod that answers on after the outage.
var standbyRules = slices.Concat(
	[]rule{
		{ // What is published answers in the outage.
			when:  func(d *decision) bool { return d.down() && d.somewhere },
			state: is(criticalv2.StateCovered), reasonOf: serving,
			message: func(d *decision) string {
				return fmt.Sprintf("The Service has no ready endpoint of its own; %s answers.", d.answerer())
			},
			besides: []remark{missingFamily, shortOf},
		},
		{ // What is published would answer at once.
			when:  func(d *decision) bool { return d.up() && d.everywhere && d.ready() },
			state: is(criticalv2.StateArmed), reason: criticalv2.ReasonStandbyReady,
			message: func(d *decision) string {
				return fmt.Sprintf("The Service answers by itself; %s would answer in its place at once.", d.answerer())
			},
			besides: []remark{shortOf},
		},
		{ // Nothing can answer.
			when:  func(d *decision) bool { return d.want.kind == "" },
			state: unprotected, reasonOf: shortfallReason, message: shortfallMessage,
		},
	},
	within(lacks(criticalv2.FallbackKindPage), pageRules),
	within(lacks(criticalv2.FallbackKindService), backupRules),
	[]rule{
		{
			when:  func(d *decision) bool { return d.slices.writes() },
			state: unprotected, reason: criticalv2.ReasonSlicePending, provisional: true,
			message: says("The standby endpoint is being published."),
			besides: []remark{shortOf},
		},
		{
			when: always, state: unprotected, reason: criticalv2.ReasonFamilyMissing, message: (*decision).familyMissing,
			besides: []remark{shortOf},
		},
	},
)

// lacks holds where a kind of fallback is wanted and cannot answer.
func lacks(kind string) func(*decision) bool {
	return func(d *decision) bool { return d.want.kind == kind && !d.ready() }
}

// serving is the reason of a fallback that answers: by itself, or promoted for
// everyone.
func serving(d *decision) string {
	if d.promoted || d.want.byLabels() {
		return criticalv2.ReasonFallbackServing
	}
	return criticalv2.ReasonStandbyServing
}

// missingFamily adds that a fallback answers in one IP family only.
func missingFamily(d *decision, said standing) standing {
	if !d.everywhere && !d.slices.writes() {
		said.reason = criticalv2.ReasonFamilyMissing
		said.message += " " + d.familyMissing()
	}
	return said
}

// familyMissing names the IP families of the Service in which nothing is published.
func (d *decision) familyMissing() string {
	missing := slices.DeleteFunc(render.Families(d.Service), func(family discoveryv1.AddressType) bool {
		slice := d.standby(family)
		return slice != nil && len(slice.Endpoints) > 0
	})
	var names []string
	for _, family := range missing {
		names = append(names, string(family))
	}
	return fmt.Sprintf("The fallback has no %s address, and the Service has: clients of that family get no answer.", strings.Join(names, " and no "))
}

// shortOf adds that this is not what was wanted, and why. Content that is not valid
// is no matter while nothing answers at all.
func shortOf(d *decision, said standing) standing {
	if d.want.shortfall == "" {
		return said
	}
	answers := said.state == criticalv2.StateArmed || said.state == criticalv2.StateCovered
	reason := shortfallReason(d)
	if answers || reason != criticalv2.ReasonPageContentInvalid {
		said.reason = reason
	}
	said.message = strings.TrimSpace(shortfallMessage(d) + " " + said.message)
	return said
}

var shortfallReasons = map[shortfall]string{
	templateForbidden: criticalv2.ReasonTemplateForbidden,
	templateMissing:   criticalv2.ReasonTemplateNotFound,
	headless:          criticalv2.ReasonHeadlessUnsupported,
	contentMissing:    criticalv2.ReasonPageContentInvalid,
	contentInvalid:    criticalv2.ReasonPageContentInvalid,
}

func shortfallReason(d *decision) string { return shortfallReasons[d.want.shortfall] }

func shortfallMessage(d *decision) string {
	switch d.want.shortfall {
	case templateForbidden:
		return fmt.Sprintf("PodTemplate %s may not be used here: take one from the operator's namespace %q or from the Service's own.",
			d.templateName(), d.Settings.OperatorNamespace) + d.builtInPage()
	case templateMissing:
		return d.templateNotFound() + d.builtInPage()
	case headless:
		return "Clients of a headless Service dial the port of the Pod itself, on which the responder does not listen: use a podTemplate fallback."
	case contentMissing:
		return fmt.Sprintf("ConfigMap %q does not exist in namespace %q, or does not carry the label %s: %s by which its owner agrees that it is published. The built-in page stands in for it.",
			d.want.page.ConfigMapName, d.Service.Namespace, criticalv2.LabelResponder, criticalv2.ResponderContent)
	case contentInvalid:
		var texts []string
		for _, problem := range d.contentProblems(d.want.page) {
			texts = append(texts, problem.String())
		}
		return fmt.Sprintf("ConfigMap %q is not valid: %s. The built-in page stands in for these parts.", d.want.page.ConfigMapName, strings.Join(texts, "; "))
	default:
		return ""
	}
}

// builtInPage says that the page stands in for a PodTemplate, if it does.
func (d *decision) builtInPage() string {
	if d.want.kind == criticalv2.FallbackKindPage {
		return " The built-in page stands in for it."
	}
	return ""
}
