package responder

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/controllers/responder/internal/render"
)

// upgrade is an operator with another image than the responders that are there.
type upgrade struct {
	Gomega
	*Reconciler
	ctx context.Context
	now time.Time
	// refusal is what the API server answers to each apply.
	refusal error
}

func newUpgrade(t *testing.T, namespaces ...string) *upgrade {
	u := &upgrade{Gomega: NewWithT(t), ctx: t.Context(), now: time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)}
	builder := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return u.refusal
		},
	})
	for _, namespace := range namespaces {
		builder.WithObjects(u.before(namespace))
	}
	cached := builder.Build()
	u.Reconciler = &Reconciler{observer: observer{cached: cached}, client: cached, live: cached}
	return u
}

// asking is a namespace in which one Service asks for a page.
func (u *upgrade) asking(namespace, image string, deployment *appsv1.Deployment) decide.Snapshot {
	return decide.Snapshot{
		Namespace: namespace, Now: u.now, Settings: decide.Settings{Image: image}, Deployment: deployment,
		Slices: []discoveryv1.EndpointSlice{{
			ObjectMeta:  metav1.ObjectMeta{Name: "web-standby-ipv4", Namespace: namespace, Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
			AddressType: discoveryv1.AddressTypeIPv4,
		}},
		Services: []corev1.Service{{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		}},
	}
}

// before is the responder as the last operator made it, and as it has come up.
func (u *upgrade) before(namespace string) *appsv1.Deployment {
	deployment := decide.Decide(u.asking(namespace, "operator:1", nil)).Deployment
	deployment.UID, deployment.Generation = "uid", 1
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
	return deployment
}

// decides is what the operator decides for a namespace with a responder from before.
func (u *upgrade) decides(namespace string) (decide.Snapshot, decide.Plan) {
	snap := u.asking(namespace, "operator:2", u.before(namespace))
	plan, err := u.decide(u.ctx, &snap)
	u.Expect(err).NotTo(HaveOccurred())
	return snap, plan
}

// tries decides for a namespace, and applies what is decided.
func (u *upgrade) tries(namespace string) *decide.Wait {
	snap, plan := u.decides(namespace)
	u.apply(u.ctx, &snap, plan, &outcome{})
	return plan.Wait
}

func (u *upgrade) waits(namespace string) *decide.Wait {
	_, plan := u.decides(namespace)
	u.versions.drop(namespace) // It was only asked.
	return plan.Wait
}

var (
	errDenied = apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("policy"))
	errGone   = apierrors.NewNotFound(schema.GroupResource{}, "")
)

func TestWhatWasDecidedCountsUntilTheCacheShowsIt(t *testing.T) {
	u := newUpgrade(t, "a", "b")
	_, plan := u.decides("a")
	u.Expect(plan.Wait).To(BeNil())
	u.Expect(u.waits("b")).To(Equal(&decide.Wait{For: []string{"a"}}))
	u.now = u.now.Add(cacheLag + time.Second)
	u.Expect(u.waits("b")).To(BeNil(), "a is not there with the version after all")
}

func TestANamespaceThatCannotBeWrittenBlocksNoOther(t *testing.T) {
	for name, refusal := range map[string]error{
		"denied": errDenied, "gone": errGone, "no connection": errors.New("connection refused"),
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpgrade(t, "a", "b")
			u.refusal = refusal
			for range 3 {
				u.Expect(u.tries("a")).To(BeNil(), "it tries again")
				u.Expect(u.waits("b")).To(BeNil())
			}
		})
	}
}

func TestARefusedVersionCountsAsFailed(t *testing.T) {
	u := newUpgrade(t, "a", "b", "c")
	u.refusal = errDenied
	u.Expect(u.tries("a")).To(BeNil())
	u.Expect(u.tries("b")).To(BeNil())
	u.Expect(u.waits("c")).To(Equal(&decide.Wait{For: []string{"a", "b"}, Stopped: true}))
	u.now = u.now.Add(refusalCounts + time.Second)
	u.Expect(u.waits("c")).To(BeNil(), "unless they were refused again, one must try")

	u = newUpgrade(t, "a", "b", "c")
	u.refusal = errGone
	u.tries("a")
	u.tries("b")
	u.Expect(u.waits("c")).To(BeNil(), "what is gone has not failed")
}

// A namespace that has no responder yet, because a quota denies it one, is no failure of
// the version.
func TestARefusedNewResponderDoesNotStopAVersion(t *testing.T) {
	u := newUpgrade(t, "c")
	u.refusal = errDenied
	for _, namespace := range []string{"a", "b"} {
		snap := u.asking(namespace, "operator:2", nil)
		plan, err := u.decide(u.ctx, &snap)
		u.Expect(err).NotTo(HaveOccurred())
		var done outcome
		u.apply(u.ctx, &snap, plan, &done)
		u.Expect(done.denied()).NotTo(BeEmpty())
	}
	u.Expect(u.waits("c")).To(BeNil())
}

