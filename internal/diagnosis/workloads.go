package diagnosis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// workload is an object that makes Pods.
type workload struct {
	kind string
	metav1.ObjectMeta
	// replicas is how many Pods it should have.
	replicas int32
	// selector chooses them.
	selector *metav1.LabelSelector
	template *corev1.PodTemplateSpec
	// refusal is what a condition says of Pods that could not be created.
	refusal string
	// nodeless is true for a DaemonSet that fits no node.
	nodeless bool
}

// String names the workload in a sentence.
func (w workload) String() string {
	if owner := metav1.GetControllerOf(&w.ObjectMeta); owner != nil {
		return fmt.Sprintf("%s %q of %s %q", w.kind, w.Name, owner.Kind, owner.Name)
	}
	return fmt.Sprintf("%s %q", w.kind, w.Name)
}

// subject is the workload as the subject of a cause.
func (w workload) subject() *criticalv2.CauseSubject { return subject(w.kind, w.Name) }

// workloads lists all that makes Pods, in order. ReplicaSets of a Deployment are
// left out, because the Deployment says what they do.
func (e *Evidence) workloads() []workload {
	var all []workload
	for i := range e.Deployments {
		d := &e.Deployments[i]
		all = append(all, workload{
			kind: "Deployment", ObjectMeta: d.ObjectMeta, replicas: wanted(d.Spec.Replicas),
			selector: d.Spec.Selector, template: &d.Spec.Template,
			refusal: refusalOf(d.Status.Conditions, func(c appsv1.DeploymentCondition) (bool, string) {
				return c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue, c.Message
			}),
		})
	}
	for i := range e.StatefulSets {
		s := &e.StatefulSets[i]
		all = append(all, workload{
			kind: "StatefulSet", ObjectMeta: s.ObjectMeta, replicas: wanted(s.Spec.Replicas),
			selector: s.Spec.Selector, template: &s.Spec.Template,
		})
	}
	for i := range e.DaemonSets {
		d := &e.DaemonSets[i]
		seen := d.Status.ObservedGeneration == d.Generation && d.Generation > 0
		all = append(all, workload{
			kind: "DaemonSet", ObjectMeta: d.ObjectMeta, selector: d.Spec.Selector, template: &d.Spec.Template,
			replicas: max(d.Status.DesiredNumberScheduled, 1), nodeless: seen && d.Status.DesiredNumberScheduled == 0,
		})
	}
	for i := range e.ReplicaSets {
		r := &e.ReplicaSets[i]
		if owner := metav1.GetControllerOf(r); owner != nil && owner.Kind == "Deployment" {
			continue
		}
		all = append(all, workload{
			kind: "ReplicaSet", ObjectMeta: r.ObjectMeta, replicas: wanted(r.Spec.Replicas),
			selector: r.Spec.Selector, template: &r.Spec.Template,
			refusal: refusalOf(r.Status.Conditions, func(c appsv1.ReplicaSetCondition) (bool, string) {
				return c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue, c.Message
			}),
		})
	}
	slices.SortStableFunc(all, func(a, b workload) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.Name, b.Name))
	})
	return all
}

func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

func refusalOf[C any](conditions []C, refuses func(C) (bool, string)) string {
	for _, condition := range conditions {
		if does, message := refuses(condition); does {
			return message
		}
	}
	return ""
}

// matching lists the workloads whose Pods a Service selects.
func matching(service *corev1.Service, workloads []workload) []workload {
	return slices.DeleteFunc(slices.Clone(workloads), func(w workload) bool {
		return w.DeletionTimestamp != nil || !Selects(service, w.template.Labels)
	})
}

// Selects reports whether a Service selects Pods with these labels.
func Selects(service *corev1.Service, labels map[string]string) bool {
	for key, value := range service.Spec.Selector {
		if has, found := labels[key]; !found || has != value {
			return false
		}
	}
	return true
}

// longestRetry is how long a controller of Kubernetes waits at most before it
// tries again to create a Pod; only then does it say once more that it could not.
const longestRetry = 20 * time.Minute

// refused says that the API server does not accept the Pods that a workload lacks.
// One that has all that it wants is refused no more than those of a rollout beside
// them.
func refused(e *Evidence, pods *podsOf, workloads []workload) *Diagnosis {
	for _, w := range matching(e.Service, workloads) {
		refusal := w.refusal
		if w.replicas == 0 || w.nodeless || pods.more || pods.of(w) >= int(w.replicas) {
			continue
		}
		if event := e.latestWithin(longestRetry, w.UID, func(event *eventsv1.Event) bool { return event.Reason == "FailedCreate" }); refusal == "" && event != nil && !hasPods(e, w) {
			refusal = event.Note
		}
		if refusal != "" {
			return conclude(criticalv2.CausePodsRefused, w.subject(), with("The API server refuses the Pods of "+w.String(), refusalProblem(refusal)), "")
		}
	}
	return nil
}

// of counts the live Pods of a workload.
func (p *podsOf) of(w workload) int {
	chosen, err := metav1.LabelSelectorAsSelector(w.selector)
	if err != nil {
		return 0 // The API server accepts no such workload.
	}
	count := 0
	for _, pods := range [][]corev1.Pod{p.ready, p.unready} {
		for i := range pods {
			if chosen.Matches(labels.Set(pods[i].Labels)) {
				count++
			}
		}
	}
	return count
}

// hasPods reports whether a workload has made a Pod after all. Deployments need no such
// check: their condition says it.
func hasPods(e *Evidence, w workload) bool {
	return slices.ContainsFunc(e.Pods, func(pod corev1.Pod) bool { return metav1.IsControlledBy(&pod, &w.ObjectMeta) })
}

// unwanted says that no workload of the Service should have Pods.
func unwanted(e *Evidence, pods *podsOf, workloads []workload) *Diagnosis {
	fitting := matching(e.Service, workloads)
	if len(fitting) == 0 || e.WorkloadsUnread || pods.more || len(pods.unready) > 0 {
		return nil
	}
	if slices.ContainsFunc(fitting, func(w workload) bool { return w.replicas > 0 && !w.nodeless }) {
		return nil
	}
	if i := slices.IndexFunc(fitting, func(w workload) bool { return w.nodeless }); i >= 0 {
		w := fitting[i]
		return conclude(criticalv2.CauseUnschedulable, w.subject(), w.String()+" fits no node"+nodeSelector(w.template.Spec.NodeSelector), "")
	}
	more := ""
	if others := len(fitting) - 1; others > 0 {
		more = fmt.Sprintf(" (and %s more)", numberOf(others, "workload"))
	}
	w := fitting[0]
	return conclude(criticalv2.CauseScaledToZero, w.subject(), fmt.Sprintf("%s%s is scaled to zero%s", w, more, scaledBy(e, w)), "")
}

func nodeSelector(selector map[string]string) string {
	if len(selector) == 0 {
		return ""
	}
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		pairs = append(pairs, key+"="+selector[key])
	}
	return "; its nodeSelector is " + strings.Join(pairs, ",")
}
