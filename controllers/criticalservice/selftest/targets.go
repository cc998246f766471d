package selftest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/critical-service/operator/internal/contract/appprotocol"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/internal/probe"
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
	// port and number are the name and the number of the Service's port.
	address, pod, port string
	number             int32
	protocol           appprotocol.Protocol
	// stray is true where no Pod has the address: then it is not asked.
	stray bool
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
	for i := range snap.Standby {
		slice := &snap.Standby[i]
		ports := r.ports(snap.Service, slice)
		endpoints := slices.SortedFunc(slices.Values(slice.Endpoints), func(a, b discoveryv1.Endpoint) int {
			return cmp.Compare(podName(&a), podName(&b))
		})
		for j := range endpoints[:min(len(endpoints), endpointsAtMost)] {
			endpoint := &endpoints[j]
			known, err := r.isOfPod(ctx, snap, endpoint)
			if err != nil {
				return nil, err
			}
			for _, port := range ports {
				if len(endpoint.Addresses) > 0 {
					port.pod, port.stray = podName(endpoint), !known
					port.address = net.JoinHostPort(endpoint.Addresses[0], port.address)
					asked = append(asked, port)
				}
			}
		}
	}
	return asked, nil
}

func podName(endpoint *discoveryv1.Endpoint) string {
	return ptr.Deref(endpoint.TargetRef, corev1.ObjectReference{}).Name
}

// ports are the questions to each endpoint of a slice, with the port's number in
// the place of the address.
func (*Reconciler) ports(service *corev1.Service, slice *discoveryv1.EndpointSlice) []question {
	var asked []question
	for _, port := range slice.Ports {
		at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == ptr.Deref(port.Name, "") })
		if at < 0 || port.Port == nil || ptr.Deref(port.Protocol, corev1.ProtocolTCP) != corev1.ProtocolTCP {
			continue
		}
		asked = append(asked, question{
			address: strconv.Itoa(int(*port.Port)), port: service.Spec.Ports[at].Name, number: service.Spec.Ports[at].Port,
			protocol: protocolOf(service.Spec.Ports[at], slice.Labels[criticalv2.LabelFallbackKind]),
		})
	}
	return asked
}

// portText names the Service's port in a message.
func (q *question) portText() string {
	if q.port == "" {
		return fmt.Sprintf("port %d", q.number)
	}
	return fmt.Sprintf("port %q (%d)", q.port, q.number)
}

// protocolOf is how to ask a port. The responder knows every protocol, and where the port
// does not say which it is, it is asked by HTTP: a process that hangs still has
// its connections accepted. The Pods of others are not to be disturbed: of them,
// a page is asked for where the port says that it has one, and otherwise only
// whether it listens.
func protocolOf(port corev1.ServicePort, kind string) appprotocol.Protocol {
	if kind == criticalv2.FallbackKindPage {
		if protocol := appprotocol.Of(port); protocol != appprotocol.TCP {
			return protocol
		}
		return appprotocol.HTTP
	}
	port.Port = 0 // By its number, a port says nothing.
	switch protocol := appprotocol.Of(port); protocol {
	case appprotocol.HTTP, appprotocol.H2C, appprotocol.GRPC:
		return protocol
	default:
		return appprotocol.TCP
	}
}

// isOfPod reports whether an endpoint is a Pod of the namespace, and has its address.
// Pods of ours are in the cache; of a backup's Pods, the API server knows.
func (r *Reconciler) isOfPod(ctx context.Context, snap *decide.Snapshot, endpoint *discoveryv1.Endpoint) (bool, error) {
	if endpoint.TargetRef == nil || len(endpoint.Addresses) == 0 {
		return false, nil
	}
	for _, pods := range [][]corev1.Pod{snap.Responder.Pods, snap.Pods} {
		for i := range pods {
			if pods[i].UID == endpoint.TargetRef.UID {
				return hasAddress(&pods[i], endpoint.Addresses[0]), nil
			}
		}
	}
	pod := &corev1.Pod{}
	key := types.NamespacedName{Namespace: snap.Service.Namespace, Name: endpoint.TargetRef.Name}
	pod, err := observe.Found(pod, r.Live.Get(ctx, key, pod))
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
	host := fmt.Sprintf("%s.%s.svc", snap.Service.Name, snap.Service.Namespace)
	for _, q := range questions {
		asking.Go(func() error {
			var result probe.Result
			if !q.stray {
				result = probe.Ask(ctx, probe.Target{Address: q.address, Protocol: q.protocol, Host: host, Dial: r.Dial})
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
		return cmp.Or(cmp.Compare(a.pod, b.pod), cmp.Compare(a.port, b.port), cmp.Compare(a.number, b.number), cmp.Compare(a.address, b.address))
	})
	return silent
}

// silenceOf sums up what did not answer; nil if everything did.
func silenceOf(snap *decide.Snapshot, silent []silence) *summary.Silence {
	if len(silent) == 0 {
		return nil
	}
	first := &silent[0]
	what, advice := fmt.Sprintf("%s: Pod %q %s", first.portText(), first.pod, first.problem), adviceOf(snap)
	if first.stray {
		what, advice = fmt.Sprintf("%s: %s is published, and no Pod has this address", first.portText(), first.address), adviceOfStray(snap)
	}
	if more := len(silent) - 1; more > 0 {
		what += fmt.Sprintf(" (and %d more)", more)
	}
	return &summary.Silence{
		Pod: first.pod, Address: first.address, Stray: first.stray,
		Port: first.number, PortName: first.port, Protocol: first.protocol,
		Failure: string(first.failure), More: len(silent) - 1, Message: what + ". " + advice,
	}
}

// adviceOfStray is what to do about an address that is published and no Pod's.
func adviceOfStray(snap *decide.Snapshot) string {
	for i := range snap.Standby {
		if slice := &snap.Standby[i]; slice.Labels[criticalv2.LabelFallbackKind] == criticalv2.FallbackKindService {
			return fmt.Sprintf("Check the EndpointSlices of backup Service %q: those that Kubernetes maintains have addresses of Pods only.",
				slice.Annotations[criticalv2.AnnotationBackup])
		}
	}
	return fmt.Sprintf("If the operator does not remove it, delete EndpointSlice %q: it is created again.", snap.Standby[0].Name)
}

// adviceOf is what to do about a standby that is silent, by its kind.
func adviceOf(snap *decide.Snapshot) string {
	const policies = ", and that no NetworkPolicy blocks the operator."
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
