// Package evidence reads what package diagnosis needs to know.
//
// It reads of one namespace only, and of Nodes by name; few objects, each list with
// a limit; first the Pods of the Service, and nothing more once they explain the
// outage. What may not be read is left out, so that a person with few rights learns
// what those rights allow, and what is too large.
package evidence

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/diagnosis"
	"github.com/critical-service/operator/internal/protection"
)

// Limits bound what is read for one diagnosis.
type Limits struct {
	// Pods is how many Pods of the Service are read, and how many others.
	Pods int64
	// Workloads is how many objects of each kind are read that make Pods.
	Workloads int64
	// Nodes is how many Nodes are read.
	Nodes int
	// About is about how many objects Events are read, and Events how many about each.
	About  int
	Events int64
}

// Usual are the limits that suit an operator: some ten requests at most.
var Usual = Limits{Pods: 50, Workloads: 250, Nodes: 3, About: 3, Events: 50}

// Collect reads the Evidence about one Service. The error is that of a read that
// failed otherwise than by a missing permission; what was read before it is
// returned as well, and is not to be trusted as complete.
func Collect(ctx context.Context, reader client.Reader, service *corev1.Service, limits Limits) (diagnosis.Evidence, error) {
	return collect(ctx, reader, service, limits, time.Now())
}

func collect(ctx context.Context, reader client.Reader, service *corev1.Service, limits Limits, now time.Time) (diagnosis.Evidence, error) {
	c := collector{reader: reader, limits: limits, Evidence: diagnosis.Evidence{Now: now, Service: service, WorkloadsUnread: true}}
	if len(service.Spec.Selector) == 0 {
		return c.Evidence, nil
	}
	err := c.read(ctx)
	return c.Evidence, err
}

type collector struct {
	diagnosis.Evidence
	reader client.Reader
	limits Limits
}

// allowed reports whether a read may be relied on; a missing permission, a kind that the
// cluster does not serve, or more than the reader takes, is no error.
func allowed(err error) (bool, error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return false, nil
	}
	return err == nil, err
}

// read reads until the outage is explained.
func (c *collector) read(ctx context.Context) error {
	if err := c.readPods(ctx); err != nil {
		return err
	}
	if err := c.readNodes(ctx); err != nil {
		return err
	}
	if slices.Contains(unsettled, c.reason()) {
		if err := c.readEventsOfPods(ctx); err != nil {
			return err
		}
	}
	// A Pod without a controller explains nothing where a workload makes the Service's.
	stray := slices.ContainsFunc(c.Pods, func(pod corev1.Pod) bool { return diagnosis.IsUncontrolled(&pod) })
	if !stray && diagnosis.Diagnose(c.Evidence).IsSpecific() {
		return nil
	}
	if err := c.readWorkloads(ctx); err != nil {
		return err
	}
	return c.readSurroundings(ctx)
}

// unsettled are the causes to which events about Pods add something, or for which they
// show a better one.
var unsettled = []string{
	criticalv2.CauseNotFound, criticalv2.CausePodsStarting, criticalv2.CauseCrashLoop, criticalv2.CauseProbeFailing,
}

// reason is that of the cause by what was read so far.
func (c *collector) reason() string { return diagnosis.Diagnose(c.Evidence).Reason }

// live chooses the Pods that have not ended: the others may be many.
var live = client.MatchingFieldsSelector{Selector: fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)}

func (c *collector) readPods(ctx context.Context) error {
	err := c.listPods(ctx, live)
	if err == nil && len(c.Pods) == 0 && !c.PodsUnread && !c.MorePods {
		err = c.listPods(ctx)
	}
	return err
}

func (c *collector) listPods(ctx context.Context, chosen ...client.ListOption) error {
	var list corev1.PodList
	read, err := allowed(c.reader.List(ctx, &list, append(chosen, client.InNamespace(c.Service.Namespace),
		client.MatchingLabels(c.Service.Spec.Selector), client.Limit(c.limits.Pods))...))
	c.PodsUnread = !read
	c.MorePods = list.Continue != ""
	c.Pods = slices.DeleteFunc(list.Items, isOurs)
	return err
}

func isOurs(pod corev1.Pod) bool { return protection.IsOurs(&pod) }

