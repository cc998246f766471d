package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
	"github.com/critical-service/operator/internal/protection"
)

// fallback describes what stands in for the application.
func (f *facts) fallback(governor criticalv2.Policy, published []endpoints.Endpoint) *Fallback {
	wanted := kindOf(&governor.Protection().Fallback)
	result := &Fallback{Kind: wanted, Message: describe(&governor.Protection().Fallback), Promoted: slices.ContainsFunc(published, isPromoted)}
	for i := range f.slices {
		slice := &f.slices[i]
		if !protection.IsStandby(slice) {
			continue
		}
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
	ours := protection.OursAmong(f.fallbacks)
	published, page := false, false
	for i := range f.slices {
		slice := &f.slices[i]
		byFallback, byApplication := listedBy(slice, ours)
		published = published || byFallback && len(slice.Endpoints) > 0
		page = page || protection.IsOfPage(slice)
		for _, candidate := range slice.Ports {
			if candidate.Port == nil || ptr.Deref(candidate.Name, "") != port.Name {
				continue
			}
			if byFallback {
				result.FallbackPort = *candidate.Port
			}
			if byApplication && !slices.Contains(result.ApplicationPorts, *candidate.Port) {
				result.ApplicationPorts = append(result.ApplicationPorts, *candidate.Port)
			}
		}
	}
	slices.Sort(result.ApplicationPorts)
	if result.FallbackPort == 0 {
		result.Message = unanswered(port, published, page)
	}
	return result
}

// listedBy reports whose endpoints a slice lists: a slice of Kubernetes has those of the
// application, and a fallback Pod that the Service selects, beside them or alone.
func listedBy(slice *discoveryv1.EndpointSlice, ours protection.Ours) (fallback, application bool) {
	if protection.IsStandby(slice) {
		return true, false
	}
	application = len(slice.Endpoints) == 0
	for i := range slice.Endpoints {
		if ours.Lists(&slice.Endpoints[i]) {
			fallback = true
		} else {
			application = true
		}
	}
	return fallback, application
}

// unanswered says why a port has no fallback: published means that there is one for
// other ports, and page that it is the page.
func unanswered(port *corev1.ServicePort, published, page bool) string {
	switch {
	case page && !protection.IsTCP(*port):
		return "the page answers TCP only"
	case published:
		return "the fallback does not listen for this port"
	default:
		return "no fallback is published now"
	}
}
