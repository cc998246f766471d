package selftest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/probe"
	"github.com/critical-service/operator/internal/protection"
)

const (
	// endpointsAtMost bounds how many endpoints of a standby are asked: a backup
	// Service may have hundreds, and the first by name speak for them.
	endpointsAtMost = 10
	// questionsAtOnce is how many questions about one Service are under way.
	questionsAtOnce = 4
)

// question is one port of one endpoint of a standby.
type question struct {
	protection.Target
	// stray is true where no Pod has the address: then it is not asked.
	stray bool
}

// id identifies a question.
func (q question) id() string {
	return fmt.Sprint(q.Address(), q.Pod(), portName(q.Port), q.Protocol, q.stray)
}

// isAbout reports whether a Pod is asked.
func (q question) isAbout(pod types.UID) bool {
	return !q.stray && q.Endpoint.TargetRef != nil && q.Endpoint.TargetRef.UID == pod
}

// silence is a question that had no answer.
type silence struct {
	question
	failure probe.Failure
	problem string
}

// questions are all that there is to ask about the standby of a Service. Only
// addresses of Pods are asked that are known to have them: a slice can be written
// by others, who could send the operator anywhere. Of the others it is known
// without a question that no fallback answers there.
func (r *Reconciler) questions(ctx context.Context, snap *decide.Snapshot) ([]question, error) {
	var asked []question
	known := map[*discoveryv1.Endpoint]bool{}
	for _, target := range sample(snap.Targets()) {
		isOfPod, isKnown := known[target.Endpoint]
		if !isKnown {
			var err error
			if isOfPod, err = r.isOfPod(ctx, snap, target.Endpoint); err != nil {
				return nil, err
			}
			known[target.Endpoint] = isOfPod
		}
		asked = append(asked, question{Target: target, stray: !isOfPod})
	}
	return asked, nil
}

// sample takes, of each port and IP family, the first endpoints by name.
func sample(targets []protection.Target) []protection.Target {
	type group struct {
		port   string
		isIPv6 bool
	}
	taken := map[group]int{}
	return slices.DeleteFunc(targets, func(target protection.Target) bool {
		of := group{port: target.Port.Name, isIPv6: strings.Contains(target.Endpoint.Addresses[0], ":")}
		taken[of]++
		return taken[of] > endpointsAtMost
	})
}

// portName is a port of a Service, for people.
func portName(port corev1.ServicePort) string {
	if port.Name == "" {
		return fmt.Sprintf("port %d", port.Port)
	}
	return fmt.Sprintf("port %q (%d)", port.Name, port.Port)
}

// isOfPod reports whether an endpoint is a Pod of the namespace, and has its address.
// Pods of ours are in the cache; of a backup's Pods, the API server knows.
func (r *Reconciler) isOfPod(ctx context.Context, snap *decide.Snapshot, endpoint *discoveryv1.Endpoint) (bool, error) {
	if endpoint.TargetRef == nil || len(endpoint.Addresses) == 0 {
		return false, nil
	}
	for _, pod := range snap.OtherFallbacks {
		if pod.UID == endpoint.TargetRef.UID {
			return hasAddress(pod, endpoint.Addresses[0]), nil
		}
	}
	for _, pods := range [][]corev1.Pod{snap.Responder.Pods, snap.Pods} {
		for i := range pods {
			if pods[i].UID == endpoint.TargetRef.UID {
				return hasAddress(&pods[i], endpoint.Addresses[0]), nil
			}
		}
	}
	key := types.NamespacedName{Namespace: snap.Service.Namespace, Name: endpoint.TargetRef.Name}
	pod, err := read.Existing[corev1.Pod](ctx, r.Live, key)
	return pod != nil && pod.UID == endpoint.TargetRef.UID && hasAddress(pod, endpoint.Addresses[0]), err
}

