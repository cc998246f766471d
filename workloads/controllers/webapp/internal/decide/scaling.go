package decide

import (
	criticalv2 "github.com/critical-service/operator/api/v2"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/render"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/scale"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

func (d *decision) wantedFallback() *criticalv2.ServiceFallback {
	return fallback.For(render.Service(d.WebApp), render.Owner(d.WebApp), d.WebApp.Spec.Fallback)
}

// replicas are those that are applied with the Deployment. Where the traffic, or another's
// autoscaler, decides them, they are those that there are: a field that is left out after it was
// applied would get its default, which is 1.
func (d *decision) replicas() int32 {
	switch initial := d.WebApp.InitialReplicas(); {
	case d.Deployment == nil && d.WebApp.Spec.AutoScaleEnabled:
		bounds := d.bounds()
		return max(min(initial, bounds.Max), bounds.Min)
	case d.Deployment == nil || !d.handsOff() && !d.WebApp.Spec.AutoScaleEnabled:
		return initial
	default:
		return d.present()
	}
}

// handsOff reports whether another's autoscaler decides how many Pods there are. One of the WebApp
// only says what spec.replicas is, which is followed unless the traffic decides: then the two would
// fight.
func (d *decision) handsOff() bool {
	return d.Autoscaler.Name != "" && (d.Autoscaler.OfDeployment || d.WebApp.Spec.AutoScaleEnabled)
}

func (d *decision) bounds() scale.Bounds {
	spec := &d.WebApp.Spec
	bounds := scale.Bounds{Threshold: spec.TrafficThreshold, Min: max(spec.MinReplicas, 1), Max: spec.MaxReplicas}
	if bounds.Max == 0 {
		bounds.Max, bounds.Soft = max(workloadsv1.DefaultMaxReplicas, d.WebApp.InitialReplicas()), true
	}
	bounds.Max = max(bounds.Max, bounds.Min)
	return bounds
}

// present is how many Pods the Deployment has by its spec.
func (d *decision) present() int32 {
	switch {
	case d.Deployment == nil:
		return d.replicas()
	case d.Deployment.Spec.Replicas == nil:
		return 1
	default:
		return *d.Deployment.Spec.Replicas
	}
}

// scale decides how many Pods there are to be. Where another's autoscaler decides that, the past
// begins again once it is gone: its number may have had reasons.
func (d *decision) scale() {
	present := d.present()
	switch {
	case d.handsOff():
		d.desired = present
	case !d.WebApp.Spec.AutoScaleEnabled:
		d.desired = d.WebApp.InitialReplicas()
	default:
		d.plan.Follow = !d.blocked()
		verdict := scale.Decide(scale.Input{Now: d.Now, Bounds: d.bounds(), Present: present, Reading: d.Reading, Memory: d.Memory})
		d.desired, d.known, d.plan.Memory = verdict.Desired, verdict.Known, verdict.Memory
		d.recheckIn(verdict.Recheck)
		if d.Deployment != nil && verdict.Desired != present && !d.blocked() {
			d.plan.Scale = new(verdict.Desired)
		}
	}
}
