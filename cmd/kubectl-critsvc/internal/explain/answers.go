package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
)

// answer says what answers now, and what would.
func (v *View) answer(found *facts) {
	if len(found.slices) == 0 {
		v.Answers = Answers{answersUnknown, "Kubernetes has published no EndpointSlice for the Service, or you may not read it."}
		return
	}
	ready := v.names(func(e endpoints.Endpoint) bool { return e.Source == endpoints.Application && e.Ready })
	promoted := v.names(func(e endpoints.Endpoint) bool { return e.Source == endpoints.Fallback && e.Ready })
	standby := v.names(func(e endpoints.Endpoint) bool { return e.Source == endpoints.Fallback && e.Serving })
	if len(ready) == 0 {
		if v.Status != nil {
			up := v.Status.State == criticalv2.StateArmed || v.Status.State == criticalv2.StateArming
			v.Status.Outdated = up && v.Status.Reason != criticalv2.ReasonEndpointsUnknown
		}
		v.answerInOutage(promoted, standby)
		return
	}
	v.Answers = Answers{answersApplication, fmt.Sprintf("The application answers: %s.", listed(ready))}
	if len(promoted) > 0 {
		v.Answers.Message += fmt.Sprintf(" Beside it, the fallback answers a part of the requests (%s), until it is demoted.", listed(promoted))
	}
	v.Next = v.next(standby)
}

// answerInOutage says what answers while no endpoint of the application is ready.
func (v *View) answerInOutage(promoted, standby []string) {
	leaving := v.names(func(e endpoints.Endpoint) bool {
		return e.Source == endpoints.Application && !e.Ready && e.Serving && e.Terminating
	})
	switch {
	case len(promoted) > 0:
		v.Answers = Answers{answersFallback, fmt.Sprintf("The fallback answers, not the application: %s.", listed(promoted))}
	case len(standby) > 0:
		v.Answers = Answers{answersFallback, fmt.Sprintf("The fallback answers, not the application: %s. It is not promoted: only clients that go through "+
			"kube-proxy or Cilium are answered, and not those of consumers that use ready endpoints alone, as most ingress controllers.", listed(standby))}
	case len(leaving) > 0:
		v.Answers = Answers{answersApplication, fmt.Sprintf("Only Pods that are shutting down answer, and not for long: %s.", listed(leaving))}
	default:
		v.Answers = Answers{answersNothing, "Nothing answers: there is no endpoint that is ready, neither of the application nor of a fallback."}
	}
	if v.Answers.By == answersFallback && len(leaving) > 0 {
		v.Answers.Message += fmt.Sprintf(" Pods of the application that are shutting down may still answer a part of the requests: %s.", listed(leaving))
	}
}

// next says what would happen in an outage.
func (v *View) next(standby []string) string {
	switch {
	case v.Governor == nil:
		return "Nothing would answer: no CriticalService matches the Service."
	case v.Status == nil:
		return "It is not known: see the notices."
	case v.Status.State == criticalv2.StateIgnored:
		return "Nothing would answer: the Service is ignored."
	case len(standby) > 0 && v.isSilent():
		return fmt.Sprintf("The fallback stands by (%s), and may not answer: it did not pass the last self-test.", listed(standby))
	case v.Status.State == criticalv2.StateArming:
		return "Nothing would answer: " + v.Status.Message
	case len(standby) > 0:
		return fmt.Sprintf("The fallback would answer at once: %s.", listed(standby))
	default:
		return "A fallback Pod would be made then, which takes as long as a Pod takes to start."
	}
}

// names are the Pods of some endpoints, or their addresses where no Pod is named.
func (v *View) names(chosen func(endpoints.Endpoint) bool) []string {
	var names []string
	for _, endpoint := range v.Endpoints {
		name := "Pod " + endpoint.Pod
		if endpoint.Pod == "" {
			name = endpoint.Address
		}
		if chosen(endpoint) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// mostListed is how many names a sentence has.
const mostListed = 3

func listed(names []string) string {
	if more := len(names) - mostListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// fallback describes what stands in for the application.
func (f *facts) fallback(governor *criticalv2.CriticalService) *Fallback {
	wanted := kindOf(&governor.Spec.Fallback)
	result := &Fallback{Kind: wanted, Message: describe(&governor.Spec.Fallback)}
	for i := range f.slices {
		slice := &f.slices[i]
		if !endpoints.IsStandby(slice) {
			continue
		}
		result.Promoted = result.Promoted || slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Ready, true) })
		if kind := slice.Labels[criticalv2.LabelFallbackKind]; kind != "" && kind != wanted {
			result.Kind, result.Wanted = kind, wanted
		}
	}
	if result.Wanted != "" {
		result.Message = fmt.Sprintf("a %s stands in for what is wanted: %s", result.Kind, result.Message)
	}
	return result
}

