package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/controller/drift"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// findConflict finds an object of another that has a name which the Database needs. It is
// left alone.
func (d *decision) findConflict() {
	if d.Service != nil {
		d.checkOwner("Service", d.Service)
	}
	if d.awaitsFallback() {
		d.wait("ServiceFallback", d.Fallback.Object.Name)
	}
	if d.Pod != nil {
		d.checkOwner("Pod", d.Pod)
	}
	if d.Database.Spec.Storage != nil && d.Claim != nil {
		d.checkOwner("PersistentVolumeClaim", d.Claim)
		if holds := d.Claim.Annotations[workloadsv1.AnnotationEngine]; isOther(holds, d.Database) {
			d.refuse("PersistentVolumeClaim %q holds the data of an earlier Database of type %.20q: create a Database of that type or of another name, or delete the claim if its data is not needed.",
				d.Claim.Name, holds)
		}
	}
	switch name := d.Database.SecretName(); {
	case !d.Secret.Found || !d.Database.OwnsSecret():
	case d.Secret.Earlier:
		d.wait("Secret", name)
	case d.Secret.Ours && isOther(d.Secret.Engine, d.Database):
		d.refuse("Secret %q has the credentials of an earlier Database of type %.20q: create a Database of that type or of another name, or delete the Secret if the data that it opens is not needed.",
			name, d.Secret.Engine)
	case d.Secret.Ours:
	default:
		d.refuse("Secret %q exists and was not generated for this Database, so that it is left alone: delete it, or create a Database whose spec.credentials.secretName names it.", name)
	}
}

// isOther reports whether an object says that it is of another engine.
func isOther(engine string, db *workloadsv1.Database) bool {
	return engine != "" && engine != string(db.Spec.Type)
}

// checkOwner looks whose an object is that has a name which the Database needs.
func (d *decision) checkOwner(kind string, object metav1.Object) {
	switch {
	case render.IsEarlier(d.Database, object):
		d.wait(kind, object.GetName())
	case !render.IsOurs(d.Database, object):
		d.refuse("%s %q exists and does not belong to this Database, so that it is left alone: delete or rename it, or create a Database of another name.",
			kind, object.GetName())
	}
}

// refuse says what stands in the way. The first says enough.
func (d *decision) refuse(format string, args ...any) {
	d.conflict = cmp.Or(d.conflict, fmt.Sprintf(format, args...))
}

// wait waits for an object that goes with an earlier Database of the name.
func (d *decision) wait(kind, name string) {
	d.earlier = fmt.Sprintf("%s %q of an earlier Database of this name is about to be deleted, and goes first.", kind, name)
}

// protect lets the core answer while the Database does not. It comes before the Service, so
// that this is protected from its first moment. The Service of another is not the Database's
// to protect: what names it would come before what its own team has chosen.
func (d *decision) protect() {
	service, owner := render.Service(d.Database), render.Owner(d.Database)
	wanted := fallback.For(service, owner, d.Database.Spec.Fallback)
	said := d.Fallback.Protected(service, wanted, owner)
	if d.Service != nil && !render.IsOurs(d.Database, d.Service) && !render.IsEarlier(d.Database, d.Service) {
		wanted = nil
		said = fallback.Protection{
			Reason:  workloadsv1.ReasonNameTaken,
			Message: fmt.Sprintf("Service %q does not belong to this Database, which protects its own only.", service.Name),
		}
	}
	d.plan.Fallback = d.Fallback.ChangeOf(wanted, owner)
	d.conditions().Set(workloadsv1.ConditionProtected, said.Is, said.Reason, condition.Message(said.Message))
	if said.Reason == workloadsv1.ReasonNameTaken || d.Fallback.Refused != "" {
		d.lookAgain(workloadsv1.ConditionProtected)
	}
}

// awaitsFallback reports whether the Service is missing, and the ServiceFallback is that of an
// earlier Database: a Service that is made now would lose it in the next moment.
func (d *decision) awaitsFallback() bool {
	return d.Service == nil && d.Fallback.IsEarlier(render.Owner(d.Database))
}

// AwaitsAnswer reports whether the Service is missing, and is not made yet because the API server
// fails to read or write its ServiceFallback.
func (s *Snapshot) AwaitsAnswer() bool {
	return s.Service == nil &&
		s.Fallback.DelaysService(s.Database.Spec.Fallback, s.Ages.Of(workloadsv1.ConditionProtected, workloadsv1.ReasonCreateDenied, s.Now))
}

// expose keeps the Service as it is to be: of its own Pod, and of no other.
func (d *decision) expose() {
	wanted := render.Service(d.Database)
	switch {
	case d.awaitsFallback(), d.AwaitsAnswer():
		return
	case d.Service == nil:
	case !render.IsOurs(d.Database, d.Service), d.Service.DeletionTimestamp != nil:
		return
	case drift.Covers(d.Service, wanted) && equality.Semantic.DeepEqual(d.Service.Spec.Selector, wanted.Spec.Selector):
		return
	}
	d.plan.Service = wanted
}

