package wake_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/internal/controller/queue"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// woken is a queue that records which CriticalServices were woken.
type woken struct {
	queue.Requests
	names []string
}

// AddAfter implements queue.Requests.
func (w *woken) AddAfter(request reconcile.Request, _ time.Duration) {
	w.names = append(w.names, request.Name)
}

// take returns what was woken since the last time, each once.
func (w *woken) take() []string {
	names := slices.Compact(slices.Sorted(slices.Values(w.names)))
	w.names = nil
	return names
}

// seen is an observation of Service shop/web, and what was decided.
type seen struct {
	snap decide.Snapshot
	plan decide.Plan
}

// covered is the Service in outage, matched by some CriticalServices.
func covered(policies ...string) seen {
	s := seen{snap: decide.Snapshot{
		Now:     time.Unix(1_800_000_000, 0),
		Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name, Labels: map[string]string{"role": "shop"}}},
	}}
	for _, name := range policies {
		s.snap.Policies = append(s.snap.Policies, &criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1},
			Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "shop"}}},
		})
	}
	s.plan = decide.Plan{State: criticalv2.StateCovered, Reason: criticalv2.ReasonFallbackServing, Message: "It answers."}
	if len(policies) > 0 {
		s.plan.Governor = s.snap.Policies[0]
	}
	return s
}

func TestAStatusIsWokenByWhatItReports(t *testing.T) {
	tests := map[string]struct {
		change func(*seen)
		want   []string
	}{
		"nothing has changed":                   {func(*seen) {}, nil},
		"a slice was touched":                   {func(s *seen) { s.snap.Slices = []discoveryv1.EndpointSlice{{}} }, nil},
		"it has another endpoint of its own":    {func(s *seen) { s.plan.OwnReady++ }, nil},
		"something is to be written":            {func(s *seen) { s.plan.Create = &corev1.Pod{} }, nil},
		"it is looked at again soon":            {func(s *seen) { s.plan.RecheckAfter = time.Second }, nil},
		"its outage is over":                    {func(s *seen) { s.plan.State = criticalv2.StateArmed }, []string{"a", "b"}},
		"its outage is no longer covered":       {func(s *seen) { s.plan.State = criticalv2.StateExposed }, []string{"a", "b"}},
		"the reason is another":                 {func(s *seen) { s.plan.Reason = criticalv2.ReasonPortMismatch }, []string{"a"}},
		"the message is another":                {func(s *seen) { s.plan.Message = "It answers on two ports." }, []string{"a"}},
		"the API server is asked":               {func(s *seen) { s.plan.Provisional = true }, []string{"a"}},
		"another kind of fallback answers":      {func(s *seen) { s.plan.Fallback = criticalv2.FallbackKindService }, []string{"a"}},
		"a maintenance is announced":            {func(s *seen) { s.plan.Maintenance = &criticalv2.Maintenance{} }, []string{"a"}},
		"a standby is published":                {func(s *seen) { s.snap.Standby = []discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{{}}}} }, []string{"a"}},
		"the spec of one of them is another":    {func(s *seen) { s.snap.Policies[1].(*criticalv2.CriticalService).Generation = 2 }, []string{"a", "b"}},
		"one of them is made again":             {func(s *seen) { s.snap.Policies[1].(*criticalv2.CriticalService).UID = "new" }, []string{"a", "b"}},
		"one of them does not match it anymore": {func(s *seen) { s.snap.Policies = s.snap.Policies[:1] }, []string{"a", "b"}},
		"one more matches it":                   {func(s *seen) { *s = covered("a", "b", "c") }, []string{"a", "b", "c"}},
		"none matches it anymore":               {func(s *seen) { s.plan = decide.Plan{} }, []string{"a", "b"}},
		"it is gone":                            {func(s *seen) { s.snap.Service, s.plan = nil, decide.Plan{} }, []string{"a", "b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			known, queued := &memory.Memory{}, &woken{}
			status := wake.NewStatus(known)
			g.Expect(status.Start(t.Context(), queued)).To(Succeed())
			first := covered("a", "b")
			status.Judged(web, &first.snap, &first.plan)
			g.Expect(queued.take()).To(Equal([]string{"a", "b"}), "it is new")

			next := covered("a", "b")
			next.snap.Now = first.snap.Now.Add(time.Minute)
			test.change(&next)
			status.Judged(web, &next.snap, &next.plan)
			g.Expect(queued.take()).To(Equal(test.want))
			status.Judged(web, &next.snap, &next.plan)
			g.Expect(queued.take()).To(BeEmpty(), "it is known")

			late := covered("a")
			late.snap.Now = first.snap.Now.Add(-time.Minute)
			if known.Judgements.Get(web) != nil {
				status.Judged(web, &late.snap, &late.plan)
				g.Expect(queued.take()).To(BeEmpty(), "an observation that is older says nothing")
			}
		})
	}
}

func TestWhatWasNotDecidedWakesTheStatusToo(t *testing.T) {
	g := NewWithT(t)
	queued := &woken{}
	status := wake.NewStatus(&memory.Memory{})
	g.Expect(status.Start(t.Context(), queued)).To(Succeed())
	status.About(web)
	g.Expect(queued.take()).To(BeEmpty(), "no status reports the Service")
	s := covered("a", "b")
	status.Judged(web, &s.snap, &s.plan)
	queued.take()
	status.About(web)
	g.Expect(queued.take()).To(Equal([]string{"a"}))
}

func TestWhatIsDecidedOfAServiceThatWasForgottenReachesNoStatus(t *testing.T) {
	g := NewWithT(t)
	known, requests := &memory.Memory{}, &woken{}
	status := wake.NewStatus(known)
	g.Expect(status.Start(t.Context(), requests)).To(Succeed())
	s := covered("a", "b")
	g.Expect(status.Judged(web, &s.snap, &s.plan)).To(BeTrue())
	s.plan.Reason = criticalv2.ReasonPortMismatch
	requests.take()
	g.Expect(status.Amended(web, &s.snap, &s.plan)).To(BeTrue())
	g.Expect(requests.take()).To(Equal([]string{"a"}))
	known.Forget(web)
	g.Expect(status.Amended(web, &s.snap, &s.plan)).To(BeFalse())
	g.Expect(requests.take()).To(BeEmpty())
	g.Expect(known.Judgements.Get(web)).To(BeNil())
}
