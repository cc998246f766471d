package maintenance

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestWhatElseGoesDownIsSaidBeforeTheApplicationIsScaled(t *testing.T) {
	critical := map[string]string{"role": "critical"}
	w := newWorld(t,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "admin", Labels: critical}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}},
		&criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Name: "critical"}, Spec: criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: critical}},
		},
	)
	before := ""
	w.scaled = func(int32) error {
		before = w.errOut.String()
		return nil
	}
	w.Expect(w.on(t.Context())).To(Succeed())
	w.Expect(w.replicas()).To(BeEquivalentTo(0))
	w.Expect(before).To(ContainSubstring(`warning: Other critical Services go down with Deployment "web", because no other Pod behind them is ready: admin.`))
}
