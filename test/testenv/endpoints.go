package testenv

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// endpointController is the name under which Kubernetes manages EndpointSlices.
const endpointController = "endpointslice-controller.k8s.io"

func newSlice(service *corev1.Service, number int) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, Name: fmt.Sprintf("%s-%d", service.Name, number),
			Labels: map[string]string{discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: endpointController},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{},
	}
}

// PublishEndpoints does what the endpoint controller does, once: the Service's
// EndpointSlices become what its Pods are now.
func (w *World) PublishEndpoints(service *corev1.Service) {
	w.T.Helper()
	ctx := w.T.Context()
	w.Expect(w.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(service), service)).To(gomega.Succeed())
	var pods corev1.PodList
	w.Expect(w.Cluster.Client.List(ctx, &pods, client.InNamespace(service.Namespace),
		client.MatchingLabels(service.Spec.Selector))).To(gomega.Succeed())

	wanted := slicesOf(service, pods.Items)
	for _, slice := range wanted {
		ports, endpoints := slice.Ports, slice.Endpoints
		w.Eventually(func(ctx context.Context) error {
			_, err := controllerutil.CreateOrUpdate(ctx, w.Cluster.Client, slice, func() error {
				slice.Ports, slice.Endpoints = ports, endpoints
				return nil
			})
			return err
		}).WithContext(ctx).Should(gomega.Succeed())
	}
	w.deleteSlices(service, len(wanted))
}

// UnpublishEndpoints deletes the slices that PublishEndpoints made.
func (w *World) UnpublishEndpoints(service *corev1.Service) {
	w.T.Helper()
	w.deleteSlices(service, 0)
}

func (w *World) deleteSlices(service *corev1.Service, from int) {
	w.T.Helper()
	for number := from; ; number++ {
		slice := newSlice(service, number)
		if !w.Exists(slice) {
			return
		}
		w.Delete(slice)
	}
}

// slicesOf puts the Pods into slices: one for every set of ports, because the
// port of a name may be another number in every Pod, and may be missing. There
// is always one slice, if an empty one.
func slicesOf(service *corev1.Service, pods []corev1.Pod) []*discoveryv1.EndpointSlice {
	var made []*discoveryv1.EndpointSlice
	for i := range pods {
		pod := &pods[i]
		if pod.Status.PodIP == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		ports := portsOf(service, pod)
		at := slices.IndexFunc(made, func(s *discoveryv1.EndpointSlice) bool { return equality.Semantic.DeepEqual(s.Ports, ports) })
		if at < 0 {
			at = len(made)
			made = append(made, newSlice(service, at))
			made[at].Ports = ports
		}
		made[at].Endpoints = append(made[at].Endpoints, endpointOf(service, pod))
	}
	if len(made) == 0 {
		made = append(made, newSlice(service, 0))
	}
	return made
}

func endpointOf(service *corev1.Service, pod *corev1.Pod) discoveryv1.Endpoint {
	serving := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	terminating := pod.DeletionTimestamp != nil
	ready := service.Spec.PublishNotReadyAddresses || serving && !terminating
	return discoveryv1.Endpoint{
		Addresses:  []string{pod.Status.PodIP},
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
}

// portsOf resolves the Service's target ports in a Pod, and leaves out a named
// port that the Pod does not have.
func portsOf(service *corev1.Service, pod *corev1.Pod) []discoveryv1.EndpointPort {
	ports := []discoveryv1.EndpointPort{}
	for _, port := range service.Spec.Ports {
		number := port.TargetPort.IntVal
		if port.TargetPort.Type == intstr.String {
			number = 0
			for _, container := range pod.Spec.Containers {
				for _, declared := range container.Ports {
					if declared.Name == port.TargetPort.StrVal {
						number = declared.ContainerPort
					}
				}
			}
		}
		if number != 0 {
			ports = append(ports, discoveryv1.EndpointPort{
				Name: &port.Name, Port: &number, Protocol: new(cmp.Or(port.Protocol, corev1.ProtocolTCP)),
			})
		}
	}
	return ports
}
