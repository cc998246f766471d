package decide

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/controller/drift"
	"github.com/critical-service/operator/internal/protection"
)

// Decide says what is to be written so that the namespace's responder stands in
// for every Service whose standby slice asks for a page.
func Decide(s Snapshot) Plan {
	plan := Plan{Owners: s.owners(), Published: s.opened()}
	if len(s.Slices) == 0 {
		plan.Remove = s.Table != nil || s.Deployment != nil || s.Budget != nil || s.Autoscaler != nil
		return plan
	}
	image := s.image()
	if image == "" {
		plan.NoImage = true
		return plan
	}
	recorded, trusted := s.recorded()
	pages := s.pages(recorded)
	table := s.table(pages, recorded, trusted)
	plan.Ports, plan.Listeners, plan.Unassigned = table.ports, len(table.listeners), table.unassigned
	plan.AsksNeighbours, plan.Unconfirmed = table.chosen, table.unconfirmed

	contents := s.contents(pages)
	responder := render.Responder{
		Namespace:        s.Namespace,
		Owners:           plan.Owners,
		Image:            image,
		ImagePullSecrets: s.Settings.ImagePullSecrets,
		PriorityClass:    s.Settings.PriorityClass,
		Replicas:         replicas(pages),
		MaxReplicas:      s.Settings.MaxReplicas,
		Ports:            table.ports,
		Contents:         names(contents),
	}
	if responder.Scales() {
		plan.Autoscaler = due(&s, s.Autoscaler, responder.Autoscaler())
		responder.Replicas = s.scaled(&responder)
	} else {
		plan.Unscaled = s.Autoscaler != nil
	}
	plan.Table = due(&s, s.Table, responder.ConfigMap(&listener.Table{Listeners: table.listeners, Next: table.next}))
	if plan.Table != nil && s.Table != nil {
		// What it has is made of the one that was read: it is not written over a newer one.
		plan.Table.ResourceVersion = s.Table.ResourceVersion
	}
	plan.Deployment = due(&s, s.Deployment, s.deployment(&responder, &plan))
	if plan.Deployment != nil && s.Deployment != nil && responder.Scales() {
		// The number of Pods is that of the Deployment as it was read: it is not written over what the autoscaler has done since.
		plan.Deployment.ResourceVersion = s.Deployment.ResourceVersion
	}
	plan.Budget = due(&s, s.Budget, responder.Budget())
	if plan.Table == nil {
		plan.RefreshMounts = s.mountRefreshes(contents)
	}
	if plan.Deployment == nil {
		nudge, after := s.nudge()
		plan.Nudge = nudge
		if after > 0 {
			plan.RecheckAfter = after
		}
	}
	return plan
}

// scaled is how many Pods the autoscaler wants, so that what is applied does not change it.
func (s *Snapshot) scaled(responder *render.Responder) int32 {
	if s.Deployment == nil || s.Autoscaler == nil {
		return responder.Replicas
	}
	return min(max(ptr.Deref(s.Deployment.Spec.Replicas, 1), responder.Replicas), responder.MaxReplicas)
}

// image is the operator's, as far as it is known; otherwise a responder that is
// there keeps its own.
func (s *Snapshot) image() string {
	if s.Settings.Image == "" && s.Deployment != nil {
		return render.ImageOf(&s.Deployment.Spec.Template.Spec)
	}
	return s.Settings.Image
}

// owners are the policies that own the slices, as owners that control nothing: the responder
// must stay as long as any of its slices, also where the one that governs is deleted.
func (s *Snapshot) owners() []metav1.OwnerReference {
	byUID := map[string]metav1.OwnerReference{}
	for i := range s.Slices {
		for _, owner := range s.Slices[i].OwnerReferences {
			// One of several versions of the API, where slices differ in it.
			if known, found := byUID[string(owner.UID)]; protection.IsPolicy(owner) && (!found || known.APIVersion < owner.APIVersion) {
				byUID[string(owner.UID)] = metav1.OwnerReference{
					APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID,
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(byUID), func(a, b metav1.OwnerReference) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
}

// mountRefreshes are the Pods that do not have the present table and content yet. The
// version is made of what the cache has seen, so that a kubelet, which watches the
// same objects, has most likely seen it as well.
func (s *Snapshot) mountRefreshes(contents []*metav1.PartialObjectMetadata) []MountRefresh {
	parts := []string{s.Table.Data[listener.Key]}
	for _, content := range contents {
		parts = append(parts, content.Name, string(content.UID), content.ResourceVersion)
	}
	version := drift.Hash(parts)
	var refreshes []MountRefresh
	for i := range s.Pods {
		pod := &s.Pods[i]
		over := pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if over || pod.Annotations[criticalv2.AnnotationContentVersion] == version {
			continue
		}
		to := pod.DeepCopy()
		metav1.SetMetaDataAnnotation(&to.ObjectMeta, criticalv2.AnnotationContentVersion, version)
		refreshes = append(refreshes, MountRefresh{From: pod, To: to})
	}
	slices.SortFunc(refreshes, func(a, b MountRefresh) int { return cmp.Compare(a.To.Name, b.To.Name) })
	return refreshes
}

// due is the object to apply, or nil if the existing one is as wanted.
func due[T any, P interface {
	*T
	metav1.Object
}](s *Snapshot, existing, wanted P) P {
	switch {
	case existing == nil:
		return wanted
	case existing.GetAnnotations()[render.AnnotationApplied] == wanted.GetAnnotations()[render.AnnotationApplied] && drift.Covers(existing, wanted):
		return nil
	case s.Answers[existing.GetUID()] == drift.Digest(wanted, existing):
		return nil
	default:
		return wanted
	}
}
