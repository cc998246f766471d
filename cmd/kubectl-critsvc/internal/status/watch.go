package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

// follow shows the list, and what changes of it, until it is interrupted. It
// watches: the API server is asked nothing twice.
func (o *options) follow(ctx context.Context, scope scope, refused refusals) error {
	ctx, stop := context.WithCancel(ctx)
	changed, errs := make(chan struct{}, 1), &watchErrors{}
	watched, err := o.watched(ctx, scope.namespace, refused, changed, errs)
	if err != nil {
		stop()
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- watched.Start(ctx) }()
	if watched.WaitForCacheSync(ctx) {
		known := doubts{}
		err = o.loop(ctx, changed, errs, func() (View, error) {
			found, err := read(ctx, watched, scope.namespace, refused)
			found.doubts = known
			return viewOf(found, scope), err
		})
	}
	if ctx.Err() != nil {
		err = nil // An interrupt is how users end it.
	}
	stop()
	return errors.Join(err, <-ended)
}

// watched is a cache of what the list is made from: of one namespace, or of all,
// and of Pods only the fallbacks. It signals every change.
func (o *options) watched(ctx context.Context, namespace string, refused refusals, changed chan struct{}, errs *watchErrors) (cache.Cache, error) {
	config, err := o.to.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme, err := access.Scheme()
	if err != nil {
		return nil, err
	}
	watched, err := cache.New(config, cacheOptions(scheme, namespace, errs))
	if err != nil {
		return nil, err
	}
	kinds := refused.policies.Kinds()
	if !refused.services {
		kinds = append(kinds, &corev1.Service{})
	}
	if !refused.slices {
		kinds = append(kinds, &discoveryv1.EndpointSlice{})
	}
	if !refused.pods {
		kinds = append(kinds, &corev1.Pod{})
	}
	for _, kind := range kinds {
		// The first list needs the cache to run, so that it is not awaited here.
		informer, err := watched.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		if _, err := informer.AddEventHandler(signalling(changed)); err != nil {
			return nil, err
		}
	}
	return watched, nil
}

func cacheOptions(scheme *runtime.Scheme, namespace string, errs *watchErrors) cache.Options {
	isFallback, _ := labels.NewRequirement(criticalv2.LabelFallbackFor, selection.Exists, nil)
	options := cache.Options{
		Scheme:                   scheme,
		ByObject:                 map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: labels.NewSelector().Add(*isFallback)}},
		DefaultTransform:         cache.TransformStripManagedFields(),
		DefaultWatchErrorHandler: errs.remember,
	}
	if namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return options
}

// signalling signals every change. A signal that was not received yet stands for any
// number of changes.
func signalling(changed chan<- struct{}) toolscache.ResourceEventHandler {
	signal := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { signal() },
		UpdateFunc: func(any, any) { signal() },
		DeleteFunc: func(any) { signal() },
	}
}

// loop shows the list at once, and after each change; and again while the operator is about
// to report an outage.
func (o *options) loop(ctx context.Context, changed <-chan struct{}, errs *watchErrors, read func() (View, error)) error {
	show := o.rows()
	var tick <-chan time.Time
	if onTerminal := output.IsTerminal(o.to.Out) && (o.format.Format() == output.Plain || o.format.Wide()); onTerminal {
		show = o.screen()
		// The ages on the screen grow though nothing changes.
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		view, err := read()
		if err != nil {
			return err
		}
		if err := show(&view, errs.notice(time.Now())); err != nil {
			return err
		}
		var again <-chan time.Time
		if view.isLate() {
			again = time.After(endpoints.Again)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-tick:
		case <-again:
		}
	}
}

// watchErrors keeps the last error of a watch. Watches are retried by themselves.
type watchErrors struct {
	mu   sync.Mutex
	last error
	at   time.Time
}

// recent is within what time a failed watch is retried, so that an older error is
// over.
const recent = time.Minute

func (e *watchErrors) remember(_ context.Context, _ *toolscache.Reflector, err error) {
	isOrdinary := errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
	if isOrdinary {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last, e.at = err, time.Now()
}

// notice says that what is shown may be old; it is empty if all is well.
func (e *watchErrors) notice(now time.Time) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last == nil || now.Sub(e.at) > recent {
		return ""
	}
	return fmt.Sprintf("what is shown may be old, because the cluster does not answer: %v", e.last)
}
