package traffic

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/scale"
)

// world is a Watch, and Pods that all have the address of one server.
type world struct {
	*WithT
	watch  *Watch
	clock  *clocktesting.FakeClock
	target Target
	// asked counts the requests that came.
	asked atomic.Int64
}

func newWorld(t *testing.T, answer http.HandlerFunc, pods ...client.Object) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), clock: clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.asked.Add(1)
		answer(rw, r)
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	w.Expect(err).NotTo(HaveOccurred())
	number, err := strconv.ParseInt(port, 10, 32)
	w.Expect(err).NotTo(HaveOccurred())
	w.target = Target{Port: int32(number), Path: "/metrics", Metric: counter}
	w.watch = NewWatch(fake.NewClientBuilder().WithObjects(pods...).Build(), w.clock)
	return w
}

func key(namespace string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: "web"}
}

func (w *world) follow(namespace string) {
	w.watch.Follow(key(namespace), "1", w.target)
}

// round asks once for the WebApp of a namespace.
func (w *world) round(namespace string) {
	w.watch.round(context.Background(), key(namespace))
	w.clock.Step(period)
}

func (w *world) reads(namespace string) scale.Reading {
	return w.watch.Read(key(namespace), w.clock.Now())
}

// pod is a ready one of the WebApp.
func pod(namespace, name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(namespace + name), Labels: map[string]string{workloadsv1.LabelWebApp: "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d4f", UID: "3", Controller: new(true)}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "127.0.0.1", HostIP: "192.0.2.1",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

// A user who may edit the namespace chooses port and path, and labels Pods at will.
func TestNothingIsAskedButPodsOfTheWebApp(t *testing.T) {
	for sentence, c := range map[string]struct {
		change  func(*corev1.Pod)
		asked   int64
		counted int32
	}{
		"one of its own":                        {func(*corev1.Pod) {}, 1, 1},
		"in the network of its node":            {func(p *corev1.Pod) { p.Spec.HostNetwork = true }, 0, 1},
		"with the address of its node":          {func(p *corev1.Pod) { p.Status.HostIP = p.Status.PodIP }, 0, 1},
		"without an address":                    {func(p *corev1.Pod) { p.Status.PodIP = "" }, 0, 1},
		"one that only has the label":           {func(p *corev1.Pod) { p.OwnerReferences = nil }, 0, 0},
		"one of a ReplicaSet of another":        {func(p *corev1.Pod) { p.OwnerReferences[0].Name = "other-5d4f" }, 0, 0},
		"one of a WebApp of a longer name":      {func(p *corev1.Pod) { p.OwnerReferences[0].Name = "web-2-5d4f" }, 0, 0},
		"one of a StatefulSet":                  {func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "StatefulSet" }, 0, 0},
		"one whose owner does not control it":   {func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }, 0, 0},
		"one that is not ready":                 {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, 0, 0},
		"one that has ended":                    {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, 0, 0},
		"one of another namespace":              {func(p *corev1.Pod) { p.Namespace = "other" }, 0, 0},
		"one that says nothing of being ready":  {func(p *corev1.Pod) { p.Status.Conditions = nil }, 0, 0},
		"one that has the label of another one": {func(p *corev1.Pod) { p.Labels[workloadsv1.LabelWebApp] = "other" }, 0, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, counter+" 1\n") }, pod("shop", "a", c.change))
			w.follow("shop")
			w.round("shop")
			w.Expect(w.asked.Load()).To(Equal(c.asked))
			w.Expect(w.reads("shop").Asked).To(Equal(c.counted))
		})
	}
}

func TestTheRatesOfAllPodsAreAddedUp(t *testing.T) {
	var served atomic.Int64
	w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(rw, "%s %d\n", counter, served.Load())
	}, pod("shop", "a"), pod("shop", "b"))
	w.follow("shop")
	w.round("shop")
	w.Expect(w.reads("shop")).To(Equal(scale.Reading{Asked: 2}), "one reading says nothing")
	served.Store(500)
	w.round("shop")
	w.Expect(w.reads("shop")).To(Equal(scale.Reading{Asked: 2, Known: 2, RequestsPerSecond: 200}))

	w.target.Path = "/other"
	w.follow("shop")
	w.Expect(w.reads("shop")).To(Equal(scale.Reading{}), "another counter has no past")
	w.watch.Forget(key("shop"))
	w.round("shop")
	w.Expect(w.reads("shop")).To(Equal(scale.Reading{}))
}

func TestAnAnswerIsNotTrusted(t *testing.T) {
	endless := strings.Repeat("x 1\n", 1024)
	for sentence, answer := range map[string]http.HandlerFunc{
		"another place": func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "/metrics?again", http.StatusFound)
		},
		"an error": func(rw http.ResponseWriter, _ *http.Request) {
			http.Error(rw, counter+" 1", http.StatusInternalServerError)
		},
		"header fields without end": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("X", strings.Repeat("x", 32<<10))
			_, _ = io.WriteString(rw, counter+" 1\n")
		},
		"a text without end": func(rw http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(rw, endless); err != nil {
					return
				}
			}
		},
		"a line without end": func(rw http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(rw, "xxxxxxxxxxxxxxxx"); err != nil {
					return
				}
			}
		},
		"nothing, slowly":      func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a connection's end":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"what is no counter":   func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "<html>") },
		"a number that is not": func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, counter+" NaN\n") },
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, answer, pod("shop", "a"))
			w.follow("shop")
			w.round("shop")
			w.Expect(w.asked.Load()).To(Equal(int64(1)))
			w.Expect(w.reads("shop")).To(Equal(scale.Reading{Asked: 1}))
			w.Expect(w.watch.followed[key("shop")].pods["shopa"].readings).To(BeEmpty())
		})
	}
}

