package traffic

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/critical-service/operator/internal/controller/queue"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/scale"
)

const (
	// period is how often every Pod is asked, and timeout how long it may take to answer.
	period, timeout = 5 * time.Second, 2 * time.Second
	// How many Pods of one WebApp, of one namespace and in all are asked at the same time: Pods that
	// do not answer delay those of their own WebApp, and few others.
	perWebApp, perNamespace, atOnce = 2, 4, 32
	// maxPods is how many Pods of one WebApp are asked: as many as it may have.
	maxPods = 500
)

// Target is where the Pods of a WebApp say how much they served.
type Target struct {
	Port         int32
	Path, Metric string
}

// Watch asks the Pods of WebApps. It is a manager.Runnable of the leader.
type Watch struct {
	pods   client.Reader
	clock  clock.WithTicker
	waker  *queue.Waker
	client *http.Client
	places chan struct{}

	mu       sync.Mutex
	followed map[types.NamespacedName]*app
	// busy are the WebApps whose Pods are still being asked.
	busy map[types.NamespacedName]bool
	// namespaces are the places of each namespace of a WebApp.
	namespaces map[string]chan struct{}
}

// app is what is known of one WebApp.
type app struct {
	uid    types.UID
	target Target
	asked  int32
	pods   map[types.UID]*series
	// gone are the series of Pods that served in the window and are not there any more, oldest first.
	gone []*series
	// said is what the WebApp was woken for last.
	said string
}

// NewWatch makes a Watch, that reads Pods from a cache.
func NewWatch(pods client.Reader, now clock.WithTicker) *Watch {
	dialer := &net.Dialer{Timeout: timeout}
	return &Watch{
		pods: pods, clock: now, waker: queue.NewWaker(0), places: make(chan struct{}, atOnce),
		client: &http.Client{
			Timeout: timeout,
			// An address is all that is asked, and no other host on its behalf.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialContext: dialer.DialContext, DisableCompression: true, MaxResponseHeaderBytes: 16 << 10,
				MaxIdleConns: 2 * atOnce, MaxIdleConnsPerHost: 1, IdleConnTimeout: 3 * period,
			},
		},
		followed: map[types.NamespacedName]*app{}, busy: map[types.NamespacedName]bool{}, namespaces: map[string]chan struct{}{},
	}
}

// Source wakes a WebApp when its traffic, rounded to three digits, has become another, or known or
// unknown.
func (w *Watch) Source() source.Source { return w.waker }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (w *Watch) NeedLeaderElection() bool { return true }

// Follow asks the Pods of a WebApp from now on. Another target, or another WebApp of the name, has
// no past.
func (w *Watch) Follow(key types.NamespacedName, uid types.UID, target Target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.followed[key]; now == nil || now.uid != uid || now.target != target {
		w.followed[key] = &app{uid: uid, target: target, pods: map[types.UID]*series{}}
	}
}

// Forget asks them no more.
func (w *Watch) Forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.followed, key)
}

// Read is what is known of the traffic of a WebApp.
func (w *Watch) Read(key types.NamespacedName, now time.Time) scale.Reading {
	w.mu.Lock()
	defer w.mu.Unlock()
	if of := w.followed[key]; of != nil {
		return of.read(now)
	}
	return scale.Reading{}
}

func (a *app) read(now time.Time) scale.Reading {
	seen := scale.Reading{Asked: a.asked}
	all := slices.Clone(a.gone)
	for _, of := range a.pods {
		if of.isKnown(now) {
			seen.Known++
			all = append(all, of)
		}
	}
	if seen.Known > 0 {
		seen.RequestsPerSecond = rate(all)
	}
	return seen
}

// keep keeps the series of these Pods. What others served counts until the window is over: their traffic
// goes on with those that are left.
func (a *app) keep(pods map[types.UID]*series, now time.Time) {
	for uid, of := range a.pods {
		if pods[uid] == nil && len(of.readings) > 1 {
			a.gone = append(a.gone, of)
		}
	}
	a.gone = slices.DeleteFunc(a.gone, func(s *series) bool { return now.Sub(s.readings[len(s.readings)-1].at) > window })
	a.gone = a.gone[max(0, len(a.gone)-maxPods):]
	a.pods = pods
}

