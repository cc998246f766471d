package protect

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/cause"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
	"github.com/critical-service/operator/controllers/criticalservice/reading"
)

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
		"a slice is denied": {decide.Plan{Governor: governor}, outcome{denied: "page"}, metrics.Activation{InOutage: true, Denied: "page"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(activation(&decide.Snapshot{}, &test.plan, &test.done)).To(Equal(test.want))
		})
	}
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
		Policies: []criticalv2.Policy{&criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Name: "shop"},
			Spec: criticalv2.CriticalServiceSpec{
				ServiceSelector: metav1.LabelSelector{MatchLabels: labels}, ProtectionSpec: criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{}}},
			},
		}},
		Slices: []discoveryv1.EndpointSlice{{AddressType: discoveryv1.AddressTypeIPv4}},
	}
	r.remember(key, &snap, decide.Decide(snap))
	g.Expect(known.Judgements.Get(key).Reason).To(Equal(criticalv2.ReasonResponderStarting), "nothing was answered")
	known.Refusals.Set(key, decide.Refusal{Reason: criticalv2.ReasonCreateDenied, Message: "It is denied."})
	r.remember(key, &snap, decide.Decide(snap))
	g.Expect(known.Judgements.Get(key).Reason).To(Equal(criticalv2.ReasonCreateDenied))
}

// Nothing grows with Services and namespaces that come and go, whether metrics are
// scraped or not.
func TestNothingIsRememberedOfAServiceThatIsGone(t *testing.T) {
	g := NewWithT(t)
	observer, _ := observetest.Of(t)
	known, key := observer.Memory, types.NamespacedName{Namespace: "shop", Name: "web"}
	known.Judgements.Set(key, summary.Judgement{Service: key, Matching: []summary.Policy{{Key: types.NamespacedName{Name: "shop"}}}})
	known.Judgements.CountOutage(key)
	known.Attempts.Set(key, decide.Attempt{})
	known.Refusals.Set(key, decide.Refusal{})
	known.Written.Set(key, map[string]memory.Written{"web-standby-ipv4": {}})
	known.Lookups.Set(key, memory.Lookup{})
	known.Checks.Set(key, summary.Check{})
	known.Unconfirmed.Set(key, map[string]bool{})
	known.Diagnoses.Set(key, memory.Diagnosis{})
	known.Denials.Set(key, criticalv2.FallbackKindPodTemplate)
	known.Tables.Set(key.Namespace, memory.Table{})
	r := &Reconciler{
		Observer: observer, Wake: wake.NewStatus(known), Metrics: metrics.New(known), Diagnoses: cause.NewDiagnoses(0, known),
		Readers: reading.New(observer, wake.NewStatus(known)),
	}
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	g.Expect(err).NotTo(HaveOccurred())
	for name, left := range map[string][]types.NamespacedName{
		"judgements": known.Judgements.Keys(), "attempts": known.Attempts.Keys(), "refusals": known.Refusals.Keys(),
		"checks": known.Checks.Keys(), "unconfirmed": known.Unconfirmed.Keys(), "diagnoses": known.Diagnoses.Keys(),
		"denials": known.Denials.Keys(), "written": known.Written.Keys(), "lookups": known.Lookups.Keys(),
	} {
		g.Expect(left).To(BeEmpty(), name)
	}
	g.Expect(known.Tables.Keys()).To(BeEmpty(), "the namespace is gone, too")
}
