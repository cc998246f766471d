// Package content finds what is wrong with the content of teams that a page names. It
// does so apart from all that protects, once for each version of a ConfigMap. Its key
// is the ConfigMap.
package content

import (
	"context"
	"maps"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/internal/contract/page"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/queue"
)

const (
	// interval is the least time between two reads of one ConfigMap: a user who writes
	// it in a loop must not keep the operator busy.
	interval = time.Second
	// readTimeout bounds one read, so that none holds up the others for long.
	readTimeout = 5 * time.Second
)

// Judgements are of the contents that pages name. They are kept in memory only.
type Judgements struct {
	memory *memory.Memory
	asked  *queue.Waker
	// Changed wakes the Services whose content was judged.
	Changed *queue.Waker
}

// NewJudgements makes them.
func NewJudgements(known *memory.Memory) *Judgements {
	return &Judgements{memory: known, asked: queue.NewWaker(0), Changed: queue.NewWaker(0)}
}

// Follow asks for a judgement of the content that the page of a Service names, where
// there is none. It never waits.
func (j *Judgements) Follow(snap *decide.Snapshot) {
	if snap.Content == nil || snap.Content.Judged {
		return
	}
	key := snap.Needs().Content
	j.memory.Contents.Update(memory.ObjectKey(key), func(last *memory.Reading[[]page.Problem]) *memory.Reading[[]page.Problem] {
		if last == nil {
			return &memory.Reading[[]page.Problem]{}
		}
		return last
	})
	j.asked.Wake(key)
}

// Reconciler judges one ConfigMap per key. It protects nothing, and writes nothing.
type Reconciler struct {
	observe.Observer
	Judgements *Judgements
	// Wake wakes the status of CriticalServices.
	Wake wake.Status
}

// Setup adds the controller to the manager. One worker is enough: it takes
// milliseconds, and what it does is on the way of nothing.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("content").
		For(&corev1.ConfigMap{}, builder.OnlyMetadata).
		WatchesRawSource(r.Judgements.asked).
		WithOptions(queue.Options(1)).
		Complete(r)
}

// Reconcile reads a ConfigMap that changed since it was read last, if a page names it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	key := memory.ObjectKey(req.NamespacedName)
	last := r.Memory.Contents.Get(key)
	if last == nil {
		return ctrl.Result{}, nil // No one asked.
	}
	content, err := r.ContentMetadata(ctx, req.NamespacedName)
	if err != nil {
		return fault.Result(err)
	}
	users := r.usersOf(ctx, req.NamespacedName)
	if content == nil || len(users) == 0 {
		r.Memory.Contents.Delete(key)
		return ctrl.Result{}, nil
	}
	if last.UID == content.UID && last.Version == content.ResourceVersion {
		return ctrl.Result{}, nil
	}
	if left := last.At.Add(interval).Sub(r.Clock.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	next, err := r.judge(ctx, req.NamespacedName)
	if err != nil || next == nil {
		return fault.Result(err)
	}
	r.Memory.Contents.Set(key, *next)
	if last.UID != next.UID || !reflect.DeepEqual(last.Value, next.Value) {
		r.wakeUp(users)
	}
	return ctrl.Result{}, nil
}

// judge reads a ConfigMap from the API server, because the cache has no data; nil if
// there is none any more, which the cache is about to show. The operator may list
// ConfigMaps, and not get any by name.
func (r *Reconciler) judge(ctx context.Context, key types.NamespacedName) (*memory.Reading[[]page.Problem], error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var configs corev1.ConfigMapList
	err := r.Live.List(ctx, &configs, client.InNamespace(key.Namespace), client.MatchingFields{metav1.ObjectNameField: key.Name},
		client.MatchingLabels{criticalv2.LabelResponder: criticalv2.ResponderContent})
	if err != nil || len(configs.Items) == 0 {
		return nil, err
	}
	config := &configs.Items[0]
	files := map[string][]byte{}
	for name, text := range config.Data {
		files[name] = []byte(text)
	}
	maps.Copy(files, config.BinaryData)
	_, problems := page.Parse(files)
	return &memory.Reading[[]page.Problem]{UID: config.UID, Version: config.ResourceVersion, At: r.Clock.Now(), Value: problems}, nil
}

// usersOf are the Services whose page names a content, by the CriticalService that
// says so.
func (r *Reconciler) usersOf(ctx context.Context, key types.NamespacedName) map[string][]types.NamespacedName {
	users := map[string][]types.NamespacedName{}
	for _, policy := range observe.Policies(ctx, r.Cached) {
		named := policy.Spec.Fallback.Page
		if named == nil || named.ConfigMapName != key.Name {
			continue
		}
		observe.EachMatchedIn(ctx, r.Cached, key.Namespace, policy, func(service *corev1.Service) {
			users[policy.Name] = append(users[policy.Name], client.ObjectKeyFromObject(service))
		})
	}
	return users
}

// wakeUp wakes the Services that show the content. Their status may have waited for
// the judgement, whatever it is.
func (r *Reconciler) wakeUp(users map[string][]types.NamespacedName) {
	for policy, services := range users {
		for _, service := range services {
			r.Judgements.Changed.Wake(service)
		}
		r.Wake.Wake(types.NamespacedName{Name: policy})
	}
}