// store keeps what the engine cannot do without: credentials, and a volume. A password is
// generated only where no data can know another one.
func (d *decision) store() {
	db := d.Database
	switch {
	case d.invalid != "" || d.conflict != "" || d.earlier != "":
		return
	case d.Secret.Found && len(d.Secret.Missing) > 0:
		d.secretProblem = fmt.Sprintf("Secret %q lacks the key %s: add what is missing.", db.SecretName(), strings.Join(d.Secret.Missing, ", "))
	case d.Secret.Found:
	case !db.OwnsSecret():
		d.secretProblem = fmt.Sprintf("Secret %q does not exist: create it, with the keys that the documentation of Databases names.", db.SecretName())
	case d.Claim != nil && db.Spec.Storage != nil:
		d.secretProblem = fmt.Sprintf("Secret %q is gone, and only its password opens the data in PersistentVolumeClaim %q: restore the Secret, or delete the claim to begin without data.",
			db.SecretName(), d.Claim.Name)
	case d.Pod != nil:
		d.secretProblem = fmt.Sprintf("Secret %q is gone, and Pod %q has its password: restore the Secret, or delete the Pod to begin without data.",
			db.SecretName(), d.Pod.Name)
	default:
		d.plan.Generate = true
	}
	if db.Spec.Storage == nil {
		return
	}
	switch {
	case d.Claim != nil:
		d.changeClaim()
	case d.secretProblem == "":
		d.plan.CreateClaim = render.Claim(db)
	}
}

// changeClaim lets a claim grow, and gives it the owner that the deletion policy says. It
// never shrinks, and is never deleted.
func (d *decision) changeClaim() {
	if d.losesData() {
		return
	}
	size, has := render.Size(d.Database), d.Claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if size.Cmp(has) > 0 && d.Claim.Status.Phase == corev1.ClaimBound {
		grown := d.Claim.DeepCopy()
		grown.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: size}
		d.plan.ChangeClaim = append(d.plan.ChangeClaim, Change[*corev1.PersistentVolumeClaim]{
			From: d.Claim, To: grown, What: "growth to " + size.String(),
			Remedy: "Set allowVolumeExpansion of the StorageClass; if its driver cannot do that, create another Database with more storage, and copy the data there.",
		})
	}
	owners := slices.DeleteFunc(slices.Clone(d.Claim.OwnerReferences), func(owner metav1.OwnerReference) bool {
		return owner.UID == d.Database.UID
	})
	owners = append(owners, render.ClaimOwners(d.Database)...)
	if !equality.Semantic.DeepEqual(owners, d.Claim.OwnerReferences) {
		owned := d.Claim.DeepCopy()
		owned.OwnerReferences = owners
		d.plan.ChangeClaim = append(d.plan.ChangeClaim, Change[*corev1.PersistentVolumeClaim]{
			From: d.Claim, To: owned, What: "the owner that spec.storage.deletionPolicy gives",
			Remedy: "This cluster lets only those change owners who may delete, and the operator may not delete claims: change metadata.ownerReferences of the claim yourself.",
		})
	}
}

// noteImage notes on the claim which image came up with its data, at the latest before that
// Pod is taken away. An image that never came up is not noted: it may be one that does not
// exist, or cannot read the data.
func (d *decision) noteImage() {
	pod := d.ours()
	if pod == nil || !d.hasComeUp(pod) || d.Database.Spec.Storage == nil || d.conflict != "" || d.earlier != "" {
		return
	}
	image := render.ImageOf(d.Database, pod)
	if d.plan.CreateClaim != nil {
		metav1.SetMetaDataAnnotation(&d.plan.CreateClaim.ObjectMeta, workloadsv1.AnnotationImage, image)
		return
	}
	if d.Claim == nil || d.losesData() || d.Claim.Annotations[workloadsv1.AnnotationImage] == image {
		return
	}
	noted := d.Claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&noted.ObjectMeta, workloadsv1.AnnotationImage, image)
	change := Change[*corev1.PersistentVolumeClaim]{
		From: d.Claim, To: noted, What: "the note of the image",
		Remedy: "Let it set the annotation " + workloadsv1.AnnotationImage + ": without it, another setting of the operator could bring the data to an engine that cannot read it.",
	}
	if d.plan.RemovePod != nil {
		d.plan.NoteImage = &change
		return
	}
	d.plan.ChangeClaim = append(d.plan.ChangeClaim, change)
}

// describe says what there is.
func (d *decision) describe() {
	db := d.Database
	d.status.PodName, d.status.Address, d.status.NodePort, d.status.SecretName = "", "", 0, ""
	pod := d.ours()
	if pod != nil {
		d.status.PodName = pod.Name
	}
	if d.Service != nil && render.IsOurs(db, d.Service) {
		d.status.Address = render.Address(db)
		for _, port := range d.Service.Spec.Ports {
			d.status.NodePort = port.NodePort
		}
		if pod != nil {
			d.status.Message = fmt.Sprintf("Pod and Service created by Database %s", db.Name)
		}
	}
	if d.Secret.Found && (d.Secret.Ours || !db.OwnsSecret()) {
		d.status.SecretName = db.SecretName()
	}
}