// Whatever an editor does to the Deployment: five minutes after it was first seen under
// way, it counts as failed.
func TestAnEditorCannotKeepARolloutUnderWay(t *testing.T) {
	since := func(u *upgrade, d *appsv1.Deployment) {
		d.Annotations[render.AnnotationVersionSince] = u.now.Format(time.RFC3339)
	}
	for name, edit := range map[string]func(u *upgrade, minute int, next *appsv1.Deployment) *appsv1.Deployment{
		"by another time": func(u *upgrade, _ int, next *appsv1.Deployment) *appsv1.Deployment {
			since(u, next)
			return next
		},
		"by deleting it again and again": func(u *upgrade, minute int, next *appsv1.Deployment) *appsv1.Deployment {
			since(u, next)
			if minute%2 == 1 {
				return nil
			}
			return next
		},
		"by another version now and then": func(u *upgrade, minute int, next *appsv1.Deployment) *appsv1.Deployment {
			since(u, next)
			if minute%2 == 1 {
				next.Annotations[render.AnnotationVersion] = "another"
			}
			return next
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpgrade(t, "b")
			start := u.now
			for minute := range 8 {
				u.now = start.Add(time.Duration(minute) * time.Minute)
				next := u.asking("evil", "operator:2", nil)
				edited := edit(u, minute, decide.Decide(next).Deployment)
				if edited != nil {
					u.Expect(u.cached.(client.Client).Create(u.ctx, edited)).To(Succeed())
				}
				wait := u.waits("b")
				if minute == 0 {
					u.Expect(wait).To(Equal(&decide.Wait{For: []string{"evil"}}))
				}
				if minute > 5 {
					u.Expect(wait).To(BeNil(), "minute %d", minute)
				}
				if edited != nil {
					u.Expect(u.cached.(client.Client).Delete(u.ctx, edited)).To(Succeed())
				}
			}
			u.Expect(u.versions.seen).To(HaveKey("evil"))
			u.now = u.now.Add(forgetAfter + time.Minute)
			u.waits("b")
			u.Expect(u.versions.seen).To(BeEmpty(), "what is gone is forgotten")
		})
	}
}

// The same where the version is taken back after each write, so that it is decided again.
func TestDecidingAgainAndAgainIsNotUnderWayForEver(t *testing.T) {
	u := newUpgrade(t, "a", "b")
	start := u.now
	for minute := range 8 {
		u.now = start.Add(time.Duration(minute) * time.Minute)
		u.decides("a")
		wait := u.waits("b")
		if minute <= 5 {
			u.Expect(wait).NotTo(BeNil())
		} else {
			u.Expect(wait).To(BeNil())
		}
	}
}

// A drain takes Pods of many namespaces at once, long after they have come up.
func TestANamespaceThatCameUpWithAVersionIsNoFailureOfItLater(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1_900_000_000, 0)
	var known versions
	seen := func(version string, progress decide.Progress) decide.Progress {
		neighbours := map[string]decide.Neighbour{"shop": {Namespace: "shop", Version: version, Progress: progress}}
		known.complete(neighbours, "asking", "next", now)
		return neighbours["shop"].Progress
	}
	g.Expect(seen("next", decide.Failed)).To(Equal(decide.Failed), "it has not come up so far")
	g.Expect(seen("next", decide.Complete)).To(Equal(decide.Complete))
	g.Expect(seen("next", decide.Failed)).To(Equal(decide.Complete))
	g.Expect(seen("next", decide.Underway)).To(Equal(decide.Complete))
	g.Expect(seen("last", decide.Failed)).To(Equal(decide.Failed))
	g.Expect(seen("next", decide.Failed)).To(Equal(decide.Failed), "it has to come up again")
}

// Who waits for a namespace is woken once, when that has failed or come up.
func TestWhatTheCacheShowsCountsAndNotWhatWasIntended(t *testing.T) {
	u := newUpgrade(t, "shop")
	_, plan := u.decides("shop")
	u.Expect(plan.Deployment).NotTo(BeNil())
	u.Expect(u.versions.intended).To(HaveKey("shop"))
	wanted := decide.NeighbourOf(plan.Deployment, u.now)
	seen := func(cached decide.Neighbour) decide.Neighbour {
		neighbours := map[string]decide.Neighbour{"shop": cached}
		u.versions.complete(neighbours, "asking", plan.Version, u.now)
		return neighbours["shop"]
	}
	u.Expect(seen(decide.NeighbourOf(u.before("shop"), u.now))).To(Equal(wanted), "it was decided a moment ago")
	failed := wanted
	failed.Progress = decide.Failed
	u.Expect(seen(failed)).To(Equal(failed))
}
