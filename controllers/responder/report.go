package responder

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
)

// maxUnassigned is for how many Services one reconcile reports that no listener is left.
const maxUnassigned = 10

// maxNamed is how many other namespaces an event names.
const maxNamed = 5

// adviceOnImage says what to do where the responder's image is not known.
const adviceOnImage = "set RESPONDER_IMAGE, or POD_NAME and POD_NAMESPACE, for the operator"

// report writes what was done, and what failed, to events on the responder's
// objects or, where there are none, on the CriticalServices that ask for it.
func (r *Reconciler) report(ctx context.Context, snap *decide.Snapshot, plan decide.Plan, done outcome) {
	r.log(ctx, snap, plan, done)
	r.reportDone(snap, plan, done)
	r.reportProblems(snap, plan, done)
}

// reportDone reports what was written. Of all objects, the Deployment stands for the
// responder; the table changes with every Service, which is for the log.
func (r *Reconciler) reportDone(snap *decide.Snapshot, plan decide.Plan, done outcome) {
	for _, object := range deployments(done.created) {
		r.Emit(object, firstOwner(plan.Owners, snap.Namespace), corev1.EventTypeNormal, eventResponderCreated, "CreateResponder",
			"A Service of this namespace is to have a page: created the responder, which listens on ports %s", plan.Ports)
	}
	for _, object := range deployments(done.updated) {
		r.Emit(object, firstOwner(plan.Owners, snap.Namespace), corev1.EventTypeNormal, eventResponderUpdated, "UpdateResponder",
			"Changed the responder, which now listens on ports %s", plan.Ports)
	}
	for _, object := range deployments(done.removed) {
		r.Emit(object, nil, corev1.EventTypeNormal, eventResponderRemoved, "RemoveResponder",
			"No Service of this namespace is to have a page any more: removed the responder")
	}
}

// reportProblems reports what a person must know or fix.
func (r *Reconciler) reportProblems(snap *decide.Snapshot, plan decide.Plan, done outcome) {
	for _, object := range done.taken {
		r.Emit(object, firstOwner(plan.Owners, snap.Namespace), corev1.EventTypeWarning, criticalv2.ReasonNameTaken, "CreateResponder",
			"The responder of this namespace needs the name %q, and this object is not the operator's: "+
				"delete it, or create it again under another name. The operator checks again within a minute", object.GetName())
	}
	for _, err := range done.denied() {
		r.warnOwners(snap, plan, eventResponderDenied,
			"The API server does not accept the responder of namespace %q: %.600s. "+
				"Allow it (quota, admission policy or the operator's permissions); the operator tries again by itself",
			snap.Namespace, err.Error())
	}
	if plan.NoImage {
		r.warnOwners(snap, plan, eventImageUnknown,
			"The responder of namespace %q cannot be made, because its image is not known: "+adviceOnImage+". One that is there goes on as it is", snap.Namespace)
	}
	r.reportWait(snap, plan)
	for _, service := range plan.Unassigned[:min(len(plan.Unassigned), maxUnassigned)] {
		r.Emit(service, firstOwner(plan.Owners, snap.Namespace), corev1.EventTypeWarning, eventNoListenerLeft, "AssignListener",
			"The responder of this namespace can stand in for no more ports: %d Services are left without. "+
				"Protect fewer, or in more namespaces, or shorten their pages", len(plan.Unassigned))
	}
}

// reportWait reports why the Pods stay those of another version. Only CriticalServices
// say so: a team need not know the names of other namespaces.
func (r *Reconciler) reportWait(snap *decide.Snapshot, plan decide.Plan) {
	if plan.Wait == nil {
		return
	}
	others := strings.Join(plan.Wait.For[:min(len(plan.Wait.For), maxNamed)], ", ")
	kind, reason := corev1.EventTypeNormal, eventRolloutWaits
	note := fmt.Sprintf("The responder of namespace %q keeps its version until those of other namespaces have come up with the operator's (%s). "+
		"Nothing needs to be done", snap.Namespace, others)
	if plan.Wait.Stopped {
		kind, reason = corev1.EventTypeWarning, eventRolloutStopped
		note = fmt.Sprintf("The responder of namespace %q keeps its version: those of %d other namespaces do not come up with the operator's (%s). "+
			"Look at their Pods (kubectl get pods -l %s=%s -n <namespace>) and fix what keeps them from being ready, or go back to the operator's last version",
			snap.Namespace, len(plan.Wait.For), others, criticalv2.LabelResponder, criticalv2.ResponderServer)
	}
	for _, ref := range plan.Owners {
		if !isTeams(ref) {
			r.Emit(owner(ref, snap.Namespace), nil, kind, reason, "UpdateResponder", "%s", note)
		}
	}
}

// maxWarned is how many policies are warned of one problem.
const maxWarned = 8

// warnOwners reports a problem on the policies that ask for the responder.
func (r *Reconciler) warnOwners(snap *decide.Snapshot, plan decide.Plan, reason, note string, args ...any) {
	for _, ref := range plan.Owners[:min(len(plan.Owners), maxWarned)] {
		r.Emit(owner(ref, snap.Namespace), nil, corev1.EventTypeWarning, reason, "CreateResponder", note, args...)
	}
}

func (r *Reconciler) log(ctx context.Context, snap *decide.Snapshot, plan decide.Plan, done outcome) {
	log := ctrl.LoggerFrom(ctx)
	for verb, objects := range map[string][]client.Object{"created": done.created, "updated": done.updated, "removed": done.removed} {
		for _, object := range objects {
			log.Info(verb, "object", fmt.Sprintf("%T", object), "ports", plan.Ports.String(), "listeners", plan.Listeners)
		}
	}
	for _, pod := range done.refreshed {
		log.V(1).Info("asked the kubelet to refresh the mounts", "pod", pod.Name)
	}
	for _, pod := range done.opened {
		log.Info("the Pod is published: older ones may go", "pod", pod.Name)
	}
	for _, object := range done.taken {
		log.Info("name conflict with an object that is not ours", "object", fmt.Sprintf("%T", object), "name", object.GetName())
	}
	if plan.NoImage {
		log.Info("the responder cannot be made, because its image is not known: " + adviceOnImage)
	}
	if plan.Wait != nil {
		log.Info("the responder keeps its version until others have come up with the operator's", "waitsFor", plan.Wait.For, "stopped", plan.Wait.Stopped)
	}
	if plan.Nudge != nil {
		log.V(1).Info("Pods of the responder are denied: asking Kubernetes to try again")
	}
	if len(plan.Unassigned) > 0 {
		log.Info("no listener is left for some Services", "services", len(plan.Unassigned), "first", plan.Unassigned[0].Name)
	}
	log.V(1).Info("decided", "slices", len(snap.Slices), "listeners", plan.Listeners, "ports", plan.Ports.String())
}

func deployments(objects []client.Object) []client.Object {
	var chosen []client.Object
	for _, object := range objects {
		if _, isDeployment := object.(*appsv1.Deployment); isDeployment {
			chosen = append(chosen, object)
		}
	}
	return chosen
}
