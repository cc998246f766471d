package protect

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/cause"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
)

func TestWhatIsRememberedOfAnObservation(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	attempt := decide.Attempt{Reason: criticalv2.ReasonNameTaken}
	governed, unmatched := decide.Plan{Governor: &criticalv2.CriticalService{}}, decide.Plan{}
	theirs := corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "theirs", Annotations: map[string]string{"a": "long one"}}}
	tests := map[string]struct {
		snap              decide.Snapshot
		plan              decide.Plan
		done              outcome
		attempt, conflict bool
	}{
		"the answer is still true":    {decide.Snapshot{Service: service, Attempt: &attempt}, governed, outcome{}, true, false},
		"the answer is out of date":   {decide.Snapshot{Service: service}, governed, outcome{}, false, false},
		"there is a new answer":       {decide.Snapshot{Service: service}, governed, outcome{asked: true}, true, false},
		"another Pod has the name":    {decide.Snapshot{Service: service, Attempt: &attempt, NameConflict: &theirs}, governed, outcome{}, true, true},
		"no CriticalService matches":  {decide.Snapshot{Service: service, Attempt: &attempt, NameConflict: &theirs}, unmatched, outcome{}, false, false},
		"the Service is gone, and it": {decide.Snapshot{Attempt: &attempt, NameConflict: &theirs}, unmatched, outcome{}, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			known := &memory.Memory{}
			r := &Reconciler{Observer: observe.Observer{Memory: known}, Wake: wake.NewStatus(known)}
			r.Memory.Attempts.Set(key, attempt)
			r.Memory.NameConflicts.Set(key, corev1.Pod{})
			r.remember(key, &test.snap, test.plan, test.done)
			g.Expect(r.Memory.Attempts.Get(key) != nil).To(Equal(test.attempt), "attempt")
			conflict := r.Memory.NameConflicts.Get(key)
			g.Expect(conflict != nil).To(Equal(test.conflict), "name conflict")
			if conflict != nil {
				g.Expect(conflict.UID).To(Equal(theirs.UID))
				g.Expect(conflict.Annotations).To(BeEmpty(), "what others write is not kept")
			}
		})
	}
}

func TestWhatCountsAsAnActivation(t *testing.T) {
	promoted := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage}},
		Endpoints:  []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
	}
	governor := &criticalv2.CriticalService{}
	tests := map[string]struct {
		plan decide.Plan
		done outcome
		want metrics.Activation
	}{
		"no CriticalService governs": {decide.Plan{}, outcome{}, metrics.Activation{}},
		"the Service answers":        {decide.Plan{Governor: governor, OwnReady: 1}, outcome{}, metrics.Activation{}},
		"it is in outage":            {decide.Plan{Governor: governor}, outcome{}, metrics.Activation{InOutage: true}},
		"a standby is promoted": {
			decide.Plan{Governor: governor}, outcome{published: []*discoveryv1.EndpointSlice{promoted}},
			metrics.Activation{InOutage: true, Promoted: criticalv2.FallbackKindPage},
		},
		"a Pod is made":   {decide.Plan{Governor: governor}, outcome{created: &corev1.Pod{}}, metrics.Activation{InOutage: true, Created: true}},
		"a Pod is denied": {decide.Plan{Governor: governor}, outcome{denied: "podTemplate"}, metrics.Activation{InOutage: true, Denied: "podTemplate"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(activation(&decide.Snapshot{}, &test.plan, &test.done)).To(Equal(test.want))
		})
	}
}

// away is an API server that does not answer.
type away struct{ client.Reader }

// Get implements client.Reader.
func (away) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("connection refused")
}

// The status of a CriticalService waits for each of its Services.
func TestAServiceThatCannotBeObservedIsJudgedByTheCaches(t *testing.T) {
	g := NewWithT(t)
	key, labels := types.NamespacedName{Namespace: "shop", Name: "web"}, map[string]string{"role": "critical"}
	observer, _ := observetest.Of(t,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: labels}},
		&criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Name: "shop"},
			Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: labels}},
		})
	observer.Live = away{}
	observer.Memory.Attempts.Set(key, decide.Attempt{Reason: criticalv2.ReasonNameTaken})
	r := &Reconciler{Observer: observer, Wake: wake.NewStatus(observer.Memory)}
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	g.Expect(err).To(MatchError(ContainSubstring("connection refused")))
	g.Expect(observer.Memory.Judgements.Get(key).State).To(Equal(criticalv2.StateIgnored), "it has no selector")
}

// What the API server has answered to a write is reported with the write.
func TestAnAnswerIsJudgedAtOnce(t *testing.T) {
	g := NewWithT(t)
	key, labels := types.NamespacedName{Namespace: "shop", Name: "web"}, map[string]string{"role": "critical"}
	known := &memory.Memory{}
	r := &Reconciler{Observer: observe.Observer{Memory: known}, Wake: wake.NewStatus(known)}
	snap := decide.Snapshot{
		Service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: labels},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		},
		Policies: []criticalv2.CriticalService{{
			ObjectMeta: metav1.ObjectMeta{Name: "shop"},
			Spec: criticalv2.CriticalServiceSpec{
				ServiceSelector: metav1.LabelSelector{MatchLabels: labels}, Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{}},
			},
		}},
		Slices: []discoveryv1.EndpointSlice{{AddressType: discoveryv1.AddressTypeIPv4}},
	}
	r.judge(key, &snap, decide.Decide(snap))
	g.Expect(known.Judgements.Get(key).Reason).To(Equal(criticalv2.ReasonResponderStarting), "nothing was answered")
	known.Refusals.Set(key, decide.Refusal{Reason: criticalv2.ReasonCreateDenied, Message: "It is denied."})
	r.judge(key, &snap, decide.Decide(snap))
	g.Expect(known.Judgements.Get(key).Reason).To(Equal(criticalv2.ReasonCreateDenied))
}

// Nothing grows with Services and namespaces that come and go, whether metrics are
// scraped or not.
func TestNothingIsRememberedOfAServiceThatIsGone(t *testing.T) {
	g := NewWithT(t)
	observer, _ := observetest.Of(t)
	known, key := observer.Memory, types.NamespacedName{Namespace: "shop", Name: "web"}
	known.Judgements.Set(key, summary.Judgement{Service: key, Matching: []summary.Policy{{Name: "shop"}}})
	known.Judgements.CountOutage(key)
	known.Attempts.Set(key, decide.Attempt{})
	known.Refusals.Set(key, decide.Refusal{})
	known.Checks.Set(key, summary.Check{})
	known.Unconfirmed.Set(key, map[string]bool{})
	known.Diagnoses.Set(key, memory.Diagnosis{})
	known.Denials.Set(key, criticalv2.FallbackKindPodTemplate)
	known.Tables.Set(key.Namespace, memory.Table{})
	r := &Reconciler{
		Observer: observer, Wake: wake.NewStatus(known), Metrics: metrics.New(known), Diagnoses: cause.NewDiagnoses(0, known),
	}
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	g.Expect(err).NotTo(HaveOccurred())
	for name, left := range map[string][]types.NamespacedName{
		"judgements": known.Judgements.Keys(), "attempts": known.Attempts.Keys(), "refusals": known.Refusals.Keys(),
		"checks": known.Checks.Keys(), "unconfirmed": known.Unconfirmed.Keys(), "diagnoses": known.Diagnoses.Keys(),
		"denials": known.Denials.Keys(),
	} {
		g.Expect(left).To(BeEmpty(), name)
	}
	g.Expect(known.Tables.Keys()).To(BeEmpty(), "the namespace is gone, too")
}
