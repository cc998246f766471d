package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Diagnosis is what explains an outage.
type Diagnosis struct {
	// OutageCause is the cause as the status has it.
	criticalv2.OutageCause
	// statement is the message without what a program wrote at the end of it.
	statement string
}

// Same reports whether two diagnoses are of one cause: the same of the same objects,
// whatever a program wrote last. That may be another text each time, with the time of
// the day in it.
func (d Diagnosis) Same(other Diagnosis) bool {
	return d.Reason == other.Reason && ptr.Equal(d.Subject, other.Subject) && d.Port == other.Port && d.statement == other.statement
}

// Diagnose says what explains that the Service has no ready endpoint of its own. The
// result always has a reason and a message: CauseNotFound, with what is known, where
// nothing is proved.
func Diagnose(e Evidence) Diagnosis {
	switch {
	case e.Service == nil:
		return *unexplained("The Service does not exist")
	case len(e.Service.Spec.Selector) == 0:
		return *unexplained("The Service has no selector, so that Kubernetes does not maintain its endpoints")
	case e.PodsUnread:
		return *unexplained("The Pods of the namespace could not be read")
	}
	workloads := e.workloads()
	pods := sortPods(&e, workloads)
	for _, look := range []func() *Diagnosis{
		func() *Diagnosis { return pods.portMissing(e.Service) },
		func() *Diagnosis { return pods.working(&e) },
		func() *Diagnosis { return pods.failing() },
		func() *Diagnosis { return pods.starting() },
		func() *Diagnosis { return refused(&e, pods, workloads) },
		func() *Diagnosis { return unwanted(&e, pods, workloads) },
		func() *Diagnosis { return pods.over() },
		func() *Diagnosis { return unmatched(&e, workloads) },
		func() *Diagnosis { return absent(&e, workloads) },
	} {
		if found := look(); found != nil {
			return *found
		}
	}
	return *unexplained("No cause found: Pods, workloads and nodes show nothing that explains the outage")
}

// IsSpecific reports whether nothing else that could be read would give a more specific
// cause.
func (d Diagnosis) IsSpecific() bool {
	return !slices.Contains([]string{
		criticalv2.CauseNotFound, criticalv2.CausePodsStarting, criticalv2.CausePodsEnded, criticalv2.CauseNoMatchingPods,
	}, d.Reason)
}

// Kinds of the subject of a cause, besides those of workloads.
const (
	kindPod     = "Pod"
	kindNode    = "Node"
	kindService = "Service"
)

func subject(kind, name string) *criticalv2.CauseSubject {
	return &criticalv2.CauseSubject{Kind: kind, Name: name}
}

// conclude makes a Diagnosis of a statement without its end, and of what a program wrote.
func conclude(reason string, about *criticalv2.CauseSubject, statement, output string) *Diagnosis {
	return &Diagnosis{
		OutageCause: criticalv2.OutageCause{Reason: reason, Subject: about, Message: sentence(statement + output)},
		statement:   statement,
	}
}

func unexplained(format string, args ...any) *Diagnosis {
	return conclude(criticalv2.CauseNotFound, nil, fmt.Sprintf(format, args...), "")
}

// working says that a Pod is ready after all: then it is not the Pods that explain
// the outage.
func (p *podsOf) working(e *Evidence) *Diagnosis {
	ready := len(p.ready)
	if ready == 0 {
		return nil
	}
	return unexplained("%s ready, so that its Pods do not explain why Service %q has no ready endpoint",
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

// absent says what is known where a workload should have Pods, has none, and nothing
// says why.
func absent(e *Evidence, workloads []workload) *Diagnosis {
	wanting := slices.DeleteFunc(matching(e.Service, workloads), func(w workload) bool { return w.replicas == 0 })
	switch {
	case len(wanting) == 0 && len(e.Pods) > 0:
		return unexplained("Only Pods of Jobs have the labels of the Service's selector %s; not all workloads could be read", selector(e.Service))
	case len(wanting) == 0:
		return unexplained("No Pod has the labels of the Service's selector %s; not all workloads could be read", selector(e.Service))
	}
	return unexplained("%s should have %s and has none, and nothing explains why", wanting[0], numberOf(int(wanting[0].replicas), "Pod"))
}

func numberOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
