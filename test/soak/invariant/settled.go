package invariant

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// Unsettled is what keeps a world from being as it is before all faults, and has to be after them: every Service answers
// by itself, its fallback is prepared and not promoted, the operator runs, and there is nothing against an invariant.
func Unsettled(look *Look) []string {
	var problems []string
	for _, finding := range Findings(look) {
		problems = append(problems, finding.String())
	}
	if len(look.Operators) == 0 {
		problems = append(problems, "the operator has no Pods")
	}
	for i := range look.Operators {
		if pod := &look.Operators[i]; protection.PodCondition(pod, corev1.PodReady).Status != corev1.ConditionTrue {
			problems = append(problems, fmt.Sprintf("Pod %s of the operator is not ready", pod.Name))
		}
	}
	for _, w := range look.watched() {
		if problem := w.unsettled(look); problem != "" {
			problems = append(problems, fmt.Sprintf("Service %s %s", w.service.Name, problem))
		}
	}
	return problems
}

func (w *watched) unsettled(look *Look) string {
	switch {
	case w.governor == nil:
		return "is not protected"
	case w.ready == 0:
		return "has no ready endpoint of its own"
	case w.silent:
		return "is not answered"
	case w.promoted:
		return "has a fallback that is promoted"
	case !isOnDemand(w.governor) && w.standby == 0:
		return "has no standby"
	case isOnDemand(w.governor) && hasFallbackPod(look, w.service.Name):
		return "has a fallback Pod, which is made on demand"
	}
	return ""
}

func isOnDemand(policy criticalv2.Policy) bool {
	template := policy.Protection().Fallback.PodTemplate
	return template != nil && template.Activation != criticalv2.ActivationStandby
}

func hasFallbackPod(look *Look, service string) bool {
	for i := range look.Pods {
		if protection.IsFallback(&look.Pods[i]) && look.Pods[i].Labels[criticalv2.LabelFallbackFor] == service {
			return true
		}
	}
	return false
}

// Written are the objects of the operator that were made, changed or deleted between two looks, and the policies, whose
// status it writes. In a settled world nothing is. Pods do not count: their status is the kubelet's.
func Written(before, after *Look) []string {
	was, is := versions(before), versions(after)
	var names []string
	for name, version := range was {
		if is[name] != version {
			names = append(names, name)
		}
	}
	for name := range is {
		if _, isKnown := was[name]; !isKnown {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func versions(look *Look) map[string]string {
	found := map[string]string{}
	for _, object := range look.objects() {
		_, isPolicy := object.Object.(criticalv2.Policy)
		if object.operators && object.kind != "Pod" || isPolicy {
			found[object.kind+" "+object.GetName()] = string(object.GetUID()) + " " + object.GetResourceVersion()
		}
	}
	return found
}

// Remaining are the objects of the operator, which go with the last policy.
func Remaining(look *Look) []string {
	var names []string
	for _, object := range look.objects() {
		if object.operators {
			names = append(names, object.kind+" "+object.GetName())
		}
	}
	return names
}
