// Package observe reads: it makes Snapshots, and holds what the caches keep. It writes
// nothing.
package observe

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
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
	// Cached reads what the watches delivered; Live asks the API server.
	Cached, Live client.Reader
	Settings     decide.Settings
	// Memory is what was learnt before.
	Memory *memory.Memory
	// Namespaces are those that the operator watches; empty is all.
	Namespaces []string
	Clock      clock.PassiveClock
}

// IndexServiceOfSlice is the cache's index of EndpointSlices by their Service,
// so that one Service is looked up without a walk over its whole namespace.
const IndexServiceOfSlice = "service"

// IndexBackupOfSlice is the cache's index of standby slices by the backup Service
// that they publish.
const IndexBackupOfSlice = "backup"

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
		client.MatchingFields{IndexServiceOfSlice: key.Name}, client.UnsafeDisableDeepCopy)
	if err == nil {
		err = o.lookUpNameConflict(ctx, &snap)
	}
	return snap, err
}

// ObserveCached makes a Snapshot without any request to the API server, for those who
// only report.
func (o *Observer) ObserveCached(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	snap, err := o.snapshot(ctx, o.Cached, key,
		client.MatchingFields{IndexServiceOfSlice: key.Name}, client.UnsafeDisableDeepCopy)
	snap.NameConflict = o.Memory.NameConflicts.Get(key)
	return snap, err
}

// ObserveLive makes a Snapshot from what the API server has now. It costs some
// requests, and comes before every write that takes something away.
func (o *Observer) ObserveLive(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	snap, err := o.snapshot(ctx, o.Live, key, client.MatchingLabels{discoveryv1.LabelServiceName: key.Name})
	if err == nil {
		err = o.lookUpNameConflict(ctx, &snap)
	}
	return snap, err
}

