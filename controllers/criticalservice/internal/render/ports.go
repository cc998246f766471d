package render

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PortMismatch is a port of a Service that a template does not serve.
type PortMismatch struct {
	// Port is the Service's port.
	Port corev1.ServicePort
	// Declared lists the container ports that the template declares, as text.
	Declared []string
}

// String names both ports: what the Service dials and what the template has.
func (m PortMismatch) String() string {
	declared := "declares no port"
	if len(m.Declared) > 0 {
		declared = "declares only " + strings.Join(m.Declared, ", ")
	}
	target := TargetPort(m.Port)
	return fmt.Sprintf("port %s dials targetPort %s, but the template %s", PortText(m.Port), target.String(), declared)
}

// PortMismatches lists the ports of the Service that the template would not
// serve. A template that declares no port at all is trusted to listen on every
// numeric target port; a named target port cannot be found without a declared
// port of that name, and Kubernetes would publish an endpoint without it.
func PortMismatches(service *corev1.Service, template *corev1.PodTemplate) []PortMismatch {
	declared := declaredPorts(&template.Template.Spec)
	var missing []PortMismatch
	for _, port := range service.Spec.Ports {
		target := TargetPort(port)
		if len(declared) == 0 && target.Type == intstr.Int {
			continue
		}
		if !slices.ContainsFunc(declared, func(c corev1.ContainerPort) bool { return serves(c, target, port.Protocol) }) {
			missing = append(missing, PortMismatch{Port: port, Declared: texts(declared)})
		}
	}
	return missing
}

// PodPorts are the ports of a slice that publishes a Pod of the template, and the
// ports of the Service that the Pod does not serve. The number in a slice is free,
// so that the Pod need not listen on the very target port: a container port of
// that name or number serves, else one that has the name of the Service's port,
// else the only port of both. Clients of a headless Service dial the target port
// itself, whatever a slice says.
func PodPorts(service *corev1.Service, spec *corev1.PodSpec) ([]discoveryv1.EndpointPort, []PortMismatch) {
	declared := declaredPorts(spec)
	var published []discoveryv1.EndpointPort
	var missing []PortMismatch
	for _, port := range service.Spec.Ports {
		number, found := podPort(service, port, declared)
		target := TargetPort(port)
		if service.Spec.ClusterIP == corev1.ClusterIPNone && target.Type == intstr.Int && number != target.IntVal {
			found = false
		}
		if !found {
			missing = append(missing, PortMismatch{Port: port, Declared: texts(declared)})
			continue
		}
		published = append(published, EndpointPort(port, number))
	}
	return published, missing
}

func podPort(service *corev1.Service, port corev1.ServicePort, declared []corev1.ContainerPort) (number int32, found bool) {
	target := TargetPort(port)
	if len(declared) == 0 && target.Type == intstr.Int {
		return target.IntVal, true
	}
	for _, wanted := range []intstr.IntOrString{target, intstr.FromString(port.Name)} {
		for _, candidate := range declared {
			if serves(candidate, wanted, port.Protocol) {
				return candidate.ContainerPort, true
			}
		}
	}
	if len(declared) == 1 && len(service.Spec.Ports) == 1 && protocolOf(declared[0].Protocol) == protocolOf(port.Protocol) {
		return declared[0].ContainerPort, true
	}
	return 0, false
}

// TargetPort is the port that the Service dials in its Pods; unset means the
// same number as the Service's own port.
func TargetPort(port corev1.ServicePort) intstr.IntOrString {
	if port.TargetPort.Type == intstr.Int && port.TargetPort.IntVal == 0 {
		return intstr.FromInt32(port.Port)
	}
	return port.TargetPort
}

// declaredPorts lists the ports among which Kubernetes looks for a target port:
// those of the containers, and of init containers that keep running (sidecars).
func declaredPorts(spec *corev1.PodSpec) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	for _, container := range spec.Containers {
		ports = append(ports, container.Ports...)
	}
	for _, container := range spec.InitContainers {
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			ports = append(ports, container.Ports...)
		}
	}
	return ports
}

// MayListen reports whether a Pod may listen on a port: it declares that it does, or
// declares no port at all and is trusted.
func MayListen(spec *corev1.PodSpec, number int32, protocol corev1.Protocol) bool {
	declared := declaredPorts(spec)
	return len(declared) == 0 || slices.ContainsFunc(declared, func(c corev1.ContainerPort) bool {
		return serves(c, intstr.FromInt32(number), protocol)
	})
}

func serves(declared corev1.ContainerPort, target intstr.IntOrString, protocol corev1.Protocol) bool {
	if protocolOf(declared.Protocol) != protocolOf(protocol) {
		return false
	}
	if target.Type == intstr.String {
		return declared.Name == target.StrVal
	}
	return declared.ContainerPort == target.IntVal
}

func protocolOf(protocol corev1.Protocol) corev1.Protocol {
	if protocol == "" {
		return corev1.ProtocolTCP
	}
	return protocol
}

// PortText is a port of a Service in words.
func PortText(port corev1.ServicePort) string {
	text := fmt.Sprintf("%d/%s", port.Port, protocolOf(port.Protocol))
	if port.Name != "" {
		text += fmt.Sprintf(" (%s)", port.Name)
	}
	return text
}

func texts(ports []corev1.ContainerPort) []string {
	var texts []string
	for _, port := range ports {
		texts = append(texts, containerPortText(port))
	}
	return texts
}

func containerPortText(port corev1.ContainerPort) string {
	text := fmt.Sprintf("%d/%s", port.ContainerPort, protocolOf(port.Protocol))
	if port.Name != "" {
		text += fmt.Sprintf(" (%s)", port.Name)
	}
	return text
}
