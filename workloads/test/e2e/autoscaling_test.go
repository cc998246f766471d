//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

const (
	// measuredThreshold is the requests per second and Pod of the WebApp whose scaling is measured, and threshold that of others.
	measuredThreshold, threshold = 40, 10
	// calm is how many requests per second ask little of one Pod of the measured WebApp.
	calm = measuredThreshold / 2
	// peak is how long the measured load lasts once all Pods for it are there.
	peak = time.Minute
	// givesBack is how long at least there is no traffic before Pods go: the greatest need of five minutes, and the half minute
	// over which traffic is averaged. The rest is for a busy machine.
	givesBack = 8 * time.Minute
)

// TestTrafficScalesAWebApp draws docs/images/webapp-traffic.svg from what it sees, with -update. It takes the time that
// a WebApp waits before it gives Pods back, and so begins at once, beside all others.
func TestTrafficScalesAWebApp(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, "baseline")
	app := w.webApp("shop", scaled(measuredThreshold)).runs()
	record := app.record()
	before := app.visited("/", calm).settled()
	record.follow(before, calm)
	app.is(workloadsv1.ConditionScalingActive, metav1.ConditionTrue, workloadsv1.ReasonTrafficKnown)
	w.Consistently(app.size).Should(BeEquivalentTo(1), "Pods for half of the threshold")

	record.zero = time.Now()
	before.leave()
	load := app.visited("/", 3*measuredThreshold)
	record.follow(load, 3*measuredThreshold)
	app.becomes(3)
	record.grown = time.Now()
	w.Consistently(app.size, peak).Should(BeEquivalentTo(3), "Pods for three times the threshold")
	w.refresh(app.object)
	w.Expect(app.object.Status.DesiredReplicas).To(BeEquivalentTo(3))

	load.leave()
	after := app.visited("/", calm)
	record.follow(after, calm)
	w.Eventually(app.size, givesBack).Should(BeEquivalentTo(1), "Pods once the load is gone")
	app.becomes(1)
	record.shrunk = time.Now()
	after.see(false)
	after.leave()

	record.end()
	of := countAnswers(record.results())
	w.Expect(of.application).To(Equal(of.requests), "%+v: requests, and none of them lost", of)
	record.drawn()
}

// TestAWebAppIsScaledByACounterOfItsOwn: the application listens on another port, and counts itself, so that nothing stands before it.
func TestAWebAppIsScaledByACounterOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWebWorld(t)
	app := w.webApp("shop", scaled(threshold), func(s *workloadsv1.WebAppSpec) {
		s.Port, s.TrafficSource = 8080, &workloadsv1.TrafficSource{Port: 8080, Metric: "http_requests_total"}
	}).runs()
	w.Expect(app.metered(app)).To(Equal([]bool{false}))
	load := app.visited("/", 3*threshold).settled()
	app.becomes(3)
	app.is(workloadsv1.ConditionScalingActive, metav1.ConditionTrue, workloadsv1.ReasonTrafficKnown)
	w.Consistently(app.size, peak).Should(BeEquivalentTo(3))

	// Without a counter of that name, the number of Pods stays.
	pods := app.ready()
	app.edit(func(s *workloadsv1.WebAppSpec) { s.TrafficSource.Metric = "no_such_counter" })
	app.is(workloadsv1.ConditionScalingActive, metav1.ConditionFalse, workloadsv1.ReasonTrafficUnknown, "no_such_counter")
	w.Consistently(app.size).Should(BeEquivalentTo(3))
	w.Expect(app.ready()).To(Equal(pods), "what is asked of the Pods is no change of the Pods")
	of := countAnswers(load.leave())
	w.Expect(of.application).To(Equal(of.requests), "%+v", of)
}

// TestAWebAppIsNotScaledBesideAnAutoscaler: that of the cluster wants two Pods, and has no metrics to want another number.
func TestAWebAppIsNotScaledBesideAnAutoscaler(t *testing.T) {
	t.Parallel()
	w := newWebWorld(t)
	app := w.webApp("shop", scaled(threshold)).runs()
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: w.named("own"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop"},
		MinReplicas:    new(int32(2)), MaxReplicas: 2,
		Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(80))},
		}}},
	}}
	w.create(autoscaler)
	app.is(workloadsv1.ConditionScalingActive, metav1.ConditionFalse, workloadsv1.ReasonAutoscalerPresent, "own")
	app.becomes(2)
	load := app.visited("/", 3*threshold).settled()
	w.Consistently(app.size, peak).Should(BeEquivalentTo(2), "the number is the autoscaler's")

	w.remove(autoscaler)
	app.is(workloadsv1.ConditionScalingActive, metav1.ConditionTrue, workloadsv1.ReasonTrafficKnown)
	app.becomes(3)
	of := countAnswers(load.leave())
	w.Expect(of.application).To(Equal(of.requests), "%+v", of)
}

// TestTheScalingOfAWebAppIsSwitchedOffAndOn: off is the number of the spec, and on again begins with that. No request is lost on the way.
func TestTheScalingOfAWebAppIsSwitchedOffAndOn(t *testing.T) {
	t.Parallel()
	w := newWebWorld(t)
	app := w.webApp("shop", scaled(threshold), fixed(2)).runs()
	app.becomes(2)
	load := app.visited("/", 3*threshold).settled()
	app.becomes(3)

	app.edit(func(s *workloadsv1.WebAppSpec) { s.AutoScaleEnabled = false })
	app.becomes(2)
	w.Eventually(app.metered).Should(Equal([]bool{false, false}))
	app.runs()
	w.Expect(app.object.Status.RequestsPerSecond).To(BeEmpty())
	w.Consistently(app.size, peak).Should(BeEquivalentTo(2), "the traffic does not matter")

	app.edit(func(s *workloadsv1.WebAppSpec) { s.AutoScaleEnabled = true })
	app.becomes(3)
	w.Expect(app.metered(app)).To(Equal([]bool{true, true, true}))
	app.runs()
	of := countAnswers(load.leave())
	w.Expect(of.application).To(Equal(of.requests), "%+v", of)
}