func hasAddress(pod *corev1.Pod, address string) bool {
	return slices.ContainsFunc(pod.Status.PodIPs, func(ip corev1.PodIP) bool { return ip.IP == address })
}

// ask asks all questions, and gives those that had no answer, in their order.
func (r *Reconciler) ask(ctx context.Context, snap *decide.Snapshot, questions []question) []silence {
	var mu sync.Mutex
	var silent []silence
	asking := errgroup.Group{}
	asking.SetLimit(questionsAtOnce)
	host := protection.Host(snap.Service)
	for _, q := range questions {
		asking.Go(func() error {
			var result probe.Result
			if !q.stray {
				result = probe.Ask(ctx, probe.Target{Address: q.Address(), Protocol: q.Protocol, Host: host, Dial: r.Dial})
			}
			if !result.Answered {
				mu.Lock()
				defer mu.Unlock()
				silent = append(silent, silence{q, result.Failure, result.Problem})
			}
			return nil
		})
	}
	_ = asking.Wait() // No question is an error.
	slices.SortFunc(silent, func(a, b silence) int {
		return cmp.Or(cmp.Compare(a.Pod(), b.Pod()), cmp.Compare(portName(a.Port), portName(b.Port)), cmp.Compare(a.Address(), b.Address()))
	})
	return silent
}

// silenceOf sums up what did not answer; nil if everything did.
func silenceOf(snap *decide.Snapshot, silent []silence) *summary.Silence {
	if len(silent) == 0 {
		return nil
	}
	first := &silent[0]
	what, advice := fmt.Sprintf("%s: Pod %q %s", portName(first.Target.Port), first.Pod(), first.problem), adviceOf(snap, first.Target)
	if first.stray {
		what, advice = fmt.Sprintf("%s: %s is published, and no Pod has this address", portName(first.Target.Port), first.Address()), adviceOfStray(snap, first.Target)
	}
	if more := len(silent) - 1; more > 0 {
		what += fmt.Sprintf(" (and %d more)", more)
	}
	return &summary.Silence{
		Pod: first.Pod(), Address: first.Address(), Stray: first.stray,
		Port: first.Target.Port.Port, PortName: first.Target.Port.Name, Protocol: first.Protocol,
		Failure: string(first.failure), More: len(silent) - 1, Message: what + ". " + advice,
	}
}

// adviceOfStray is what to do about an address that is published and no Pod's.
func adviceOfStray(snap *decide.Snapshot, target protection.Target) string {
	if target.Selected {
		return "Check the EndpointSlices of the Service: those that Kubernetes maintains have addresses of Pods only."
	}
	for i := range snap.Standby {
		if slice := &snap.Standby[i]; slice.Labels[criticalv2.LabelFallbackKind] == criticalv2.FallbackKindService {
			return fmt.Sprintf("Check the EndpointSlices of backup Service %q: those that Kubernetes maintains have addresses of Pods only.",
				slice.Annotations[criticalv2.AnnotationBackup])
		}
	}
	return fmt.Sprintf("If the operator does not remove it, delete EndpointSlice %q: it is created again.", snap.Standby[0].Name)
}

// adviceOf is what to do about a standby that is silent, by its kind.
func adviceOf(snap *decide.Snapshot, target protection.Target) string {
	const policies = ", and that no NetworkPolicy blocks the operator."
	if target.Selected {
		return "Clients of the Service are sent there: check that a container of its PodTemplate listens on that port" + policies
	}
	for i := range snap.Standby {
		switch slice := &snap.Standby[i]; slice.Labels[criticalv2.LabelFallbackKind] {
		case criticalv2.FallbackKindPodTemplate:
			return "Check that the PodTemplate declares the ports on which its containers listen" + policies
		case criticalv2.FallbackKindService:
			return fmt.Sprintf("Check that the Pods of backup Service %q listen there%s", slice.Annotations[criticalv2.AnnotationBackup], policies)
		}
	}
	return "Check the responder Pods' logs" + policies
}
