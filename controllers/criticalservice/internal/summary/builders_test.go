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
func policy(name string) criticalv2.CriticalService {
	return criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec: criticalv2.CriticalServiceSpec{
			ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "shop"}},
		},
	}
}

// verdict is about Service web/NAME, governed by "a".
func verdict(name string, state criticalv2.ServiceState, reason string) summary.Verdict {
	governor := policy("a")
	return summary.Verdict{
		Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}},
		Plan:    decide.Plan{Governor: &governor, State: state, Reason: reason, Message: "message of " + name},
	}
}