// unready are the live Pods that are not ready, by name.
func (c *collector) unready() []corev1.Pod {
	return slices.SortedFunc(func(yield func(corev1.Pod) bool) {
		for _, pod := range c.Pods {
			ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			ready := slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
				return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
			})
			if !ended && !ready && pod.DeletionTimestamp == nil && !yield(pod) {
				return
			}
		}
	}, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
}

func (c *collector) readNodes(ctx context.Context) error {
	names := map[string]bool{}
	for _, pod := range c.unready() {
		if pod.Spec.NodeName != "" && len(names) < c.limits.Nodes {
			names[pod.Spec.NodeName] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		node := corev1.Node{}
		err := c.reader.Get(ctx, types.NamespacedName{Name: name}, &node)
		if apierrors.IsNotFound(err) {
			c.NodesGone = append(c.NodesGone, name)
			continue
		}
		read, err := allowed(err)
		if err != nil {
			return err
		}
		if read {
			c.Nodes = append(c.Nodes, node)
		}
	}
	return nil
}

func (c *collector) readEventsOfPods(ctx context.Context) error {
	pods := c.unready()
	for i := range pods[:min(len(pods), c.limits.About)] {
		if err := c.readEvents(ctx, pods[i].UID); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) readEvents(ctx context.Context, about types.UID) error {
	var list eventsv1.EventList
	_, err := allowed(c.reader.List(ctx, &list, client.InNamespace(c.Service.Namespace),
		client.MatchingFields{"regarding.uid": string(about)}, client.Limit(c.limits.Events)))
	c.Events = append(c.Events, list.Items...)
	return err
}

// readWorkloads reads what makes Pods in the namespace. All of it has to be read
// for anything to be concluded from what is not there.
func (c *collector) readWorkloads(ctx context.Context) error {
	var deployments appsv1.DeploymentList
	var statefulSets appsv1.StatefulSetList
	var daemonSets appsv1.DaemonSetList
	var replicaSets appsv1.ReplicaSetList
	complete := true
	for _, list := range []client.ObjectList{&deployments, &statefulSets, &daemonSets, &replicaSets} {
		read, err := allowed(c.reader.List(ctx, list, client.InNamespace(c.Service.Namespace), client.Limit(c.limits.Workloads)))
		if err != nil {
			return err
		}
		complete = complete && read && list.GetContinue() == ""
	}
	c.Deployments, c.StatefulSets = deployments.Items, statefulSets.Items
	c.DaemonSets, c.ReplicaSets = daemonSets.Items, replicaSets.Items
	c.WorkloadsUnread = !complete
	return nil
}

// readSurroundings reads what adds to what was found: events about workloads that lack
// Pods, what scales a workload, and Pods whose labels come near.
func (c *collector) readSurroundings(ctx context.Context) error {
	for _, about := range c.lacking() {
		if err := c.readEvents(ctx, about); err != nil {
			return err
		}
	}
	switch c.reason() {
	case criticalv2.CauseScaledToZero:
		var list autoscalingv2.HorizontalPodAutoscalerList
		_, err := allowed(c.reader.List(ctx, &list, client.InNamespace(c.Service.Namespace), client.Limit(c.limits.Workloads)))
		c.Autoscalers = list.Items
		return err
	case criticalv2.CauseNoMatchingPods:
		var list corev1.PodList
		_, err := allowed(c.reader.List(ctx, &list, client.InNamespace(c.Service.Namespace), client.Limit(c.limits.Pods)))
		c.OtherPods = slices.DeleteFunc(slices.Clone(list.Items), isOurs) // The list may be shared.
		return err
	default:
		return nil
	}
}

// lacking are the StatefulSets and DaemonSets that should have made Pods for the
// Service: these say in events only that they could not.
func (c *collector) lacking() []types.UID {
	hasPods := func(set metav1.Object) bool {
		return slices.ContainsFunc(c.Pods, func(pod corev1.Pod) bool { return metav1.IsControlledBy(&pod, set) })
	}
	var found []types.UID
	for i := range c.StatefulSets {
		if set := &c.StatefulSets[i]; diagnosis.Selects(c.Service, set.Spec.Template.Labels) && !hasPods(set) {
			found = append(found, set.UID)
		}
	}
	for i := range c.DaemonSets {
		if set := &c.DaemonSets[i]; diagnosis.Selects(c.Service, set.Spec.Template.Labels) && !hasPods(set) {
			found = append(found, set.UID)
		}
	}
	slices.Sort(found)
	return found[:min(len(found), c.limits.About)]
}
