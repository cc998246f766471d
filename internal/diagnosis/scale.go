package diagnosis

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/critical-service/operator/internal/text"
	"github.com/critical-service/operator/internal/text/quote"
)

const (
	labelScaledObject  = "scaledobject.keda.sh/name"
	annotationSize     = "downscaler/original-replicas"
	annotationIdled    = "idling.alpha.openshift.io/idled-at"
	annotationIdleSize = "idling.alpha.openshift.io/previous-scale"
)

// scaledBy says what scaled a workload to zero, as far as objects show it.
//
// The manager that sets spec.replicas of the workload itself is in its managedFields. The
// scale subresource leaves no trace when it is set to zero, because zero is left
// out of what is sent: HorizontalPodAutoscaler, KEDA and `kubectl scale` use it.
func scaledBy(e *Evidence, w workload) string {
	size, downscaled := w.Annotations[annotationSize]
	_, idled := w.Annotations[annotationIdled]
	_, sized := w.Annotations[annotationIdleSize]
	setter := setterOf(w.ManagedFields)
	scaler := scalerOf(e.Autoscalers, w)
	switch {
	case downscaled:
		return fmt.Sprintf(" by kube-downscaler, which noted its size before (%s) in the annotation %s", quote.Line(text.Shorten(size, quote.MaxProgram)), annotationSize)
	case idled || sized:
		return " by OpenShift, which idles it until its Service gets a request"
	case setter != nil:
		return fmt.Sprintf(" by %q, which wrote it last %s", setter.Manager, moment(setter.Time))
	case scaler != nil && scaler.Labels[labelScaledObject] != "":
		return fmt.Sprintf(" through its scale subresource, which KEDA uses for it (ScaledObject %q)", scaler.Labels[labelScaledObject])
	case scaler != nil && ptr.Deref(scaler.Spec.MinReplicas, 1) == 0:
		return fmt.Sprintf("; HorizontalPodAutoscaler %q may do so, because its minReplicas is 0", scaler.Name)
	case scaler != nil:
		return fmt.Sprintf("; HorizontalPodAutoscaler %q leaves it there until it is scaled up", scaler.Name)
	case len(w.ManagedFields) > 0:
		return " through its scale subresource, as `kubectl scale` and autoscalers do"
	default:
		return ""
	}
}

func moment(at *metav1.Time) string {
	if at == nil {
		return "at an unknown time"
	}
	return at.UTC().Format("on 2 Jan 2006 at 15:04 MST")
}

// setterOf is the field manager that set spec.replicas last; nil if none has it.
func setterOf(managed []metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	var setters []metav1.ManagedFieldsEntry
	for _, entry := range managed {
		if setsReplicas(entry.FieldsV1) {
			setters = append(setters, entry)
		}
	}
	if len(setters) == 0 {
		return nil
	}
	latest := slices.MaxFunc(setters, func(a, b metav1.ManagedFieldsEntry) int {
		at, bt := ptr.Deref(a.Time, metav1.Time{}), ptr.Deref(b.Time, metav1.Time{})
		if order := at.Compare(bt.Time); order != 0 {
			return order
		}
		return strings.Compare(b.Manager, a.Manager)
	})
	return &latest
}

func setsReplicas(fields *metav1.FieldsV1) bool {
	var set struct {
		Spec struct {
			Replicas *struct{} `json:"f:replicas"`
		} `json:"f:spec"`
	}
	return fields != nil && json.Unmarshal(fields.GetRawBytes(), &set) == nil && set.Spec.Replicas != nil
}

// scalerOf is the autoscaler of a workload; nil if it has none.
func scalerOf(autoscalers []autoscalingv2.HorizontalPodAutoscaler, w workload) *autoscalingv2.HorizontalPodAutoscaler {
	var fitting []*autoscalingv2.HorizontalPodAutoscaler
	for i := range autoscalers {
		target := autoscalers[i].Spec.ScaleTargetRef
		if target.Kind == w.kind && target.Name == w.Name {
			fitting = append(fitting, &autoscalers[i])
		}
	}
	if len(fitting) == 0 {
		return nil
	}
	return slices.MinFunc(fitting, func(a, b *autoscalingv2.HorizontalPodAutoscaler) int { return strings.Compare(a.Name, b.Name) })
}