func kindOf(fallback *criticalv2.Fallback) string {
	switch {
	case fallback.PodTemplate != nil:
		return criticalv2.FallbackKindPodTemplate
	case fallback.Service != nil:
		return criticalv2.FallbackKindService
	default:
		return criticalv2.FallbackKindPage
	}
}

func describe(fallback *criticalv2.Fallback) string {
	switch {
	case fallback.PodTemplate != nil:
		return describeTemplate(fallback.PodTemplate)
	case fallback.Service != nil:
		return "the ready endpoints of Service " + fallback.Service.Name
	default:
		return describePage(fallback.Page)
	}
}

func describeTemplate(template *criticalv2.PodTemplateFallback) string {
	text := "a Pod of the operator's own PodTemplate (its setting POD_TEMPLATE)"
	if template.Name != "" {
		text = "a Pod of PodTemplate " + template.Name
		if template.Namespace != "" {
			text = "a Pod of PodTemplate " + template.Namespace + "/" + template.Name
		}
	}
	if template.Activation == criticalv2.ActivationStandby {
		text += ", running ahead of time"
	} else {
		text += ", made in an outage"
	}
	if template.Publish == criticalv2.PublishSelectorLabels {
		text += ", with the labels of the Service's selector"
	}
	return text
}

func describePage(page *criticalv2.PageFallback) string {
	if page == nil {
		page = criticalv2.DefaultPage()
	}
	text := fmt.Sprintf("the built-in page with status %d", page.StatusCode)
	if seconds := ptr.Deref(page.RetryAfterSeconds, 0); seconds > 0 {
		text += fmt.Sprintf(", Retry-After %d s", seconds)
	}
	if page.ConfigMapName != "" {
		text += ", content of ConfigMap " + page.ConfigMapName
	}
	return text
}

// ports are the ports of the Service, each with what it leads to.
func (f *facts) ports() []Port {
	ports := make([]Port, 0, len(f.service.Spec.Ports))
	for i := range f.service.Spec.Ports {
		ports = append(ports, f.port(&f.service.Spec.Ports[i]))
	}
	return ports
}

func (f *facts) port(port *corev1.ServicePort) Port {
	result := Port{
		Name: port.Name, Protocol: string(port.Protocol), Port: port.Port, NodePort: port.NodePort, TargetPort: port.TargetPort.String(),
	}
	standby, page := false, false
	for i := range f.slices {
		slice := &f.slices[i]
		ours := endpoints.IsStandby(slice)
		standby = standby || ours && len(slice.Endpoints) > 0
		page = page || ours && slice.Labels[criticalv2.LabelFallbackKind] == criticalv2.FallbackKindPage
		for _, published := range slice.Ports {
			switch {
			case published.Port == nil || ptr.Deref(published.Name, "") != port.Name:
			case ours:
				result.FallbackPort = *published.Port
			case !slices.Contains(result.ApplicationPorts, *published.Port):
				result.ApplicationPorts = append(result.ApplicationPorts, *published.Port)
			}
		}
	}
	slices.Sort(result.ApplicationPorts)
	if result.FallbackPort == 0 {
		result.Message = unanswered(port, standby, page)
	}
	return result
}

// unanswered says why a port has no fallback: standby is whether there is one for
// other ports, and page whether it is the page.
func unanswered(port *corev1.ServicePort, standby, page bool) string {
	switch {
	case page && port.Protocol != corev1.ProtocolTCP:
		return "the page answers TCP only"
	case standby:
		return "the fallback does not listen for this port"
	default:
		return "no fallback is published now"
	}
}

// isStandby reports whether an endpoint waits for an outage.
func isStandby(endpoint endpoints.Endpoint) bool {
	return endpoint.Source == endpoints.Fallback && !endpoint.Ready && endpoint.Serving && endpoint.Terminating
}