// of makes a Pod one of another WebApp.
func of(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Labels[workloadsv1.LabelWebApp] = name
		p.OwnerReferences[0].Name = name + "-5d4f"
		p.UID += types.UID(name)
		p.Name = name + "-" + p.Name
	}
}

// Pods that do not answer hold places of their own WebApp only.
func TestAWebAppWhosePodsHangDoesNotMakeAnotherUnknown(t *testing.T) {
	for sentence, other := range map[string]types.NamespacedName{
		"in its namespace": {Namespace: "slow", Name: "other"},
		"in another one":   {Namespace: "fast", Name: "other"},
	} {
		t.Run(sentence, func(t *testing.T) {
			release := make(chan struct{})
			defer close(release)
			var slowly atomic.Int64
			var pods []client.Object
			for i := range 40 {
				pods = append(pods, pod("slow", strconv.Itoa(i)), pod(other.Namespace, strconv.Itoa(i), of(other.Name)))
			}
			w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/hangs" {
					slowly.Add(1)
					<-release
				}
				_, _ = io.WriteString(rw, counter+" 1\n")
			}, pods...)
			// Those that hang do so for as long as the test needs.
			w.watch.client.Timeout = time.Minute
			hangs := w.target
			hangs.Path = "/hangs"
			w.watch.Follow(key("slow"), "1", hangs)
			w.watch.Follow(other, "2", w.target)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- w.watch.Start(ctx) }()
			w.Eventually(slowly.Load).Should(Equal(int64(perWebApp)))
			for asked := int64(40); asked <= 80; asked += 40 {
				w.Eventually(w.asked.Load).Should(Equal(asked + perWebApp))
				w.Eventually(w.isIdle).WithArguments(other).Should(BeTrue())
				w.Eventually(w.clock.HasWaiters).Should(BeTrue())
				w.clock.Step(period)
			}
			w.Expect(w.watch.Read(other, w.clock.Now()).Known).To(Equal(int32(40)))
			w.Expect(slowly.Load()).To(Equal(int64(perWebApp)))
			stop()
			w.Eventually(ended).Should(Receive(BeNil()))
		})
	}
}

// isIdle reports whether no round of a WebApp is under way.
func (w *world) isIdle(key types.NamespacedName) bool {
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	return !w.watch.busy[key]
}

// WebApps of one namespace have no more places together than it has.
func TestManyWebAppsOfANamespaceShareItsPlaces(t *testing.T) {
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	var pods []client.Object
	for i := range 8 {
		pods = append(pods, pod("shop", "a", of(strconv.Itoa(i))))
	}
	w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = io.WriteString(rw, counter+" 1\n")
	}, pods...)
	// None of them gives its place back before it is released.
	w.watch.client.Timeout = time.Minute
	var rounds sync.WaitGroup
	for i := range 8 {
		one := types.NamespacedName{Namespace: "shop", Name: strconv.Itoa(i)}
		w.watch.Follow(one, "1", w.target)
		rounds.Go(func() { w.watch.round(t.Context(), one) })
	}
	w.Eventually(w.asked.Load).Should(Equal(int64(perNamespace)))
	w.Consistently(w.asked.Load).Should(Equal(int64(perNamespace)))
	free()
	rounds.Wait()
	w.Expect(w.asked.Load()).To(Equal(int64(8)))

	for i := range 8 {
		w.watch.Forget(types.NamespacedName{Namespace: "shop", Name: strconv.Itoa(i)})
	}
	w.Expect(w.watch.due()).To(BeEmpty())
	w.Expect(w.watch.namespaces).To(BeEmpty(), "a namespace without WebApps is forgotten")
}

func TestPodsAreAskedByTheDozenAtMost(t *testing.T) {
	release := make(chan struct{})
	var now, most atomic.Int64
	var pods []client.Object
	for i := range 20 {
		for j := range 3 {
			pods = append(pods, pod(fmt.Sprintf("team-%d", i), strconv.Itoa(j)))
		}
	}
	w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) {
		defer now.Add(-1)
		for n := now.Add(1); ; {
			if seen := most.Load(); n <= seen || most.CompareAndSwap(seen, n) {
				break
			}
		}
		<-release
		_, _ = io.WriteString(rw, counter+" 1\n")
	}, pods...)
	// None of them gives its place back before it is released: the server would go on with what it began.
	w.watch.client.Timeout = time.Minute
	for i := range 20 {
		w.follow(fmt.Sprintf("team-%d", i))
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.watch.Start(ctx) }()
	w.Eventually(now.Load).Should(Equal(int64(atOnce)))
	close(release)
	w.Eventually(w.asked.Load).Should(Equal(int64(len(pods))))
	w.Expect(most.Load()).To(Equal(int64(32)))
	stop()
	w.Eventually(ended).Should(Receive(BeNil()))
}
