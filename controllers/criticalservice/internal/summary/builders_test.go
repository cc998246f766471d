package summary_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

// now is the time of every summary that does not say otherwise.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// policy is a CriticalService with a page.
func policy(name string) *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec: criticalv2.CriticalServiceSpec{
			ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "shop"}},
		},
	}
}

// verdict is about Service web/NAME, governed by "a".
func verdict(name string, state criticalv2.ServiceState, reason string) summary.Verdict {
	return judged(name, decide.Plan{State: state, Reason: reason, Message: "message of " + name})
}

// judged is what a Plan means for Service web/NAME, governed by "a".
func judged(name string, plan decide.Plan) summary.Verdict {
	governor := policy("a")
	plan.Governor = governor
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, Labels: map[string]string{"role": "shop"}}}
	snap := decide.Snapshot{Service: service, Policies: []criticalv2.Policy{governor}, Now: now}
	return summary.Verdict{Judgement: *summary.Judge(&snap, &plan)}
}
