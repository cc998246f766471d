package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// portMissing says that Pods are ready and that no port of the Service leads to
// one, because each targetPort is a name that none of their container ports has.
func (p *podsOf) portMissing(service *corev1.Service) *Diagnosis {
	if len(p.ready) == 0 || len(service.Spec.Ports) == 0 || p.more {
		return nil
	}
	for _, port := range service.Spec.Ports {
		if slices.ContainsFunc(p.ready, func(pod corev1.Pod) bool { return leads(port, &pod) }) {
			return nil
		}
	}
	port := service.Spec.Ports[0]
	which := fmt.Sprintf("port %d", port.Port)
	if port.Name != "" {
		which = "port " + name(port.Name)
	}
	found := conclude(criticalv2.CauseTargetPortMissing, subject(kindService, service.Name), fmt.Sprintf(
		"%s of Service %q leads to the targetPort %q, and no container port of Pod %q%s has that name%s",
		strings.ToUpper(which[:1])+which[1:], service.Name, port.TargetPort.StrVal, p.ready[0].Name, p.share(len(p.ready)), portNames(&p.ready[0])), "")
	found.Port = port.Port
	return found
}

// leads reports whether a port of a Service leads to a Pod. Containers that run all
// the time count, as they do for the endpoint controller.
func leads(port corev1.ServicePort, pod *corev1.Pod) bool {
	if port.TargetPort.Type == intstr.Int {
		return true
	}
	protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
	return slices.ContainsFunc(portsOf(pod), func(declared corev1.ContainerPort) bool {
		return declared.Name == port.TargetPort.StrVal && cmp.Or(declared.Protocol, corev1.ProtocolTCP) == protocol
	})
}

func portsOf(pod *corev1.Pod) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	for _, container := range pod.Spec.Containers {
		ports = append(ports, container.Ports...)
	}
	for _, container := range pod.Spec.InitContainers {
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			ports = append(ports, container.Ports...)
		}
	}
	return ports
}

// portNames says which names there are instead.
func portNames(pod *corev1.Pod) string {
	var names []string
	for _, port := range portsOf(pod) {
		if port.Name != "" {
			names = append(names, name(port.Name))
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return ""
	}
	return "; there is " + strings.Join(slices.Compact(names), ", ")
}