// Start implements manager.Runnable.
func (w *Watch) Start(ctx context.Context) error {
	ticker := w.clock.NewTicker(period)
	defer ticker.Stop()
	var rounds sync.WaitGroup
	defer rounds.Wait()
	for {
		for _, key := range w.due() {
			rounds.Go(func() { w.round(ctx, key) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// due are the WebApps to ask for: those whose last round is over.
func (w *Watch) due() []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	var due []types.NamespacedName
	used := map[string]bool{}
	for key := range w.followed {
		used[key.Namespace] = true
		if !w.busy[key] {
			w.busy[key] = true
			due = append(due, key)
		}
	}
	maps.DeleteFunc(w.namespaces, func(namespace string, places chan struct{}) bool { return !used[namespace] && len(places) == 0 })
	return due
}

// round asks all Pods of a WebApp.
func (w *Watch) round(ctx context.Context, key types.NamespacedName) {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.busy, key)
	}()
	target, pods, err := w.ready(ctx, key)
	if err != nil {
		return // The cache fails only while the operator stops or has not started.
	}
	places := w.placesOf(key.Namespace)
	var asking errgroup.Group
	asking.SetLimit(perWebApp)
	for i := range pods {
		asking.Go(func() error {
			if !take(ctx, places) {
				return nil
			}
			defer func() { <-places }()
			w.ask(ctx, key, target, &pods[i])
			return nil
		})
	}
	_ = asking.Wait()
	w.wake(key)
}

func (w *Watch) placesOf(namespace string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	places := w.namespaces[namespace]
	if places == nil {
		places = make(chan struct{}, perNamespace)
		w.namespaces[namespace] = places
	}
	return places
}

// take waits for a place, unless the context ends before.
func take(ctx context.Context, places chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case places <- struct{}{}:
		return true
	}
}

// ready are the Pods of a WebApp that can be asked. Those that are gone are forgotten.
func (w *Watch) ready(ctx context.Context, key types.NamespacedName) (Target, []corev1.Pod, error) {
	var all corev1.PodList
	err := w.pods.List(ctx, &all, client.InNamespace(key.Namespace), client.MatchingLabels{workloadsv1.LabelWebApp: key.Name}, client.UnsafeDisableDeepCopy)
	w.mu.Lock()
	defer w.mu.Unlock()
	of := w.followed[key]
	if err != nil || of == nil {
		return Target{}, nil, err
	}
	pods := make([]corev1.Pod, 0, min(len(all.Items), maxPods))
	kept := map[types.UID]*series{}
	of.asked = 0
	for i := range all.Items {
		pod := &all.Items[i]
		if !isReady(pod) || !isOf(key.Name, pod) || of.asked >= maxPods {
			continue
		}
		of.asked++
		if !mayBeAsked(pod) {
			continue
		}
		pods = append(pods, *pod)
		if kept[pod.UID] = of.pods[pod.UID]; kept[pod.UID] == nil {
			kept[pod.UID] = &series{}
		}
	}
	of.keep(kept, w.clock.Now())
	return of.target, pods, nil
}

func isReady(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// isOf reports whether a Pod is of a ReplicaSet of the Deployment, which has the WebApp's name: a
// label alone is on any Pod that a user gives it.
func isOf(name string, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "ReplicaSet" {
		return false
	}
	hash, is := strings.CutPrefix(owner.Name, name+"-")
	return is && !strings.Contains(hash, "-")
}

// mayBeAsked reports whether a request to the Pod's address reaches the Pod. In the network of its
// node it would reach whatever listens there: a user of the namespace chooses port and path.
func mayBeAsked(pod *corev1.Pod) bool {
	return pod.Status.PodIP != "" && pod.Status.PodIP != pod.Status.HostIP && !pod.Spec.HostNetwork
}

// ask asks one Pod, and keeps what it says.
func (w *Watch) ask(ctx context.Context, key types.NamespacedName, target Target, pod *corev1.Pod) {
	if !take(ctx, w.places) {
		return
	}
	defer func() { <-w.places }()
	count, err := w.count(ctx, pod.Status.PodIP, target)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("a Pod does not say how much it served", "webapp", key, "pod", pod.Name, "error", err.Error())
		return
	}
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if of := w.followed[key]; of != nil && of.target == target && of.pods[pod.UID] != nil {
		of.pods[pod.UID].add(now, count)
	}
}

// count reads the counter of a Pod.
func (w *Watch) count(ctx context.Context, address string, target Target) (float64, error) {
	from := url.URL{Scheme: "http", Host: net.JoinHostPort(address, strconv.Itoa(int(target.Port))), Path: target.Path}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept", "text/plain; version=0.0.4")
	response, err := w.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the answer is %s", response.Status)
	}
	count, err := sum(response.Body, target.Metric)
	if err == nil {
		_, _ = io.CopyN(io.Discard, response.Body, 1) // So that the connection can be used again.
	}
	return count, err
}

// wake wakes a WebApp whose traffic is another than the one it was woken for.
func (w *Watch) wake(key types.NamespacedName) {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	of := w.followed[key]
	if of == nil {
		return
	}
	seen := of.read(now)
	says := fmt.Sprintf("%d/%d %.3g", seen.Known, seen.Asked, seen.RequestsPerSecond)
	if says != of.said {
		of.said = says
		w.waker.Wake(key)
	}
}
