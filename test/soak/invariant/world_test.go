package invariant

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/write"
)

const namespace = "soak"

var now = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// calm is a world in which all is well: the Service "shop" has a page, whose responder runs.
func calm() *Look {
	policy := &criticalv2.CriticalService{
		ObjectMeta: meta("policy"),
		Spec: criticalv2.CriticalServiceSpec{
			Namespaces: []string{namespace}, ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"critical": "shop"}},
			ProtectionSpec: criticalv2.ProtectionSpec{
				ActivationDelay: metav1.Duration{Duration: 2 * time.Second}, DeactivationDelay: metav1.Duration{Duration: 5 * time.Second},
				Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{}},
			},
		},
	}
	service := corev1.Service{ObjectMeta: meta("shop"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	service.Labels = map[string]string{"critical": "shop"}
	responder := pod("critical-service-responder-1", "10.0.0.9")
	responder.Labels = map[string]string{criticalv2.LabelResponder: criticalv2.ResponderServer}
	responder.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "critical-service-responder-a", UID: "replica-set", Controller: new(true)}}
	return &Look{
		At: now, Services: []corev1.Service{service}, Pods: []corev1.Pod{pod("shop-1", "10.0.0.1"), responder},
		Operators: []corev1.Pod{runs("operator-1"), runs("operator-2")}, Policies: []criticalv2.Policy{policy},
		Slices: []discoveryv1.EndpointSlice{
			slice("shop-own", "shop-1", "10.0.0.1", true),
			standby("shop-standby", "critical-service-responder-1", "10.0.0.9", false),
		},
		Others: []metav1.PartialObjectMetadata{
			ofKind("Deployment", "critical-service-responder", criticalv2.ResponderServer, "policy"),
			ofKind("ReplicaSet", "replica-set", criticalv2.ResponderServer, "critical-service-responder"),
			ofKind("ConfigMap", "critical-service-responder-table", criticalv2.ResponderListeners, "policy"),
			ofKind("Deployment", "shop-app", "", ""),
		},
		Maintenances: []criticalv2.Maintenance{{ObjectMeta: meta("move")}},
		Answered:     map[string]time.Time{"shop": now.Add(-time.Second)},
	}
}

// runs is a Pod of the operator that is ready.
func runs(name string) corev1.Pod {
	operator := pod(name, "10.0.1.1")
	operator.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	operator.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "manager"}}
	return operator
}

// meta is that of an object whose UID is its name.
func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: "1"}
}

func pod(name, address string) corev1.Pod {
	return corev1.Pod{ObjectMeta: meta(name), Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: address}}}}
}

func slice(name, pod, address string, ready bool) discoveryv1.EndpointSlice {
	s := discoveryv1.EndpointSlice{
		ObjectMeta: meta(name), AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(ready), Serving: new(true), Terminating: new(!ready)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: pod, UID: types.UID(pod)},
		}},
	}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: "shop", discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}
	return s
}

func standby(name, pod, address string, promoted bool) discoveryv1.EndpointSlice {
	s := slice(name, pod, address, promoted)
	s.Labels[discoveryv1.LabelManagedBy] = criticalv2.ManagedBy
	s.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: pod, UID: types.UID(pod)}}
	return s
}

func ofKind(kind, name, part, owner string) metav1.PartialObjectMetadata {
	object := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: kind}, ObjectMeta: meta(name)}
	if part != "" {
		object.Labels = map[string]string{criticalv2.LabelResponder: part}
	}
	if owner != "" {
		object.OwnerReferences = []metav1.OwnerReference{{Name: owner, UID: types.UID(owner)}}
	}
	return object
}

// The changes of a calm world.

func outage(look *Look)  { look.Slices[0].Endpoints = nil }
func promote(look *Look) { look.Slices[1].Endpoints[0].Conditions.Ready = new(true) }
func withdraw(look *Look) {
	look.Slices = look.Slices[:1]
}
func fallSilent(look *Look) { look.Answered["shop"] = now.Add(-silence - time.Second) }
func optOut(look *Look) {
	look.Services[0].Annotations = map[string]string{criticalv2.AnnotationCriticalService: criticalv2.OptOut}
}
func deletePolicy(look *Look) { look.Policies = nil }

// wroteTo has the operator write fields by a subresource; none is the object itself.
func wroteTo(object metav1.Object, subresource, fields string) {
	object.SetManagedFields(append(object.GetManagedFields(), metav1.ManagedFieldsEntry{Manager: "kubectl"},
		metav1.ManagedFieldsEntry{Manager: write.FieldManager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}))
}
