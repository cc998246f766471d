package invariant

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/write"
	"github.com/critical-service/operator/internal/protection"
)

// How long something may be found, in addition to the delays of a policy. The operator was perhaps killed a moment
// before, and the machine is a busy one.
const (
	demotionLimit   = 30 * time.Second
	unansweredLimit = 20 * time.Second
	exposedLimit    = time.Minute
	orphanLimit     = time.Minute
	vanishedLimit   = time.Minute
	singleLimit     = time.Minute
	reportedLimit   = time.Minute
)

// Finding is something that must not be, or not for long.
type Finding struct {
	// Invariant is the sentence that does not hold, and Subject for what.
	Invariant, Subject string
	// Limit is how long it may be found.
	Limit time.Duration
}

// String is a finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %q does not hold (allowed for %s)", f.Subject, f.Invariant, f.Limit)
}

// The invariants.
const (
	Demoted   = "a fallback is promoted only while the Service has no ready endpoint of its own"
	Answered  = "a Service for which a fallback is published is answered"
	Covered   = "a protected Service without a ready endpoint of its own is answered"
	Owned     = "an object of the operator has an owner that exists"
	Published = "a published address is that of a Pod of the namespace"
	Single    = "a Service has one fallback Pod at most"
	Reported  = "the status of a policy is of its present generation"
	Untouched = "the operator writes no object of a user"
	Living    = "no process of the operator or of a responder ends by itself"
)

// Findings are what a look has against the invariants.
func Findings(look *Look) []Finding {
	return slices.Concat(demoted(look), unanswered(look), exposed(look), orphans(look), vanished(look), doubled(look), unreported(look),
		touched(look), ended(look))
}

func demoted(look *Look) []Finding {
	var found []Finding
	for _, w := range look.watched() {
		if w.ready == 0 || !w.promoted {
			continue
		}
		limit := demotionLimit
		if w.governor != nil {
			limit += w.governor.Protection().DeactivationDelay.Duration
		}
		found = append(found, Finding{Demoted, "Service " + w.service.Name, limit})
	}
	return found
}

func unanswered(look *Look) []Finding {
	var found []Finding
	for _, w := range look.watched() {
		if w.silent && w.standby > 0 {
			found = append(found, Finding{Answered, "Service " + w.service.Name, unansweredLimit})
		}
	}
	return found
}

func exposed(look *Look) []Finding {
	var found []Finding
	for _, w := range look.watched() {
		if w.silent && w.governor != nil && w.ready == 0 {
			limit := exposedLimit + w.governor.Protection().ActivationDelay.Duration
			found = append(found, Finding{Covered, "Service " + w.service.Name, limit})
		}
	}
	return found
}

// orphans: one owner is enough, as it is for the garbage collector.
func orphans(look *Look) []Finding {
	objects := look.objects()
	living := uids(objects)
	var found []Finding
	for _, object := range objects {
		isOwned := slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return living[owner.UID] })
		if object.operators && !isOwned {
			subject := fmt.Sprintf("%s %s (UID %s)", object.kind, object.GetName(), object.GetUID())
			found = append(found, Finding{Owned, subject, orphanLimit})
		}
	}
	return found
}

func vanished(look *Look) []Finding {
	var found []Finding
	for i := range look.Slices {
		slice := &look.Slices[i]
		if !protection.IsStandby(slice) {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			for _, address := range endpoint.Addresses {
				if !isOfPod(look.Pods, address, endpoint.TargetRef) {
					found = append(found, Finding{Published, fmt.Sprintf("EndpointSlice %s, address %s", slice.Name, address), vanishedLimit})
				}
			}
		}
	}
	return found
}

func isOfPod(pods []corev1.Pod, address string, ref *corev1.ObjectReference) bool {
	return ref != nil && slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
		return pod.UID == ref.UID && slices.Contains(pod.Status.PodIPs, corev1.PodIP{IP: address})
	})
}

// doubled: the Pod that is replaced drains beside the next one.
func doubled(look *Look) []Finding {
	counts := map[string]int{}
	var found []Finding
	for i := range look.Pods {
		pod := &look.Pods[i]
		if !protection.IsFallback(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		service := pod.Labels[criticalv2.LabelFallbackFor]
		counts[service]++
		if counts[service] == 2 {
			found = append(found, Finding{Single, "Service " + service, singleLimit})
		}
	}
	return found
}

func unreported(look *Look) []Finding {
	var found []Finding
	for _, policy := range look.Policies {
		if policy.Observed().ObservedGeneration != policy.GetGeneration() {
			found = append(found, Finding{Reported, policy.PolicyKind().Kind + " " + policy.GetName(), reportedLimit})
		}
	}
	return found
}

// touched: Kubernetes remembers who wrote which field.
func touched(look *Look) []Finding {
	var found []Finding
	for _, object := range look.objects() {
		isBeyond := slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Manager == write.FieldManager && !mayWrite(object, entry)
		})
		if isBeyond && !object.operators {
			found = append(found, Finding{Untouched, object.kind + " " + object.GetName(), 0})
		}
	}
	return found
}

// mayWrite reports whether an entry has only what the operator writes of the objects of a user: the status of policies and of
// Maintenances, and the finalizer that keeps one of these until the workload is given back.
func mayWrite(object object, entry metav1.ManagedFieldsEntry) bool {
	_, isPolicy := object.Object.(criticalv2.Policy)
	_, isMaintenance := object.Object.(*criticalv2.Maintenance)
	switch entry.Subresource {
	case "status":
		return isPolicy || isMaintenance
	case "":
		return isMaintenance && isFinalizerAlone(entry.FieldsV1)
	default:
		return false
	}
}

// isFinalizerAlone reports whether fields are the operator's finalizer and no other. The dot is the list itself.
func isFinalizerAlone(fields *metav1.FieldsV1) bool {
	var set map[string]map[string]map[string]any
	if fields == nil || json.Unmarshal(fields.GetRawBytes(), &set) != nil {
		return false
	}
	finalizers := set["f:metadata"]["f:finalizers"]
	delete(finalizers, ".")
	_, isOurs := finalizers[fmt.Sprintf("v:%q", criticalv2.FinalizerRestore)]
	return isOurs && len(set) == 1 && len(set["f:metadata"]) == 1 && len(finalizers) == 1
}

// ended: what a fault ends is a Pod, and the next one is another. Only what ends by itself is started again in its Pod.
func ended(look *Look) []Finding {
	pods := slices.Clone(look.Operators)
	for i := range look.Pods {
		if protection.IsResponder(&look.Pods[i]) {
			pods = append(pods, look.Pods[i])
		}
	}
	var found []Finding
	for _, pod := range pods {
		for _, status := range pod.Status.ContainerStatuses {
			if status.RestartCount > 0 {
				found = append(found, Finding{Living, fmt.Sprintf("Pod %s, container %s: %v", pod.Name, status.Name, status.LastTerminationState.Terminated), 0})
			}
		}
	}
	return found
}
