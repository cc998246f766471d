package decide

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/protection"
)

// makeWithin is how long the responder's controller may take to make a responder,
// or to give a Service its listeners, before that is called a failure. Its events
// report only what blocks it.
const makeWithin = time.Minute

// pageTarget is the responder of the namespace: its Pods that can answer, and so
// listen on every port of their range. The responder answers TCP only.
func pageTarget(f *facts) target {
	var t target
	ports := f.listeners()
	for _, pod := range preferred(f.Responder.Pods) {
		if listens(pod, ports) {
			t.addPod(pod, ports)
		}
	}
	return t
}

// listeners are the ports of the responder that answer for the Service. One that was
// renamed is published under both names until it has a listener of its own: proxies
// learn of the Service and of its slices one after the other.
func (s *Snapshot) listeners() []discoveryv1.EndpointPort {
	var ports []discoveryv1.EndpointPort
	for _, port := range s.Service.Spec.Ports {
		found := s.listener(port)
		if found == nil {
			continue
		}
		ports = append(ports, render.EndpointPort(port, found.Port))
		if found.PortName != port.Name {
			port.Name = found.PortName
			ports = append(ports, render.EndpointPort(port, found.Port))
		}
	}
	return ports
}

// listener is what stands in for a port of the Service: the listener of its name, or
// the one from before it was renamed, which has its number and a name that no port
// has any more; nil if there is none.
func (s *Snapshot) listener(port corev1.ServicePort) *listener.Listener {
	if !protection.IsTCP(port) {
		return nil
	}
	named := func(name string) func(corev1.ServicePort) bool {
		return func(p corev1.ServicePort) bool { return p.Name == name }
	}
	var former *listener.Listener
	for i := range s.Responder.Listeners {
		l := &s.Responder.Listeners[i]
		if l.PortName == port.Name {
			return l
		}
		if l.ServicePort == port.Port && !slices.ContainsFunc(s.Service.Spec.Ports, named(l.PortName)) {
			former = l
		}
	}
	return former
}

func listens(pod *corev1.Pod, ports []discoveryv1.EndpointPort) bool {
	numbers, err := listener.ParseRange(pod.Annotations[criticalv2.AnnotationListeners])
	return err == nil && !slices.ContainsFunc(ports, func(port discoveryv1.EndpointPort) bool { return !numbers.Contains(*port.Port) })
}

// lacksListener reports whether a TCP port of the Service has no listener.
func (s *Snapshot) lacksListener() bool {
	return slices.ContainsFunc(s.Service.Spec.Ports, func(port corev1.ServicePort) bool {
		return protection.IsTCP(port) && s.listener(port) == nil
	})
}

// mayHavePage reports whether the responder can stand in for the Service here.
func (s *Snapshot) mayHavePage() bool {
	return s.Settings.NoResponder == "" && protection.CanHavePage(s.Service)
}

func (s *Snapshot) hasTCPPort() bool {
	return slices.ContainsFunc(s.Service.Spec.Ports, protection.IsTCP)
}

// responderDueIn is how long the responder's controller has left, since the first
// standby slice asked for it.
func (s *Snapshot) responderDueIn() time.Duration {
	left := makeWithin
	for i := range s.Standby {
		left = min(left, s.Standby[i].CreationTimestamp.Add(makeWithin).Sub(s.Now))
	}
	return left
}

// responderProblem says what keeps the responder's Pods from becoming ready; it is
// empty while they start in good order.
func (s *Snapshot) responderProblem() string {
	if s.Responder.Deployment == nil {
		return ""
	}
	if problem := DeploymentProblem(s.Responder.Deployment); problem != "" {
		return problem
	}
	for i := range s.Responder.Pods {
		pod := &s.Responder.Pods[i]
		if problem := podProblem(pod); problem != "" && !protection.CanAnswer(pod) {
			return fmt.Sprintf("Pod %q: %s.", pod.Name, problem)
		}
	}
	return ""
}

// remedy says what to do about a responder that does not come up.
func (s *Snapshot) remedy() string {
	if len(s.Responder.Pods) == 0 {
		return " Allow its Pods (quota, limit range, Pod Security level, admission policy); the operator retries."
	}
	return fmt.Sprintf(" See `kubectl describe pod -n %s -l %s=%s`: the image must be within reach (RESPONDER_IMAGE, RESPONDER_IMAGE_PULL_SECRETS), and a node must have room.",
		s.Service.Namespace, criticalv2.LabelResponder, criticalv2.ResponderServer)
}

// DeploymentProblem says what a Deployment reports that keeps its Pods from becoming ready;
// it is empty if nothing does.
func DeploymentProblem(deployment *appsv1.Deployment) string {
	for _, condition := range deployment.Status.Conditions {
		refused := condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue
		stuck := condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse
		if refused || stuck {
			return condition.Message
		}
	}
	return ""
}
