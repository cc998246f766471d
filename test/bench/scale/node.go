package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/bench/fakenode"
)

// fakeNodeLabel marks the fake node, so that the operator stays away from it.
const fakeNodeLabel = "bench-scale/fake"

// fakeNode is a Node without a machine: its Pods are said to run, and have addresses that lead
// nowhere. While it is there, the real nodes take no new Pods.
type fakeNode struct {
	client client.Client
	name   string
	next   netip.Addr
	// addresses of Pods, by UID: an informer may be behind what was written.
	addresses map[types.UID]netip.Addr
	cordoned  []corev1.Node
	stop      context.CancelFunc
	ended     chan struct{}
}

// startNode makes the node, cordons the real ones, and runs what a kubelet would.
func startNode(ctx context.Context, c client.Client, clients kubernetes.Interface) (*fakeNode, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	n := &fakeNode{client: c, name: newID(), next: fakePods, addresses: map[types.UID]netip.Addr{}, stop: stop, ended: make(chan struct{})}
	if err := errors.Join(n.cordon(ctx, c), n.register(ctx)); err != nil {
		close(n.ended)
		return nil, errors.Join(err, n.remove(ctx))
	}
	go func() {
		defer close(n.ended)
		n.heartbeat(ctx)
	}()
	n.kubelet(ctx, clients)
	return n, nil
}

// cordon keeps new Pods away from the nodes that there are.
func (n *fakeNode) cordon(ctx context.Context, c client.Client) error {
	var nodes corev1.NodeList
	if err := c.List(ctx, &nodes); err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if node.Spec.Unschedulable {
			continue
		}
		if err := n.setSchedulable(ctx, &node, false); err != nil {
			return err
		}
		n.cordoned = append(n.cordoned, node)
	}
	return nil
}

func (n *fakeNode) setSchedulable(ctx context.Context, node *corev1.Node, is bool) error {
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, !is)
	return n.client.Patch(ctx, node.DeepCopy(), client.RawPatch("application/merge-patch+json", patch))
}

// leaseSeconds is how long the lease of a node counts.
const leaseSeconds = 40

func (n *fakeNode) register(ctx context.Context) error {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods: resource.MustParse("10k"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{
			corev1.LabelHostname: n.name, corev1.LabelOSStable: string(corev1.Linux), fakeNodeLabel: "",
		}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Fake",
				LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			}},
		},
	}
	return errors.Join(n.client.Create(ctx, node), n.client.Create(ctx, n.lease()))
}

func (n *fakeNode) lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: n.name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &n.name, LeaseDurationSeconds: new(int32(leaseSeconds)), RenewTime: new(metav1.NowMicro()),
		},
	}
}

// heartbeat renews the lease, by which the cluster knows that the node lives.
func (n *fakeNode) heartbeat(ctx context.Context) {
	renew := time.NewTicker(leaseSeconds * time.Second / 4)
	defer renew.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-renew.C:
			if err := n.client.Patch(ctx, n.lease(), client.Merge); err != nil && ctx.Err() == nil {
				say("the fake node cannot renew its lease: %v", err)
			}
		}
	}
}

// kubelet says of each Pod of the node that it runs, and ends those that are to end.
func (n *fakeNode) kubelet(ctx context.Context, clients kubernetes.Interface) {
	ours := cache.NewFilteredListWatchFromClient(clients.CoreV1().RESTClient(), "pods", "", func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", n.name).String()
	})
	each := func(object any) {
		if err := n.run(ctx, object.(*corev1.Pod).DeepCopy()); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
			say("the fake node cannot run a Pod: %v", err)
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: ours, ObjectType: &corev1.Pod{},
		// What failed is done at the next look.
		ResyncPeriod: 10 * time.Second,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: each, UpdateFunc: func(_, object any) { each(object) },
		},
	})
	go informer.RunWithContext(ctx)
}

func (n *fakeNode) run(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return n.client.Delete(ctx, pod, client.GracePeriodSeconds(0))
	}
	before := pod.DeepCopy()
	address, has := n.addresses[pod.UID]
	if !has {
		n.next = n.next.Next()
		address, n.addresses[pod.UID] = n.next, n.next
	}
	fakenode.Run(pod, address.String())
	if slices.EqualFunc(before.Status.Conditions, pod.Status.Conditions, sameCondition) && before.Status.PodIP == pod.Status.PodIP {
		return nil
	}
	return n.client.Status().Patch(ctx, pod, client.StrategicMergeFrom(before))
}

func sameCondition(a, b corev1.PodCondition) bool { return a.Type == b.Type && a.Status == b.Status }

// remove takes the node away, and opens the real ones again. Its Pods are gone by then, or are
// collected by the cluster.
func (n *fakeNode) remove(ctx context.Context) error {
	n.stop()
	<-n.ended
	ctx = context.WithoutCancel(ctx)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}
	problems := []error{client.IgnoreNotFound(n.client.Delete(ctx, node)), client.IgnoreNotFound(n.client.Delete(ctx, n.lease()))}
	for i := range n.cordoned {
		problems = append(problems, n.setSchedulable(ctx, &n.cordoned[i], true))
	}
	return errors.Join(problems...)
}
