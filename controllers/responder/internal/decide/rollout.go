package decide

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
)

const (
	// comesUpWithin is how long a responder may take to come up with another version
	// before it counts as one that does not.
	comesUpWithin = 5 * time.Minute
	// failuresToStop: a version is held back once so many namespaces have failed with it,
	// and more than have come up. One alone may have a problem of its own, such as a quota,
	// or an editor who wants to hold up all others.
	failuresToStop = 2
	// atOnce is how many namespaces roll out a version at the same time at most.
	atOnce = 10
	// waitRecheck is when a namespace that waits is decided again. Mostly it is woken
	// before: when another has come up.
	waitRecheck = time.Minute
)

// Progress is how far the responder of a namespace has come with its version.
type Progress string

// The kinds of progress.
const (
	Complete Progress = "complete"
	Underway Progress = "under way"
	Failed   Progress = "failed"
)

// Neighbour is the responder of another namespace.
type Neighbour struct {
	Namespace string
	// Ports are those on which it listens.
	Ports listener.Range
	// Version of the operator that decided on its Pods, and how far it has come with it.
	Version  string
	Progress Progress
}

// NeighbourOf is a responder as other namespaces see it.
func NeighbourOf(deployment *appsv1.Deployment, now time.Time) Neighbour {
	// A range that is not valid is none: it overlaps with no other.
	ports, _ := listener.ParseRange(deployment.Spec.Template.Annotations[criticalv2.AnnotationListeners])
	return Neighbour{
		Namespace: deployment.Namespace, Ports: ports,
		Version: deployment.Annotations[render.AnnotationVersion], Progress: ProgressOf(deployment, now),
	}
}

// SeenUnderway bounds how long a neighbour counts as under way by when it was first seen
// to be: an editor of its namespace can change all that its Deployment says of that.
func (n *Neighbour) SeenUnderway(first, now time.Time) {
	if n.Progress == Underway && now.Sub(first) > comesUpWithin {
		n.Progress = Failed
	}
}

// ProgressOf is how far a responder has come with its version. What an editor of its
// namespace could do to keep it under way for ever counts as failed.
func ProgressOf(deployment *appsv1.Deployment, now time.Time) Progress {
	status, wanted := &deployment.Status, ptr.Deref(deployment.Spec.Replicas, 1)
	observed := status.ObservedGeneration >= deployment.Generation && deployment.Generation > 0
	if observed && wanted > 0 && status.UpdatedReplicas == wanted && status.Replicas == wanted && status.AvailableReplicas == wanted {
		return Complete
	}
	since, err := time.Parse(time.RFC3339, deployment.Annotations[render.AnnotationVersionSince])
	if err != nil || since.After(now.Add(time.Minute)) || now.Sub(since) > comesUpWithin || deployment.Spec.Paused ||
		observed && deploymentCondition(deployment, appsv1.DeploymentProgressing).Status == corev1.ConditionFalse {
		return Failed
	}
	return Underway
}

func deploymentCondition(deployment *appsv1.Deployment, kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return appsv1.DeploymentCondition{Type: kind}
}

// Wait says that a namespace keeps the Pods of another version for now.
type Wait struct {
	// For are the namespaces that it waits for, sorted.
	For []string
	// Stopped says that they do not come up with the new version, and no more have than that.
	Stopped bool
}

// wait says for which namespaces this one waits with a version; nil if it may roll it
// out. One goes first; once it has come up, as many at once as have.
func (s *Snapshot) wait(version string) *Wait {
	by := map[Progress][]string{}
	for i := range s.Neighbours {
		if n := &s.Neighbours[i]; n.Version == version {
			by[n.Progress] = append(by[n.Progress], n.Namespace)
		}
	}
	slices.Sort(by[Underway])
	slices.Sort(by[Failed])
	complete, failed := len(by[Complete]), len(by[Failed])
	switch {
	case failed >= failuresToStop && failed > complete:
		return &Wait{For: by[Failed], Stopped: true}
	case len(by[Underway]) >= min(max(complete, 1), atOnce):
		return &Wait{For: by[Underway]}
	default:
		return nil
	}
}

// deployment is the Deployment as it is to be. Where the operator would change the
// Pods of one that is there, and other namespaces are not done with that, only what
// the namespace asks for itself is changed.
func (s *Snapshot) deployment(responder *render.Responder, plan *Plan) *appsv1.Deployment {
	version := responder.Version()
	plan.Version = version
	responder.VersionSince = s.Now.UTC().Format(time.RFC3339)
	if s.Deployment == nil {
		return responder.Deployment()
	}
	if s.Deployment.Annotations[render.AnnotationVersion] == version {
		if since, known := s.Deployment.Annotations[render.AnnotationVersionSince]; known {
			responder.VersionSince = since
		}
		return responder.Deployment()
	}
	plan.AsksNeighbours = true
	if plan.Wait = s.wait(version); plan.Wait != nil {
		plan.RecheckAfter = waitRecheck
		return responder.Keeping(s.Deployment)
	}
	return responder.Deployment()
}
