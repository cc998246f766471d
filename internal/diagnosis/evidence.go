package diagnosis

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
)

// Evidence is what was read about one Service and its surroundings, all of one
// namespace. Lists may be in any order, and in part.
type Evidence struct {
	// Now is when it was read.
	Now time.Time
	// Service is the one in outage.
	Service *corev1.Service

	// Pods are those that the Service selects. Fallback Pods are not among them.
	Pods []corev1.Pod
	// PodsUnread is true where Pods could not be read at all.
	PodsUnread bool
	// MorePods is true where Pods holds only the first of many.
	MorePods bool

	// Deployments, StatefulSets, DaemonSets and ReplicaSets are those of the
	// namespace, those that make Pods for the Service among others.
	Deployments  []appsv1.Deployment
	StatefulSets []appsv1.StatefulSet
	DaemonSets   []appsv1.DaemonSet
	ReplicaSets  []appsv1.ReplicaSet
	// WorkloadsUnread is true where one of these lists is not complete.
	WorkloadsUnread bool
	// Autoscalers are those of the namespace.
	Autoscalers []autoscalingv2.HorizontalPodAutoscaler

	// OtherPods are some that the Service does not select.
	OtherPods []corev1.Pod
	// Nodes are those that Pods are on.
	Nodes []corev1.Node
	// NodesGone names the nodes that Pods are on and that do not exist.
	NodesGone []string
	// Events are the warnings about Pods and workloads.
	Events []eventsv1.Event
}
