package render

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
)

// Service leads clients to the members that are ready: those that have a quorum, and vote.
func Service(e *workloadsv1alpha1.ETCDInstance) *corev1.Service {
	protocol := "kubernetes.io/h2c"
	if e.Spec.WithTLSBundle {
		protocol = "https"
	}
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta(e, e.Name),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: Selector(e),
			Ports: []corev1.ServicePort{{
				Name: "client", Port: workloadsv1alpha1.PortClient, TargetPort: intstr.FromInt32(workloadsv1alpha1.PortClient),
				Protocol: corev1.ProtocolTCP, AppProtocol: new(protocol),
			}},
		},
	}
}

// Peers gives each member a name, from before it is ready: members find each other by it.
func Peers(e *workloadsv1alpha1.ETCDInstance) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta(e, e.PeersName()),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 Selector(e),
			Ports: []corev1.ServicePort{
				{Name: "client", Port: workloadsv1alpha1.PortClient, TargetPort: intstr.FromInt32(workloadsv1alpha1.PortClient), Protocol: corev1.ProtocolTCP},
				{Name: "peer", Port: workloadsv1alpha1.PortPeer, TargetPort: intstr.FromInt32(workloadsv1alpha1.PortPeer), Protocol: corev1.ProtocolTCP},
			},
		},
	}
}

// Budget lets one member at a time be evicted, and none while one is down. Where the data of a member
// goes with its Pod, none is evicted until three have it. With volumes, one or two members let a node be
// drained all the same.
func Budget(e *workloadsv1alpha1.ETCDInstance, entries []Entry) *policyv1.PodDisruptionBudget {
	most := intstr.FromInt32(1)
	if e.Spec.Storage == nil && min(withData(entries), int(e.Spec.Replicas)) < 3 {
		most = intstr.FromInt32(0)
	}
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: meta(e, e.Name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(most),
			Selector:       &metav1.LabelSelector{MatchLabels: Selector(e)},
		},
	}
}

// withData is how many members have come up.
func withData(entries []Entry) int {
	number := 0
	for i := range entries {
		if entries[i].Volume != "" {
			number++
		}
	}
	return number
}
