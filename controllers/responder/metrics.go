package responder

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// collectWithin is how long a scrape may read caches, which takes milliseconds.
const collectWithin = 5 * time.Second

// gauges report how many Pods each responder has. They are read from the cache at a
// scrape, and only the leader reports them.
type gauges struct {
	cached client.Reader
	leads  <-chan struct{}
	pods   *prometheus.Desc
}

func newGauges(cached client.Reader, leads <-chan struct{}) *gauges {
	return &gauges{cached: cached, leads: leads, pods: prometheus.NewDesc("critical_service_responder_pods",
		"Pods of a namespace's responder, by state: desired (as many as there should be) and ready (those that can answer).",
		[]string{"namespace", "state"}, nil)}
}

// Describe names the metric.
func (g *gauges) Describe(out chan<- *prometheus.Desc) { out <- g.pods }

// Collect looks at every responder.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	select {
	case <-g.leads:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectWithin)
	defer cancel()
	var deployments appsv1.DeploymentList
	err := g.cached.List(ctx, &deployments, client.MatchingLabels{criticalv2.LabelResponder: criticalv2.ResponderServer}, client.UnsafeDisableDeepCopy)
	if err != nil {
		// It happens only while the operator starts or ends, and the next scrape is not far.
		ctrl.Log.WithName("metrics").V(1).Info("skipping the responders in a scrape", "error", err.Error())
		return
	}
	for i := range deployments.Items {
		deployment := &deployments.Items[i]
		if deployment.Name != criticalv2.ResponderName {
			continue
		}
		desired := ptr.Deref(deployment.Spec.Replicas, 1)
		out <- prometheus.MustNewConstMetric(g.pods, prometheus.GaugeValue, float64(desired), deployment.Namespace, "desired")
		out <- prometheus.MustNewConstMetric(g.pods, prometheus.GaugeValue, float64(deployment.Status.ReadyReplicas), deployment.Namespace, "ready")
	}
}
