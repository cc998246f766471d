// Package observe reads: it makes Snapshots, and holds what the caches keep. It writes
// nothing.
package observe

import (
	"context"
	"errors"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/protection"
)

// Observer makes Snapshots.
type Observer struct {
	// Cached reads what the watches delivered; Live asks the API server, and takes no
	// answer that is too large.
	Cached, Live client.Reader
	Settings     decide.Settings
	// Memory is what was learnt before.
	Memory *memory.Memory
	// Namespaces are those that the operator watches; empty is all.
	Namespaces []string
	Clock      clock.PassiveClock
	// LivePolicies shares what is read live of policies.
	LivePolicies *PolicyReader
	// NoTenants is true where ServiceFallbacks are ignored, and not watched.
	NoTenants bool
}

// IndexBackupOfSlice is the cache's index of standby slices by the backup Service
// that they publish.
const IndexBackupOfSlice = "backup"

// IndexPageOfSlice is the cache's index of the standby slices of pages, by OfPage.
const IndexPageOfSlice = "standby-page"

// OfPage chooses the standby slices of pages in the cache.
var OfPage = client.MatchingFields{IndexPageOfSlice: "true"}

// PageOfSlice marks the standby slices of pages, as the index wants it.
func PageOfSlice(object client.Object) []string {
	if protection.IsOfPage(object) {
		return []string{"true"}
	}
	return nil
}

// ServicesOfMaintenance are the Services that a Maintenance is about, as the index wants
// them.
func ServicesOfMaintenance(object client.Object) []string {
	if maintenance, isMaintenance := object.(*criticalv2.Maintenance); isMaintenance {
		return maintenance.Spec.Services
	}
	return nil
}

// maxMaintenances is how many maintenances of one Service are looked at: one is
// announced at a time, and any user of a namespace can write thousands.
const maxMaintenances = 64

// BackupOfSlice is the backup Service that a slice publishes, as the index wants it.
func BackupOfSlice(object client.Object) []string {
	if name := object.GetAnnotations()[criticalv2.AnnotationBackup]; name != "" {
		return []string{name}
	}
	return nil
}

// ServiceOfSlice is the Service that a slice is of, as the index wants it.
func ServiceOfSlice(object client.Object) []string {
	if name := object.GetLabels()[discoveryv1.LabelServiceName]; name != "" {
		return []string{name}
	}
	return nil
}

// Observe makes a Snapshot from the caches. Nothing in it may be changed: it
// shares memory with them.
func (o *Observer) Observe(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	snap, err := o.snapshot(ctx, o.Cached, key,
		client.MatchingFields{protection.IndexServiceOfSlice: key.Name}, client.UnsafeDisableDeepCopy)
	if err == nil {
		err = o.lookUpNameConflict(ctx, &snap)
	}
	return snap, err
}

// ObserveCached makes a Snapshot without any request to the API server, for those who
// must not wait, or only report.
func (o *Observer) ObserveCached(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	snap, err := o.snapshot(ctx, o.Cached, key,
		client.MatchingFields{protection.IndexServiceOfSlice: key.Name}, client.UnsafeDisableDeepCopy)
	if known := o.Memory.Lookups.Get(key); known != nil {
		snap.NameConflict = known.Conflict
	}
	return snap, err
}

// NeedsLookup reports whether only the API server can say whose Pod has the fallback's
// name, and was not asked yet about the Pods that are listed now.
func (o *Observer) NeedsLookup(key types.NamespacedName, snap *decide.Snapshot) bool {
	if !snap.IsGoverned() {
		return false
	}
	unknown, known := snap.Unknown(), o.Memory.Lookups.Get(key)
	return len(unknown) > 0 && (known == nil || !slices.Equal(known.Of, unknown))
}

// ObserveLive makes a Snapshot from what the API server has now. It costs some
// requests, and comes before every write that takes something away.
func (o *Observer) ObserveLive(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	snap, err := o.snapshot(ctx, o.Live, key, client.MatchingLabels{discoveryv1.LabelServiceName: key.Name})
	if err == nil {
		err = errors.Join(o.confirmTemplate(ctx, &snap), o.lookUpNameConflict(ctx, &snap))
	}
	return snap, err
}

// ObserveWithdrawal makes a Snapshot of a Service that nothing asks to protect any more.
// What says so is read live: the CriticalServices, and the Service if one of them may match
// it. What goes is as the caches have it, and is deleted only if it still is so.
func (o *Observer) ObserveWithdrawal(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	snap, err := o.ObserveCached(ctx, key)
	if err == nil {
		err = o.readPolicies(ctx, o.Live, key, &snap)
	}
	mayMatch := func(policy criticalv2.Policy) bool {
		return protection.IsActive(policy) && criticalv2.ReachesNamespace(policy, key.Namespace)
	}
	if err == nil && slices.ContainsFunc(snap.Policies, mayMatch) {
		err = o.readService(ctx, o.Live, key, &snap)
	}
	return snap, err
}

