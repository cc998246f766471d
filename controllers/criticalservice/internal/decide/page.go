package decide

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/protection"
)

// makeWithin is how long the responder's controller may take to make a responder,
// or to give a Service its listeners, before that is called a failure. Its events
// report only what blocks it.
const makeWithin = time.Minute

// pageTarget is the responder of the namespace: its Pods that are ready, and so
// listen on every port of their range. The responder answers TCP only.
func pageTarget(f *facts) target {
	var t target
	var numbers []int32
	for _, port := range f.Service.Spec.Ports {
		if number, assigned := f.listener(port); assigned && protection.IsTCP(port) {
			numbers = append(numbers, number)
			t.ports = append(t.ports, render.EndpointPort(port, number))
		}
	}
	for _, pod := range preferred(f.Responder.Pods) {
		if listens(pod, numbers) {
			t.addPod(pod)
		}
	}
	return t
}

// listener is the port on which the responder stands in for one of the Service.
func (s *Snapshot) listener(port corev1.ServicePort) (number int32, assigned bool) {
	if s.Responder.Table == nil {
		return 0, false
	}
	return s.Responder.Table.Find(s.Service.Name, port.Name)
}

func listens(pod *corev1.Pod, numbers []int32) bool {
	ports, err := listener.ParseRange(pod.Annotations[criticalv2.AnnotationListeners])
	return err == nil && len(numbers) > 0 && !slices.ContainsFunc(numbers, func(n int32) bool { return !ports.Contains(n) })
}

// lacksListener reports whether a TCP port of the Service has no listener.
func (s *Snapshot) lacksListener() bool {
	return slices.ContainsFunc(s.Service.Spec.Ports, func(port corev1.ServicePort) bool {
		_, assigned := s.listener(port)
		return protection.IsTCP(port) && !assigned
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

// deploymentProblem says what keeps the responder's Pods from becoming ready; it is
// empty while they start in good order.
func (s *Snapshot) deploymentProblem() string {
	if s.Responder.Deployment == nil {
		return ""
	}
	for _, condition := range s.Responder.Deployment.Status.Conditions {
		refused := condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue
		stuck := condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse
		if refused || stuck {
			return condition.Message
		}
	}
	for i := range s.Responder.Pods {
		pod := &s.Responder.Pods[i]
		if problem := podProblem(pod); problem != "" && !isReady(pod) {
			return fmt.Sprintf("Pod %q: %s.", pod.Name, problem)
		}
	}
	return ""
}
