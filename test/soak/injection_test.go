//go:build e2e

package soak

import (
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	rules "github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/test/soak/fault"
)

// injections do each kind of fault. They may be retried: a machine that is busy may refuse a request.
var injections = map[fault.Kind]func(w *world, step fault.Step) error{
	fault.ScaleDown: func(w *world, step fault.Step) error {
		return w.Scale(w.ctx, &appsv1.Deployment{ObjectMeta: w.meta(step.Service)}, 0)
	},
	fault.ScaleUp: func(w *world, step fault.Step) error {
		return w.Scale(w.ctx, &appsv1.Deployment{ObjectMeta: w.meta(step.Service)}, 1)
	},
	fault.DeletePods: func(w *world, step fault.Step) error {
		return w.DeleteAllOf(w.ctx, &corev1.Pod{}, client.InNamespace(w.namespace), client.MatchingLabels{"app": step.Service}, client.GracePeriodSeconds(0))
	},
	fault.DeleteSlices: func(w *world, step fault.Step) error {
		return w.DeleteAllOf(w.ctx, &discoveryv1.EndpointSlice{}, client.InNamespace(w.namespace), standbySlices(step.Service))
	},
	fault.AlterSlices: (*world).alterSlice,
	fault.EditPolicy:  (*world).editPolicy,
	fault.DeletePolicy: func(w *world, step fault.Step) error {
		return w.remove(protectionOf(step.Service).policy(w.namespace))
	},
	fault.RecreatePolicy: func(w *world, step fault.Step) error {
		return w.make(protectionOf(step.Service).policy(w.namespace))
	},
	fault.OptOut: func(w *world, step fault.Step) error {
		return w.merge(w.service(step.Service), `{"metadata":{"annotations":{%q:%q}}}`, criticalv2.AnnotationCriticalService, criticalv2.OptOut)
	},
	fault.OptIn: func(w *world, step fault.Step) error {
		return w.merge(w.service(step.Service), `{"metadata":{"annotations":{%q:null}}}`, criticalv2.AnnotationCriticalService)
	},
	fault.BeginMaintenance: func(w *world, step fault.Step) error {
		return w.make(&criticalv2.Maintenance{ObjectMeta: w.meta(step.Service), Spec: criticalv2.MaintenanceSpec{
			Services: []string{step.Service}, Message: "We move house.",
		}})
	},
	fault.EndMaintenance: func(w *world, step fault.Step) error {
		return w.remove(&criticalv2.Maintenance{ObjectMeta: w.meta(step.Service)})
	},
	fault.DeleteResponder: func(w *world, step fault.Step) error {
		var pods corev1.PodList
		responders := client.MatchingLabels{criticalv2.LabelResponder: criticalv2.ResponderServer}
		if err := w.List(w.ctx, &pods, client.InNamespace(w.namespace), responders); err != nil {
			return err
		}
		for _, pod := range one(pods.Items, step) {
			if err := client.IgnoreNotFound(w.Delete(w.ctx, &pod)); err != nil {
				return err
			}
		}
		return nil
	},
	fault.KillOperator: func(w *world, step fault.Step) error {
		pods, err := w.PodsOf(w.ctx, operator)
		if err != nil {
			return err
		}
		return w.Kill(w.ctx, one(pods, step)...)
	},
	fault.Drain:    (*world).drain,
	fault.Uncordon: func(w *world, _ fault.Step) error { return w.uncordon() },
}

func protectionOf(service string) *protection {
	return &protections[slices.IndexFunc(protections, func(p protection) bool { return p.service == service })]
}

func standbySlices(service string) client.MatchingLabels {
	return client.MatchingLabels{discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: criticalv2.ManagedBy}
}

// one is one of some Pods that are not on their way out, if there is one.
func one(pods []corev1.Pod, step fault.Step) []corev1.Pod {
	pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	if len(pods) == 0 {
		return nil
	}
	i := step.Variant % uint(len(pods))
	return pods[i : i+1]
}

// drain does what "kubectl drain" begins with, on one of the nodes that take Pods, if there are two: what a budget keeps stays.
func (w *world) drain(step fault.Step) error {
	nodes, err := w.nodes()
	nodes = slices.DeleteFunc(nodes, func(node corev1.Node) bool { return node.Spec.Unschedulable })
	if err != nil || len(nodes) < 2 {
		return err
	}
	node := &nodes[step.Variant%uint(len(nodes))]
	if err := w.merge(node, `{"spec":{"unschedulable":true}}`); err != nil {
		return err
	}
	for _, namespace := range []string{w.namespace, operator.Namespace} {
		var pods corev1.PodList
		if err := w.List(w.ctx, &pods, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range pods.Items {
			if pods.Items[i].Spec.NodeName != node.Name {
				continue
			}
			err := w.SubResource("eviction").Create(w.ctx, &pods.Items[i], &policyv1.Eviction{})
			if client.IgnoreNotFound(err) != nil && !apierrors.IsTooManyRequests(err) {
				return err
			}
		}
	}
	return nil
}

// uncordon lets Pods onto all nodes.
func (w *world) uncordon() error {
	nodes, err := w.nodes()
	for i := range nodes {
		err = errors.Join(err, w.merge(&nodes[i], `{"spec":{"unschedulable":null}}`))
	}
	return err
}

func (w *world) nodes() ([]corev1.Node, error) {
	var nodes corev1.NodeList
	err := w.List(w.ctx, &nodes)
	return nodes.Items, err
}

// alterations are what a careless hand may write into a slice.
var alterations = []func(*discoveryv1.EndpointSlice){
	func(slice *discoveryv1.EndpointSlice) { slice.Endpoints = []discoveryv1.Endpoint{} },
	func(slice *discoveryv1.EndpointSlice) {
		for i := range slice.Endpoints {
			isReady := rules.IsReady(&slice.Endpoints[i])
			slice.Endpoints[i].Conditions.Ready, slice.Endpoints[i].Conditions.Terminating = new(!isReady), new(isReady)
		}
	},
	func(slice *discoveryv1.EndpointSlice) {
		for i := range slice.Ports {
			slice.Ports[i].Port = new(int32(1))
		}
	},
	func(slice *discoveryv1.EndpointSlice) { slice.Annotations = nil },
}

// alterSlice alters one of the standby slices, if there is one: those with endpoints first, which proxies read.
func (w *world) alterSlice(step fault.Step) error {
	var list discoveryv1.EndpointSliceList
	if err := w.List(w.ctx, &list, client.InNamespace(w.namespace), standbySlices(step.Service)); err != nil || len(list.Items) == 0 {
		return err
	}
	found := list.Items
	if full := slices.DeleteFunc(slices.Clone(found), func(slice discoveryv1.EndpointSlice) bool { return len(slice.Endpoints) == 0 }); len(full) > 0 {
		found = full
	}
	slice := &found[step.Variant%uint(len(found))]
	before := slice.DeepCopy()
	alterations[step.Variant/uint(len(found))%uint(len(alterations))](slice)
	return client.IgnoreNotFound(w.Patch(w.ctx, slice, client.MergeFrom(before)))
}

// editPolicy sets one of several delays.
func (w *world) editPolicy(step fault.Step) error {
	delay := fmt.Sprintf("%ds", step.Variant%4)
	return w.merge(protectionOf(step.Service).policy(w.namespace), `{"spec":{"activationDelay":%q}}`, delay)
}