func (o *Observer) snapshot(ctx context.Context, from client.Reader, key types.NamespacedName, slicesOf ...client.ListOption) (decide.Snapshot, error) {
	snap := decide.Snapshot{Now: o.Clock.Now(), Settings: o.Settings, Attempt: o.Memory.Attempts.Get(key), Refusal: o.Memory.Refusals.Get(key)}
	for _, part := range []func(context.Context, client.Reader, types.NamespacedName, *decide.Snapshot) error{
		o.readService, o.readPolicies, o.readPods, o.readResponder, o.readMaintenance,
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
	err := o.readNeeds(ctx, from, &snap)
	return snap, err
}

func (o *Observer) readService(ctx context.Context, from client.Reader, key types.NamespacedName, snap *decide.Snapshot) error {
	var err error
	if snap.Service, err = read.Existing[corev1.Service](ctx, from, key); err != nil {
		return err
	}
	namespace, err := read.Existing[corev1.Namespace](ctx, from, types.NamespacedName{Name: key.Namespace})
	if namespace != nil {
		snap.NamespaceLabels = namespace.Labels
	}
	return err
}

func (o *Observer) readPolicies(ctx context.Context, from client.Reader, _ types.NamespacedName, snap *decide.Snapshot) error {
	var policies criticalv2.CriticalServiceList
	err := from.List(ctx, &policies, client.UnsafeDisableDeepCopy)
	snap.Policies = policies.Items
	return err
}

// readPods sorts the Pods of ours into those of the Service, the responder's, and
// those of other Services.
func (o *Observer) readPods(ctx context.Context, from client.Reader, key types.NamespacedName, snap *decide.Snapshot) error {
	var pods corev1.PodList
	if err := from.List(ctx, &pods, client.InNamespace(key.Namespace), client.HasLabels{criticalv2.LabelFallbackFor}, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		switch {
		case protection.IsResponder(&pod):
			snap.Responder.Pods = append(snap.Responder.Pods, pod)
			snap.OtherFallbacks = append(snap.OtherFallbacks, pod.UID)
		case !protection.IsFallback(&pod):
		case pod.Labels[criticalv2.LabelFallbackFor] == key.Name:
			snap.Pods = append(snap.Pods, pod)
		default:
			snap.OtherFallbacks = append(snap.OtherFallbacks, pod.UID)
		}
	}
	return nil
}

func (o *Observer) readResponder(ctx context.Context, from client.Reader, key types.NamespacedName, snap *decide.Snapshot) error {
	name := types.NamespacedName{Namespace: key.Namespace, Name: criticalv2.ResponderName}
	deployment, err := read.Existing[appsv1.Deployment](ctx, from, name)
	if err != nil {
		return err
	}
	if deployment != nil && deployment.Labels[criticalv2.LabelResponder] == criticalv2.ResponderServer {
		snap.Responder.Deployment = deployment
	}
	listeners, err := read.Existing[corev1.ConfigMap](ctx, from, name)
	// Of a Service that is gone nothing is remembered, which would have to be forgotten.
	if snap.Service != nil && listeners != nil && listeners.Labels[criticalv2.LabelResponder] == criticalv2.ResponderListeners {
		snap.Responder.Table = o.table(listeners)
	}
	return err
}

// table is the table in a ConfigMap; nil where it cannot be parsed, which the
// responder's controller fixes. Each version is parsed once.
func (o *Observer) table(config *corev1.ConfigMap) *listener.Table {
	version := string(config.UID) + "/" + config.ResourceVersion
	return o.Memory.Tables.Update(config.Namespace, func(last *memory.Table) *memory.Table {
		if last != nil && last.Version == version {
			return last
		}
		table, err := listener.Parse([]byte(config.Data[listener.Key]))
		if err != nil {
			table = nil
		}
		return &memory.Table{Version: version, Table: table}
	}).Table
}

// readMaintenance reads what is announced for the Service. What stands in for it is
// taken away for its sake only when the page can, so that the cache is always enough.
func (o *Observer) readMaintenance(ctx context.Context, _ client.Reader, key types.NamespacedName, snap *decide.Snapshot) error {
	var configs corev1.ConfigMapList
	err := o.Cached.List(ctx, &configs, client.InNamespace(key.Namespace),
		client.MatchingLabels{criticalv2.LabelResponder: criticalv2.ResponderMaintenance}, client.UnsafeDisableDeepCopy)
	for i := range configs.Items {
		if configs.Items[i].Data[criticalv2.MaintenanceService] == key.Name {
			snap.Maintenance = append(snap.Maintenance, configs.Items[i])
		}
	}
	return err
}

// readNeeds reads what the fallback of the Service rests on.
func (o *Observer) readNeeds(ctx context.Context, from client.Reader, snap *decide.Snapshot) error {
	needs := snap.Needs()
	if needs.Template.Name != "" && o.mayRead(needs.Template.Namespace) {
		var err error
		if snap.Template, err = read.Existing[corev1.PodTemplate](ctx, from, needs.Template); err != nil {
			return err
		}
	}
	if needs.Content.Name != "" {
		// Nothing is taken away for its sake, so that the cache is always enough, and
		// no permission to read just any ConfigMap is needed.
		content, err := read.Existing[corev1.ConfigMap](ctx, o.Cached, needs.Content)
		if err != nil {
			return err
		}
		if content != nil && content.Labels[criticalv2.LabelResponder] == criticalv2.ResponderContent {
			snap.Content = content
		}
	}
	for _, name := range needs.Backups {
		if err := o.readBackup(ctx, from, name, snap); err != nil {
			return err
		}
	}
	return nil
}

func (o *Observer) readBackup(ctx context.Context, from client.Reader, name types.NamespacedName, snap *decide.Snapshot) error {
	service, err := read.Existing[corev1.Service](ctx, from, name)
	if err != nil {
		return err
	}
	var endpoints discoveryv1.EndpointSliceList
	if err := from.List(ctx, &endpoints, client.InNamespace(name.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: name.Name}); err != nil {
		return err
	}
	if snap.Backups == nil {
		snap.Backups = map[string]decide.Backup{}
	}
	snap.Backups[name.Name] = decide.Backup{
		Service: service,
		Slices:  slices.DeleteFunc(endpoints.Items, func(slice discoveryv1.EndpointSlice) bool { return protection.IsStandby(&slice) }),
	}
	return nil
}

// mayRead reports whether a PodTemplate may be used: the operator does not watch those
// of other namespaces.
func (o *Observer) mayRead(namespace string) bool {
	return len(o.Namespaces) == 0 || slices.Contains(o.Namespaces, namespace) ||
		namespace == o.Settings.Template.Namespace || namespace == o.Settings.OperatorNamespace
}

// lookUpNameConflict finds out whose Pod has the fallback's name, where something
// hints that there is one beside the known fallbacks: a slice lists it, or a
// create met it. It is a live read, because Pods that are not fallbacks are not
// in the cache, and it is not on the way to a first fallback.
func (o *Observer) lookUpNameConflict(ctx context.Context, snap *decide.Snapshot) error {
	if snap.Service == nil {
		return nil
	}
	nameTaken := snap.Attempt != nil && snap.Attempt.Reason == criticalv2.ReasonNameTaken
	if !nameTaken && !snap.NeedsPodLookup() {
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
