package decide

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/controllers/responder/internal/render"
)

// While the API server denies Pods of the responder, their ReplicaSet backs off up to
// a quarter of an hour. It is nudged more often, so that the fallback is back at once
// when the denial ends.
const (
	nudgeFirst = time.Second
	nudgeLast  = 10 * time.Second
	// nudgeShare is the part of the time that the denial has lasted after which the next
	// nudge follows.
	nudgeShare = 6
)

// Nudge is a change of an annotation of the Deployment. The Deployment's controller
// copies it to the ReplicaSet, and on any change of that the ReplicaSet's controller
// tries again at once, whatever its back-off says.
type Nudge struct{ From, To *appsv1.Deployment }

// IsDenied reports whether the API server denies Pods of a Deployment.
func IsDenied(deployment *appsv1.Deployment) bool {
	return deploymentCondition(deployment, appsv1.DeploymentReplicaFailure).Status == corev1.ConditionTrue
}

// nudge says whether to nudge the ReplicaSet now, and when to decide again; never if
// no Pod is denied.
func (s *Snapshot) nudge() (nudge *Nudge, after time.Duration) {
	if s.Deployment == nil || !IsDenied(s.Deployment) {
		return nil, 0
	}
	since := deploymentCondition(s.Deployment, appsv1.DeploymentReplicaFailure).LastTransitionTime
	every := min(max(s.Now.Sub(since.Time)/nudgeShare, nudgeFirst), nudgeLast)
	last, err := time.Parse(time.RFC3339Nano, s.Deployment.Annotations[render.AnnotationNudged])
	if wait := last.Add(every).Sub(s.Now); err == nil && 0 < wait && wait <= nudgeLast {
		return nil, wait
	}
	to := s.Deployment.DeepCopy()
	metav1.SetMetaDataAnnotation(&to.ObjectMeta, render.AnnotationNudged, s.Now.UTC().Format(time.RFC3339Nano))
	return &Nudge{From: s.Deployment, To: to}, every
}
