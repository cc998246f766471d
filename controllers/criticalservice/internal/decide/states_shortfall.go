package decide

import (
	"fmt"
	"strings"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// shortOf adds that this is not what was wanted, and why. Content that is not valid
// is no matter while nothing answers at all. Whether it is valid may not be known yet, nor
// what a PodTemplate says.
func shortOf(d *decision, said standing) standing {
	said.provisional = said.provisional || d.want.unjudged || d.want.isPod() && len(d.Unread) > 0
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
	podsForbidden:     criticalv2.ReasonPodsForbidden,
	templateForbidden: criticalv2.ReasonTemplateForbidden,
	templateUnsafe:    criticalv2.ReasonTemplateForbidden,
	templateMissing:   criticalv2.ReasonTemplateNotFound,
	templateTooLarge:  criticalv2.ReasonTemplateNotFound,
	headless:          criticalv2.ReasonHeadlessUnsupported,
	contentMissing:    criticalv2.ReasonPageContentInvalid,
	contentInvalid:    criticalv2.ReasonPageContentInvalid,
}

func shortfallReason(d *decision) string { return shortfallReasons[d.want.shortfall] }

func shortfallMessage(d *decision) string {
	switch d.want.shortfall {
	case podsForbidden:
		return d.Settings.NoPods + d.replacement()
	case templateForbidden:
		return fmt.Sprintf("PodTemplate %s may not be used here: take one from the operator's namespace %q or from the Service's own.",
			d.templateName(), d.Settings.OperatorNamespace) + d.replacement()
	case templateUnsafe:
		return fmt.Sprintf("PodTemplate %s may not be used by a ServiceFallback: %s.", d.templateName(), d.unsafe()) + d.replacement()
	case templateMissing:
		return d.templateNotFound() + d.replacement()
	case templateTooLarge:
		return fmt.Sprintf("PodTemplate %s has more than %d KiB, or very many labels or ports, and is not used: move what is large into a ConfigMap that its Pods mount.",
			d.templateName(), MaxTemplate>>10) + d.replacement()
	case headless:
		return "Clients of a headless Service dial the port of the Pod itself, on which the responder does not listen: use a podTemplate fallback."
	case contentMissing:
		return fmt.Sprintf("ConfigMap %q does not exist in namespace %q, or does not carry the label %s: %s by which its owner agrees that it is published. The built-in page stands in for it.",
			d.want.page.ConfigMapName, d.Service.Namespace, criticalv2.LabelResponder, criticalv2.ResponderContent)
	case contentInvalid:
		var texts []string
		for _, problem := range d.want.problems {
			texts = append(texts, problem.String())
		}
		return fmt.Sprintf("ConfigMap %q is not valid: %s. The built-in page stands in for these parts.", d.want.page.ConfigMapName, strings.Join(texts, "; "))
	default:
		return ""
	}
}

// replacement says what stands in for a PodTemplate, if anything does.
func (d *decision) replacement() string {
	switch {
	case d.want.kind == criticalv2.FallbackKindPage:
		return " The built-in page stands in for it."
	case d.want.isPod():
		return " The Pod that was made before stays, and no other can be made."
	default:
		return ""
	}
}

// templateName is the PodTemplate that the governor means.
func (d *decision) templateName() string {
	return d.Settings.Templates().Named(d.governor).String()
}

func (d *decision) templateNotFound() string {
	name := d.Settings.Templates().Named(d.governor)
	advice := "name another in spec.fallback.podTemplate"
	if name == d.Settings.Template {
		advice = "name another with POD_TEMPLATE and POD_TEMPLATE_NS"
	}
	return fmt.Sprintf("PodTemplate %q does not exist in namespace %q: create it, or %s.", name.Name, name.Namespace, advice)
}