func (o *Observer) snapshot(ctx context.Context, from client.Reader, key types.NamespacedName, slicesOf ...client.ListOption) (decide.Snapshot, error) {
	snap := decide.Snapshot{
		Now: o.Clock.Now(), Settings: o.Settings,
		Attempt: o.Memory.Attempts.Get(key), Refusal: o.Memory.Refusals.Get(key), Silent: o.Memory.Silent(key),
	}
	for _, part := range []func(context.Context, client.Reader, types.NamespacedName, *decide.Snapshot) error{
		o.readService, o.readPolicies, o.readPods, o.readMaintenances,
	} {
		if err := part(ctx, from, key, &snap); err != nil {
			return snap, err
		}
	}
	var endpoints discoveryv1.EndpointSliceList
	if err := from.List(ctx, &endpoints, append(slicesOf, client.InNamespace(key.Namespace))...); err != nil {
		return snap, err
	}
	for _, slice := range endpoints.Items {
		if protection.IsStandby(&slice) {
			snap.Standby = append(snap.Standby, slice)
		} else {
			snap.Slices = append(snap.Slices, slice)
		}
	}
	if err := o.readResponder(ctx, from, key, &snap); err != nil {
		return snap, err
	}
	err := o.readNeeds(ctx, from, &snap)
	return snap, err
}

func (o *Observer) readService(ctx context.Context, from client.Reader, key types.NamespacedName, snap *decide.Snapshot) error {
	var err error
	if snap.Service, err = read.Existing[corev1.Service](ctx, from, key); err != nil {
		return err
	}
	if from == o.Live && snap.Service != nil {
		snap.Service = slimService(snap.Service) // What is too large for the cache is so in both.
	}
	namespace, err := read.Existing[corev1.Namespace](ctx, from, types.NamespacedName{Name: key.Namespace})
	if namespace != nil {
		snap.NamespaceLabels = namespace.Labels
	}
	return err
}

func (o *Observer) readPolicies(ctx context.Context, from client.Reader, key types.NamespacedName, snap *decide.Snapshot) error {
	var err error
	if from == o.Live {
		snap.Policies, err = o.LivePolicies.List(ctx, key.Namespace)
	} else {
		snap.Policies, err = policies(ctx, from, key.Namespace)
	}
	return err
}

// readPods sorts the Pods of ours into those of the Service, the responder's, and
// those of other Services.
func (o *Observer) readPods(ctx context.Context, from client.Reader, key types.NamespacedName, snap *decide.Snapshot) error {
	pods, err := o.pods(ctx, from, key)
	if err != nil {
		return err
	}
	for i := range pods {
		switch pod := &pods[i]; {
		case protection.IsResponder(pod):
			snap.Responder.Pods = append(snap.Responder.Pods, *pod)
			snap.OtherFallbacks = append(snap.OtherFallbacks, pod)
		case !protection.IsFallback(pod):
		case pod.Labels[criticalv2.LabelFallbackFor] == key.Name:
			snap.Pods = append(snap.Pods, *pod)
		default:
			snap.OtherFallbacks = append(snap.OtherFallbacks, pod)
		}
	}
	return nil
}

// pods are those of ours in the namespace. Only those of the Service and the responder's
// are ever read live: of the others there may be thousands.
func (o *Observer) pods(ctx context.Context, from client.Reader, key types.NamespacedName) ([]corev1.Pod, error) {
	var cached, live corev1.PodList
	in := client.InNamespace(key.Namespace)
	err := o.Cached.List(ctx, &cached, in, client.HasLabels{criticalv2.LabelFallbackFor}, client.UnsafeDisableDeepCopy)
	if err != nil || from != o.Live {
		return cached.Items, err
	}
	concerned, err := labels.NewRequirement(criticalv2.LabelFallbackFor, selection.In, []string{key.Name, ""})
	if err != nil {
		return nil, err
	}
	if err := o.Live.List(ctx, &live, in, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*concerned)}); err != nil {
		return nil, err
	}
	for i := range live.Items {
		live.Items[i] = *slimPod(&live.Items[i])
	}
	for i := range cached.Items {
		pod := &cached.Items[i]
		isRead := func(read corev1.Pod) bool { return read.UID == pod.UID }
		if !concerned.Matches(labels.Set(pod.Labels)) && !slices.ContainsFunc(live.Items, isRead) {
			live.Items = append(live.Items, *pod)
		}
	}
	return live.Items, nil
}

