package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Diagnose says what explains that the Service has no ready endpoint of its own.
// It always says something: CauseNotFound, with what is known, where nothing is
// proved.
func Diagnose(e Evidence) criticalv2.OutageCause {
	switch {
	case e.Service == nil:
		return unexplained("The Service does not exist.")
	case len(e.Service.Spec.Selector) == 0:
		return unexplained("The Service has no selector, so that others than Kubernetes say which endpoints it has.")
	case e.PodsUnread:
		return unexplained("The Pods of the namespace could not be read.")
	}
	workloads := e.workloads()
	pods := sortPods(&e, workloads)
	for _, look := range []func() *criticalv2.OutageCause{
		func() *criticalv2.OutageCause { return pods.portMissing(e.Service) },
		func() *criticalv2.OutageCause { return pods.working(&e) },
		func() *criticalv2.OutageCause { return pods.failing() },
		func() *criticalv2.OutageCause { return pods.starting() },
		func() *criticalv2.OutageCause { return refused(&e, pods, workloads) },
		func() *criticalv2.OutageCause { return unwanted(&e, pods, workloads) },
		func() *criticalv2.OutageCause { return pods.over() },
		func() *criticalv2.OutageCause { return unmatched(&e, workloads) },
		func() *criticalv2.OutageCause { return absent(&e, workloads) },
	} {
		if cause := look(); cause != nil {
			return *cause
		}
	}
	return unexplained("Nothing that was read says why no Pod of the Service is ready.")
}

// IsExplained tells whether a cause says what is wrong: nothing that could be read
// besides would be more specific.
func IsExplained(cause criticalv2.OutageCause) bool {
	return !slices.Contains([]string{
		criticalv2.CauseNotFound, criticalv2.CausePodsStarting, criticalv2.CausePodsEnded, criticalv2.CauseNoMatchingPods,
	}, cause.Reason)
}

func unexplained(message string) criticalv2.OutageCause {
	return criticalv2.OutageCause{Reason: criticalv2.CauseNotFound, Message: message}
}

func cause(reason, format string, args ...any) *criticalv2.OutageCause {
	return &criticalv2.OutageCause{Reason: reason, Message: sentence(format, args...)}
}

// working says that a Pod is ready after all: then it is not the Pods that explain
// the outage.
func (p *podsOf) working(e *Evidence) *criticalv2.OutageCause {
	ready := len(p.ready)
	if ready == 0 {
		return nil
	}
	return cause(criticalv2.CauseNotFound, "%s ready, so that its Pods do not explain why Service %q has no ready endpoint",
		p.isOrAre(ready), e.Service.Name)
}

// selector is the Service's selector as people write it.
func selector(service *corev1.Service) string {
	pairs := make([]string, 0, len(service.Spec.Selector))
	for key, value := range service.Spec.Selector {
		pairs = append(pairs, key+"="+value)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

// absent says what is known where a workload is to have Pods, has none, and
// nothing says why.
func absent(e *Evidence, workloads []workload) *criticalv2.OutageCause {
	wanting := slices.DeleteFunc(matching(e.Service, workloads), func(w workload) bool { return w.replicas == 0 })
	switch {
	case len(wanting) == 0 && len(e.Pods) > 0:
		return cause(criticalv2.CauseNotFound, "Only Pods of Jobs have the labels of the Service's selector %s; not all workloads could be read", selector(e.Service))
	case len(wanting) == 0:
		return cause(criticalv2.CauseNotFound, "No Pod has the labels of the Service's selector %s; not all workloads could be read", selector(e.Service))
	}
	return cause(criticalv2.CauseNotFound, "%s is to have %s and has none, and nothing that was read says why", wanting[0], numberOf(int(wanting[0].replicas), "Pod"))
}

func numberOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
