// Package observe reads: it makes Snapshots, and holds what the caches keep. It writes
// nothing.
package observe

import (
	"context"
	"slices"

	"github.com/critical-service/operator/internal/protection"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

// Observer makes Snapshots. It is the only place that reads.
type Observer struct {
	// Cached reads what the watches delivered; Live asks the API server.
	Cached, Live client.Reader
	Settings     decide.Settings
	Attempts     *memory.Answers[decide.Attempt]
	Refusals     *memory.Answers[decide.Refusal]
	Causes       *memory.Answers[criticalv2.OutageCause]
	Checks       *memory.Answers[summary.Check]
	// Untested tells that nobody tests standbys.
	Untested bool
	// NameConflicts are the Pods of others that were found to have a fallback's name.
	NameConflicts *memory.Answers[corev1.Pod]
	Tables        *memory.Tables
	// Namespaces are those that the operator looks at; empty is all.
	Namespaces []string
	Clock      clock.PassiveClock
}

// IndexServiceOfSlice is the cache's index of EndpointSlices by their Service,
// so that one Service is looked up without a walk over its whole namespace.
const IndexServiceOfSlice = "service"

// IndexBackupOfSlice is the cache's index of standby slices by the backup Service
// that they publish.
const IndexBackupOfSlice = "backup"

func BackupOfSlice(object client.Object) []string {
	if name := object.GetAnnotations()[criticalv2.AnnotationBackup]; name != "" {
		return []string{name}
	}
	return nil
}

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

// ObserveCached makes a Snapshot without any question to the API server, for those who
// only want to tell how things are.
func (o *Observer) ObserveCached(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	snap, err := o.snapshot(ctx, o.Cached, key,
		client.MatchingFields{IndexServiceOfSlice: key.Name}, client.UnsafeDisableDeepCopy)
	snap.Namesake = o.NameConflicts.Get(key)
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
	snap := decide.Snapshot{Now: o.Clock.Now(), Settings: o.Settings, Attempt: o.Attempts.Get(key), Refusal: o.Refusals.Get(key)}
	for _, read := range []func(context.Context, client.Reader, types.NamespacedName, *decide.Snapshot) error{
		o.readService, o.readPolicies, o.readPods, o.readResponder, o.readMaintenance,
	} {
		if err := read(ctx, from, key, &snap); err != nil {
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
	service, namespace := &corev1.Service{}, &corev1.Namespace{}
	service, err := Found(service, from.Get(ctx, key, service))
	if err != nil {
		return err
	}
	snap.Service = service
	namespace, err = Found(namespace, from.Get(ctx, types.NamespacedName{Name: key.Namespace}, namespace))
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
			snap.Strangers = append(snap.Strangers, pod.UID)
		case !protection.IsFallback(&pod):
		case pod.Labels[criticalv2.LabelFallbackFor] == key.Name:
			snap.Pods = append(snap.Pods, pod)
		default:
			snap.Strangers = append(snap.Strangers, pod.UID)
		}
	}
	return nil
}

func (o *Observer) readResponder(ctx context.Context, from client.Reader, key types.NamespacedName, snap *decide.Snapshot) error {
	name := types.NamespacedName{Namespace: key.Namespace, Name: criticalv2.ResponderName}
	deployment, listeners := &appsv1.Deployment{}, &corev1.ConfigMap{}
	deployment, err := Found(deployment, from.Get(ctx, name, deployment))
	if err != nil {
		return err
	}
	if deployment != nil && deployment.Labels[criticalv2.LabelResponder] == criticalv2.ResponderServer {
		snap.Responder.Deployment = deployment
	}
	listeners, err = Found(listeners, from.Get(ctx, name, listeners))
	if listeners != nil && listeners.Labels[criticalv2.LabelResponder] == criticalv2.ResponderListeners {
		snap.Responder.Table = o.Tables.Of(listeners)
	}
	return err
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
		template := &corev1.PodTemplate{}
		var err error
		if snap.Template, err = Found(template, from.Get(ctx, needs.Template, template)); err != nil {
			return err
		}
	}
	if needs.Content.Name != "" {
		// Nothing is taken away for its sake, so that the cache is always enough, and
		// no permission to read just any ConfigMap is needed.
		content := &corev1.ConfigMap{}
		content, err := Found(content, o.Cached.Get(ctx, needs.Content, content))
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
	service := &corev1.Service{}
	service, err := Found(service, from.Get(ctx, name, service))
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

// mayRead tells whether a PodTemplate may be used: those of other namespaces than
// these the operator does not even look at.
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
	if !nameTaken && !snap.Namesakes() {
		o.NameConflicts.Forget(client.ObjectKeyFromObject(snap.Service))
		return nil
	}
	pod := &corev1.Pod{}
	key := types.NamespacedName{Namespace: snap.Service.Namespace, Name: snap.PodName()}
	pod, err := Found(pod, o.Live.Get(ctx, key, pod))
	if err != nil {
		return err
	}
	if pod != nil && !protection.IsFallback(pod) {
		snap.Namesake = pod
		o.NameConflicts.Set(client.ObjectKeyFromObject(snap.Service), corev1.Pod{ObjectMeta: slimMeta(pod.ObjectMeta)})
		return nil
	}
	o.NameConflicts.Forget(client.ObjectKeyFromObject(snap.Service))
	if pod != nil && !slices.ContainsFunc(snap.Pods, func(known corev1.Pod) bool { return known.UID == pod.UID }) {
		// A fallback that the cache does not know: it is new, or lost its label.
		snap.Pods = append(snap.Pods, *pod)
	}
	if nameTaken {
		// The name is free, or ours: the answer is out of date.
		o.Attempts.Forget(client.ObjectKeyFromObject(snap.Service))
		snap.Attempt = nil
	}
	return nil
}

// Found turns "not found" into nil, which is how a Snapshot says it.
func Found[T any](object *T, err error) (*T, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	default:
		return object, nil
	}
}

// Check is what is known of a Service's standby: nil if it is yet to be tested. One
// that nobody tests, or that is not there, has nothing to be found out.
func (o *Observer) Check(key types.NamespacedName, snap *decide.Snapshot) *summary.Check {
	if o.Untested || !Publishes(snap) {
		return &summary.Check{}
	}
	return o.Checks.Get(key)
}

// Publishes reports whether there is an endpoint to ask.
func Publishes(snap *decide.Snapshot) bool {
	for i := range snap.Standby {
		if len(snap.Standby[i].Endpoints) > 0 {
			return true
		}
	}
	return false
}
