package responder

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/metrictable"
)

func TestTheTableOfMetricsIsWhatIsRegistered(t *testing.T) {
	g := NewWithT(t)
	deployment := func(namespace, name, role string) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{criticalv2.LabelResponder: role}},
			Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
			Status:     appsv1.DeploymentStatus{ReadyReplicas: 1},
		}
	}
	cached := fake.NewClientBuilder().WithObjects(
		deployment("shop", criticalv2.ResponderName, criticalv2.ResponderServer),
		deployment("shop", "another", criticalv2.ResponderServer),
		deployment("foreign", criticalv2.ResponderName, "other"),
	).Build()
	registry, leads := prometheus.NewRegistry(), make(chan struct{})
	g.Expect(registry.Register(newGauges(cached, leads))).To(Succeed())
	g.Expect(testutil.GatherAndCount(registry)).To(BeZero(), "it does not lead yet")

	close(leads)
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	metrictable.Check(g, "Responders by namespace", families)
	g.Expect(families[0].GetMetric()).To(HaveLen(2), "that of shop alone")
	g.Expect(families[0].GetMetric()[0].GetGauge().GetValue()).To(Equal(2.0), "desired")
	g.Expect(families[0].GetMetric()[1].GetGauge().GetValue()).To(Equal(1.0), "ready")

	g.Expect(cached.Delete(t.Context(), deployment("shop", criticalv2.ResponderName, criticalv2.ResponderServer))).To(Succeed())
	g.Expect(testutil.GatherAndCount(registry)).To(BeZero(), "a responder that is gone leaves no series")
}
