package diagnosis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/internal/text/quote"
)

// startup is how long a Pod may need for what usually works in the end: until then it is
// starting, and not failing.
const startup = 30 * time.Second

// finding is what was found out about one Pod.
type finding struct {
	reason string
	// group separates findings of one reason: the container, the gate.
	group string
	// node is the subject of the cause where it is not the Pod.
	node string
	// text is the sentence, without its end, with the Pod where it says {pod}.
	text string
	// output is what a program wrote, which ends the sentence.
	output string
}

// found makes a finding; a detail follows its text.
func found(reason, group, text, detail string) *finding {
	return &finding{reason: reason, group: group, text: with(text, detail)}
}

// quoting adds what a program wrote, behind what introduces it.
func (f *finding) quoting(introduction, output string) *finding {
	if output != "" {
		f.text, f.output = f.text+introduction, output
	}
	return f
}

// podsOf are the Pods that a Service selects, by what they are.
type podsOf struct {
	// ready and unready are live; ended and leaving are not. Only among the ready
	// are bystanders.
	ready, unready, ended, leaving []corev1.Pod
	// more is true where these are the first of many.
	more bool
	// findings are those about unready Pods, by the Pod's name.
	findings map[string]finding
}

func sortPods(e *Evidence, workloads []workload) *podsOf {
	p := &podsOf{more: e.MorePods, findings: map[string]finding{}}
	bystander := e.isBystander(workloads)
	sorted := slices.SortedFunc(slices.Values(e.Pods), func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for _, pod := range sorted {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		ready := protection.PodCondition(&pod, corev1.PodReady).Status == corev1.ConditionTrue
		switch {
		case !ended && pod.DeletionTimestamp == nil && ready:
			p.ready = append(p.ready, pod) // It is an endpoint, whatever controls it.
		case bystander(&pod):
		case ended:
			p.ended = append(p.ended, pod)
		case pod.DeletionTimestamp != nil:
			p.leaving = append(p.leaving, pod)
		default:
			p.unready = append(p.unready, pod)
			if found := examine(e, &pod); found != nil {
				p.findings[pod.Name] = *found
			}
		}
	}
	return p
}

// examine finds the most specific thing that can be said about a Pod that is not
// ready; nil if nothing.
func examine(e *Evidence, pod *corev1.Pod) *finding {
	for _, look := range []func(*Evidence, *corev1.Pod) *finding{
		lost, unscheduled, ofContainers, mounts, probes, gates, notReadyNode, young,
	} {
		if found := look(e, pod); found != nil {
			return found
		}
	}
	return nil
}

// lost says that a Pod's node does not answer. All else that the Pod says is then out of
// date.
func lost(e *Evidence, pod *corev1.Pod) *finding {
	if slices.Contains(e.NodesGone, pod.Spec.NodeName) {
		return ofNode(pod, "which does not exist any more", "")
	}
	if ready := nodeReady(e, pod); ready != nil && ready.Status == corev1.ConditionUnknown {
		return ofNode(pod, "which does not answer", ready.Message)
	}
	return nil
}

// notReadyNode says that a Pod works, and that its node does not.
func notReadyNode(e *Evidence, pod *corev1.Pod) *finding {
	ready := nodeReady(e, pod)
	if ready == nil || ready.Status != corev1.ConditionFalse || protection.PodCondition(pod, corev1.ContainersReady).Status != corev1.ConditionTrue {
		return nil
	}
	return ofNode(pod, "which is not ready", ready.Message)
}

func ofNode(pod *corev1.Pod, problem, message string) *finding {
	f := found(criticalv2.CauseNodeLost, pod.Spec.NodeName, "{pod} is on node "+name(pod.Spec.NodeName)+", "+problem, quote.Kubernetes(message))
	f.node = pod.Spec.NodeName
	return f
}

func nodeReady(e *Evidence, pod *corev1.Pod) *corev1.NodeCondition {
	for i := range e.Nodes {
		if e.Nodes[i].Name != pod.Spec.NodeName || pod.Spec.NodeName == "" {
			continue
		}
		conditions := e.Nodes[i].Status.Conditions
		for j := range conditions {
			if conditions[j].Type == corev1.NodeReady {
				return &conditions[j]
			}
		}
	}
	return nil
}

// unscheduled says what the scheduler says.
func unscheduled(_ *Evidence, pod *corev1.Pod) *finding {
	scheduled := protection.PodCondition(pod, corev1.PodScheduled)
	if scheduled.Status != corev1.ConditionFalse || pod.Spec.NodeName != "" {
		return nil
	}
	if scheduled.Reason == corev1.PodReasonSchedulingGated {
		var gates []string
		for _, gate := range pod.Spec.SchedulingGates {
			gates = append(gates, gate.Name)
		}
		slices.Sort(gates)
		return found(criticalv2.CauseUnschedulable, "gate", "{pod} may not be scheduled before its scheduling gates are removed", strings.Join(gates, ", "))
	}
	if scheduled.Reason != corev1.PodReasonUnschedulable {
		return nil
	}
	return found(criticalv2.CauseUnschedulable, "", "{pod} cannot be scheduled", schedulerProblem(scheduled.Message))
}

// gates says which readiness gate a Pod waits for whose containers are all ready.
func gates(e *Evidence, pod *corev1.Pod) *finding {
	ready := protection.PodCondition(pod, corev1.ContainersReady)
	if ready.Status != corev1.ConditionTrue {
		return nil
	}
	var open []string
	for _, gate := range pod.Spec.ReadinessGates {
		if protection.PodCondition(pod, gate.ConditionType).Status != corev1.ConditionTrue {
			open = append(open, string(gate.ConditionType))
		}
	}
	if len(open) == 0 {
		return nil
	}
	reason := criticalv2.CauseReadinessGate
	if e.Now.Sub(ready.LastTransitionTime.Time) < startup {
		reason = criticalv2.CausePodsStarting
	}
	first := slices.Min(open)
	is := protection.PodCondition(pod, corev1.PodConditionType(first))
	text := "The containers of {pod} are ready, and its readiness gate " + name(first) + " is " + cmp.Or(string(is.Status), "not set")
	return found(reason, first, text, "").quoting(": ", quote.Program(cmp.Or(is.Message, is.Reason)))
}

// young says that a Pod is new, where it says nothing of itself yet.
func young(e *Evidence, pod *corev1.Pod) *finding {
	if age := e.Now.Sub(pod.CreationTimestamp.Time); age >= startup {
		return nil
	}
	return found(criticalv2.CausePodsStarting, "", "{pod} is new", "")
}

// rank is the order of causes that as many Pods have: what is more certain to keep
// a Pod from ever becoming ready comes first.
var rank = []string{
	criticalv2.CauseNodeLost, criticalv2.CauseOutOfMemory, criticalv2.CauseCrashLoop, criticalv2.CauseContainerConfig,
	criticalv2.CauseImagePull, criticalv2.CauseUnschedulable, criticalv2.CauseReadinessGate, criticalv2.CauseProbeFailing,
	criticalv2.CausePodsEnded,
}

// failing is the cause that most live Pods have that fail, unless more of them are
// starting: then the Service is about to answer, whatever becomes of the others.
func (p *podsOf) failing() *Diagnosis {
	fail, start := 0, 0
	for _, f := range p.findings {
		if isFailure(f.reason) {
			fail++
		} else {
			start++
		}
	}
	if fail < start {
		return nil
	}
	return p.most(isFailure)
}

func (p *podsOf) starting() *Diagnosis {
	return p.most(func(reason string) bool { return !isFailure(reason) })
}

func isFailure(reason string) bool { return reason != criticalv2.CausePodsStarting }

// most is the finding that most Pods share, about the first of them by name.
func (p *podsOf) most(chosen func(reason string) bool) *Diagnosis {
	type kind struct{ reason, group string }
	shared := map[kind][]string{}
	for _, name := range slices.Sorted(maps.Keys(p.findings)) {
		if f := p.findings[name]; chosen(f.reason) {
			shared[kind{f.reason, f.group}] = append(shared[kind{f.reason, f.group}], name)
		}
	}
	if len(shared) == 0 {
		return nil
	}
	order := func(a, b kind) int {
		return cmp.Or(
			cmp.Compare(len(shared[b]), len(shared[a])),
			cmp.Compare(slices.Index(rank, a.reason), slices.Index(rank, b.reason)),
			strings.Compare(a.group, b.group),
		)
	}
	first := slices.SortedFunc(maps.Keys(shared), order)[0]
	names := shared[first]
	f, about := p.findings[names[0]], subject(kindPod, names[0])
	if f.node != "" {
		about = subject(kindNode, f.node)
	}
	pod := "Pod " + name(names[0]) + p.share(len(names))
	return conclude(f.reason, about, strings.Replace(f.text, "{pod}", pod, 1), f.output)
}

// share says how many Pods are meant, where there are several.
func (p *podsOf) share(n int) string {
	all := len(p.unready) + len(p.ready)
	switch {
	case p.more:
		return fmt.Sprintf(" (%d of the first %d Pods)", n, all)
	case all > 1:
		return fmt.Sprintf(" (%d of %d Pods)", n, all)
	default:
		return ""
	}
}

func (p *podsOf) isOrAre(n int) string {
	all := len(p.unready) + len(p.ready)
	if n == 1 {
		return fmt.Sprintf("1 of %s is", numberOf(all, "Pod"))
	}
	return fmt.Sprintf("%d of %s are", n, numberOf(all, "Pod"))
}

// over says that the Pods have ended, where there are no others.
func (p *podsOf) over() *Diagnosis {
	if len(p.unready) > 0 || len(p.ready) > 0 || p.more {
		return nil
	}
	several := func(of []corev1.Pod) string {
		if all := len(p.ended) + len(p.leaving); all > 1 {
			return fmt.Sprintf(" (%d of %d Pods)", len(of), all)
		}
		return ""
	}
	switch {
	case len(p.leaving) > 0:
		pod := p.leaving[0].Name
		return conclude(criticalv2.CausePodsEnded, subject(kindPod, pod),
			fmt.Sprintf("Pod %q%s is being deleted, and no other has taken its place", pod, several(p.leaving)), "")
	case len(p.ended) > 0:
		pod := &p.ended[0]
		f := whyEnded(pod, fmt.Sprintf("Pod %q%s has %s, and no other has taken its place", pod.Name, several(p.ended), endOf(pod)))
		return conclude(f.reason, subject(kindPod, pod.Name), f.text, f.output)
	default:
		return nil
	}
}

func endOf(pod *corev1.Pod) string {
	if pod.Status.Phase == corev1.PodSucceeded {
		return "ended with success"
	}
	return "failed"
}

// whyEnded adds what a Pod that ended, or one of its containers, says of its end.
func whyEnded(pod *corev1.Pod, text string) *finding {
	if pod.Status.Reason != "" {
		return found(criticalv2.CausePodsEnded, "", text, with(quote.Line(pod.Status.Reason), quote.Kubernetes(pod.Status.Message)))
	}
	for _, container := range containersOf(pod) {
		if end := container.status.State.Terminated; end != nil && end.ExitCode != 0 {
			return found(criticalv2.CausePodsEnded, "", text, fmt.Sprintf("container %s ended with ", name(container.Name))).endingWith(end)
		}
	}
	return found(criticalv2.CausePodsEnded, "", text, "")
}

func name(of string) string { return fmt.Sprintf("%q", of) }
