package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/critical-service/operator/internal/protection"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/page"
)

// responderTrouble says why the responder of the namespace does not listen on
// the Service's ports yet.
func (s *Snapshot) responderTrouble() (reason, message string) {
	if s.Settings.NoResponder != "" {
		return criticalv2.ReasonResponderFailing, s.Settings.NoResponder
	}
	if trouble := s.deploymentTrouble(); trouble != "" {
		return criticalv2.ReasonResponderFailing, trouble
	}
	where := s.responderName()
	late := s.untilLate() <= 0
	switch {
	case s.Responder.Deployment == nil && late:
		return criticalv2.ReasonResponderFailing, "The responder, " + where + ", has not been made: the events of the CriticalService say why."
	case s.Responder.Deployment == nil:
		return criticalv2.ReasonResponderStarting, "The responder, " + where + ", is being made."
	case late && s.listenerMissing():
		return criticalv2.ReasonResponderFailing, "The responder, " + where + ", has no listener for the Service: the events of the Service say why."
	default:
		return criticalv2.ReasonResponderStarting, "The responder, " + where + ", does not listen on the Service's ports yet."
	}
}

func (s *Snapshot) responderName() string {
	return fmt.Sprintf("Deployment %q in namespace %q", criticalv2.ResponderName, s.Service.Namespace)
}

// makeWithin is how long the responder's controller may take to make a responder,
// or to give a Service its listeners, before that is called a failure. It tells
// by events only what hinders it.
const makeWithin = time.Minute

// untilLate is how long the responder's controller has left, since the first
// standby slice asked for it.
func (s *Snapshot) untilLate() time.Duration {
	left := makeWithin
	for i := range s.Standby {
		left = min(left, s.Standby[i].CreationTimestamp.Add(makeWithin).Sub(s.Now))
	}
	return left
}

// listenerMissing tells whether a TCP port of the Service has no listener.
func (s *Snapshot) listenerMissing() bool {
	return slices.ContainsFunc(s.Service.Spec.Ports, func(port corev1.ServicePort) bool {
		if s.Responder.Table == nil || !protection.IsTCP(port) {
			return protection.IsTCP(port)
		}
		_, found := s.Responder.Table.Find(s.Service.Name, port.Name)
		return !found
	})
}

// deploymentTrouble says what keeps the responder's Pods from becoming ready; it
// is empty while they start in good order.
func (s *Snapshot) deploymentTrouble() string {
	if s.Responder.Deployment == nil {
		return ""
	}
	where := s.responderName()
	for _, condition := range s.Responder.Deployment.Status.Conditions {
		refused := condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue
		stuck := condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse
		if refused || stuck {
			return fmt.Sprintf("The responder, %s, does not come up: %s", where, condition.Message)
		}
	}
	for i := range s.Responder.Pods {
		pod := &s.Responder.Pods[i]
		if trouble := podTrouble(pod); trouble != "" && !isReady(pod) {
			return fmt.Sprintf("The responder, %s, does not come up: Pod %q: %s.", where, pod.Name, trouble)
		}
	}
	return ""
}

// contentTrouble says why the team's own content cannot be shown as it is. The
// built-in page stands in for what is missing.
func (s *Snapshot) contentTrouble(wanted *criticalv2.PageFallback) (reason, message string) {
	if wanted.ConfigMapName == "" {
		return "", ""
	}
	if s.Content == nil {
		return criticalv2.ReasonPageContentInvalid, fmt.Sprintf(
			"ConfigMap %q does not exist in namespace %q, or does not carry the label %s: %s by which its owner agrees that it is published. The built-in page stands in for it.",
			wanted.ConfigMapName, s.Service.Namespace, criticalv2.LabelResponder, criticalv2.ResponderContent)
	}
	files := map[string][]byte{}
	for key, text := range s.Content.Data {
		files[key] = []byte(text)
	}
	maps.Copy(files, s.Content.BinaryData)
	_, problems := page.Parse(files)
	if len(problems) == 0 {
		return "", ""
	}
	texts := make([]string, 0, len(problems))
	for _, problem := range problems {
		texts = append(texts, problem.String())
	}
	return criticalv2.ReasonPageContentInvalid, fmt.Sprintf(
		"ConfigMap %q is not valid: %s. The built-in page stands in for these parts.", wanted.ConfigMapName, strings.Join(texts, "; "))
}
