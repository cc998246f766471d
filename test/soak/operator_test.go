//go:build e2e

package soak

import (
	"net"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/soak/figures"
)

// metricsToken may read the operator's metrics until well after the run.
func (w *world) metricsToken() string {
	w.t.Helper()
	token, made, err := w.MetricsToken(w.ctx, w.namespace, "soak", length+time.Hour)
	for _, object := range made {
		w.t.Cleanup(func() { w.Expect(client.IgnoreNotFound(w.Delete(w.ctx, object))).To(Succeed()) })
	}
	w.Expect(err).NotTo(HaveOccurred())
	return token
}

// operatorPods are those that are ready.
func (w *world) operatorPods() []corev1.Pod {
	w.t.Helper()
	var ready []corev1.Pod
	w.Eventually(func(g Gomega) {
		pods, err := w.PodsOf(w.ctx, operator)
		g.Expect(err).NotTo(HaveOccurred())
		ready = nil
		for i := range pods {
			if cluster.PodReady(&pods[i]) {
				ready = append(ready, pods[i])
			}
		}
		g.Expect(ready).NotTo(BeEmpty())
	}).Should(Succeed(), "Pods of the operator that are ready")
	return ready
}

// usage is what the larger replica uses now.
func (w *world) usage(token string) (measure.Usage, error) {
	w.t.Helper()
	var replicas []measure.Usage
	for _, pod := range w.operatorPods() {
		text, err := measure.Scrape(w.ctx, "https://"+net.JoinHostPort(pod.Status.PodIP, "8443")+"/metrics", token)
		if err != nil {
			return measure.Usage{}, err
		}
		usage, err := measure.UsageOf(text)
		if err != nil {
			return measure.Usage{}, err
		}
		replicas = append(replicas, usage)
	}
	return figures.Largest(replicas), nil
}

// youngest is the age of the youngest process of the operator.
func (w *world) youngest() time.Duration {
	w.t.Helper()
	var started time.Time
	for _, pod := range w.operatorPods() {
		for _, status := range pod.Status.ContainerStatuses {
			if running := status.State.Running; running != nil && running.StartedAt.After(started) {
				started = running.StartedAt.Time
			}
		}
	}
	return time.Since(started)
}

// image is what runs.
func (w *world) image() string {
	w.t.Helper()
	return w.operatorPods()[0].Spec.Containers[0].Image
}