// readResponder reads the responder of the namespace, where a page may answer for the
// Service: any user of a namespace can write something of that name, and what no
// CriticalService asks for must cost nothing.
func (o *Observer) readResponder(ctx context.Context, from client.Reader, key types.NamespacedName, snap *decide.Snapshot) error {
	if !snap.NeedsResponder() {
		return nil
	}
	name := types.NamespacedName{Namespace: key.Namespace, Name: criticalv2.ResponderName}
	deployment, err := read.Existing[appsv1.Deployment](ctx, from, name)
	if err != nil {
		return err
	}
	if deployment != nil && deployment.Labels[criticalv2.LabelResponder] == criticalv2.ResponderServer {
		snap.Responder.Deployment = deployment
	}
	listeners, err := read.Existing[corev1.ConfigMap](ctx, from, name)
	switch {
	case err != nil:
		return err
	case snap.Service == nil:
		// Of a Service that is gone nothing is remembered, which would have to be forgotten.
	case listeners != nil && listeners.Labels[criticalv2.LabelResponder] == criticalv2.ResponderListeners:
		snap.Responder.Listeners = o.Table(ctx, listeners)[key.Name]
	default:
		o.Memory.Tables.Delete(key.Namespace)
	}
	return nil
}

// Table is the table in a ConfigMap, by Service; empty where it cannot be parsed, which
// the responder's controller fixes.
func (o *Observer) Table(ctx context.Context, config *corev1.ConfigMap) map[string][]listener.Listener {
	version := string(config.UID) + "/" + config.ResourceVersion
	return o.Memory.Tables.Parsed(config.Namespace, version, func() map[string][]listener.Listener {
		o.forgetTables(ctx)
		table, err := listener.Parse([]byte(config.Data[listener.Key]))
		if err != nil {
			return nil
		}
		return table.ByService()
	})
}

// forgetTables drops the tables of namespaces that have none any more. No Service of
// such a namespace need be left that would notice.
func (o *Observer) forgetTables(ctx context.Context) {
	for _, namespace := range o.Memory.Tables.Keys() {
		config, err := read.Existing[corev1.ConfigMap](ctx, o.Cached, types.NamespacedName{Namespace: namespace, Name: criticalv2.ResponderName})
		if err == nil && config == nil {
			o.Memory.Tables.Delete(namespace)
		}
	}
}

// readMaintenances reads what is announced for the Service. What stands in for it is
// taken away for its sake only when the page can, so that the cache is always enough.
func (o *Observer) readMaintenances(ctx context.Context, _ client.Reader, key types.NamespacedName, snap *decide.Snapshot) error {
	if !snap.IsGoverned() {
		return nil
	}
	var all criticalv2.MaintenanceList
	if err := o.Cached.List(ctx, &all, client.InNamespace(key.Namespace),
		client.MatchingFields{protection.IndexServicesOfMaintenance: key.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	snap.Maintenances = slices.DeleteFunc(all.Items, func(m criticalv2.Maintenance) bool { return m.Status.Ended != nil })
	if skipped := len(snap.Maintenances) - maxMaintenances; skipped > 0 {
		slices.SortFunc(snap.Maintenances, func(a, b criticalv2.Maintenance) int { return strings.Compare(a.Name, b.Name) })
		snap.Maintenances = snap.Maintenances[:maxMaintenances]
		ctrl.LoggerFrom(ctx).V(1).Info("skipping maintenances of a Service that has too many; the first by name count", "skipped", skipped)
	}
	return nil
}

// lookUpNameConflict finds out whose Pod has the fallback's name, where something
// hints that there is one beside the known fallbacks: a slice lists it, or a
// create met it. It is a live read, because Pods that are not fallbacks are not
// in the cache, and it is not on the way to a first fallback.
func (o *Observer) lookUpNameConflict(ctx context.Context, snap *decide.Snapshot) error {
	if snap.Service == nil {
		return nil
	}
	nameTaken := snap.Attempt.IsNameTaken()
	if !nameTaken && len(snap.Unknown()) == 0 {
		return nil
	}
	pod, err := read.Existing[corev1.Pod](ctx, o.Live, types.NamespacedName{Namespace: snap.Service.Namespace, Name: snap.PodName()})
	if err != nil {
		return err
	}
	if pod != nil && !protection.IsFallback(pod) {
		snap.NameConflict = pod
		return nil
	}
	if pod != nil && !slices.ContainsFunc(snap.Pods, func(known corev1.Pod) bool { return known.UID == pod.UID }) {
		// A fallback that the cache does not know: it is new, or lost its label.
		snap.Pods = append(snap.Pods, *pod)
	}
	if nameTaken {
		snap.Attempt = nil // The name is free, or ours: the answer is out of date.
	}
	return nil
}
