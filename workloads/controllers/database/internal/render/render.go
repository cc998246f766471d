// Package render makes the objects of a Database as they are to be. It is pure.
package render

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/engine"
	"github.com/critical-service/operator/workloads/internal/ownership"
)

// Service leads to the Pod of the Database and to no other: the label app is that of all
// Databases, and does not select.
func Service(d *workloadsv1.Database) *corev1.Service {
	e := engine.Of(d.Spec.Type)
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta(d, d.Name),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceType(d.Spec.Service.Type),
			Selector: map[string]string{workloadsv1.LabelDatabase: d.Name},
			Ports: []corev1.ServicePort{{
				Name: string(d.Spec.Type), Port: e.Port, TargetPort: intstr.FromInt32(e.Port),
				Protocol: corev1.ProtocolTCP, AppProtocol: new(e.AppProtocol),
			}},
		},
	}
}

// Claim asks for the volume. Who owns it says what becomes of it: without an owner it
// stays when the Database goes.
func Claim(d *workloadsv1.Database) *corev1.PersistentVolumeClaim {
	made := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: meta(d, d.ClaimName()),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: d.Spec.Storage.StorageClassName,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: Size(d)}},
		},
	}
	made.Annotations = map[string]string{workloadsv1.AnnotationEngine: string(d.Spec.Type)}
	made.OwnerReferences = ClaimOwners(d)
	return made
}

// Size of the volume. Nothing is made of a Database whose size is not valid.
func Size(d *workloadsv1.Database) resource.Quantity {
	size, _ := workloadsv1.Quantity(d.Spec.Storage.Size).Parse()
	return size
}

// ClaimOwners are the owners that the claim has by the deletion policy. None of them is a
// controller, so that a claim which outlived a Database can belong to the next.
func ClaimOwners(d *workloadsv1.Database) []metav1.OwnerReference {
	if d.Spec.Storage.DeletionPolicy != workloadsv1.DeletionDelete {
		return nil
	}
	return []metav1.OwnerReference{owner(d)}
}

// Secret holds generated credentials. Those of a Database with storage have no owner: the
// data that outlives the Database cannot be read without them.
func Secret(d *workloadsv1.Database, password string) *corev1.Secret {
	e := engine.Of(d.Spec.Type)
	made := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta(d, d.SecretName()),
		Type:       corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			engine.KeyUsername: []byte(e.Username),
			engine.KeyPassword: []byte(password),
			engine.KeyURI:      []byte(e.URI(Address(d), e.Username, password)),
		},
	}
	made.Annotations = map[string]string{workloadsv1.AnnotationEngine: string(d.Spec.Type)}
	if d.Spec.Storage != nil {
		made.OwnerReferences = nil
	}
	return made
}

// Address is where clients of the cluster find the Database.
func Address(d *workloadsv1.Database) string {
	return fmt.Sprintf("%s.%s.svc:%d", d.Name, d.Namespace, engine.Of(d.Spec.Type).Port)
}

// IsOurs reports whether an object of a name that the Database needs is the Database's.
func IsOurs(d *workloadsv1.Database, object metav1.Object) bool { return Owner(d).IsOurs(object) }

// IsEarlier reports whether an object belongs to an earlier Database of the name.
func IsEarlier(d *workloadsv1.Database, object metav1.Object) bool { return Owner(d).IsEarlier(object) }

// Owner is the Database as the owner of its objects.
func Owner(d *workloadsv1.Database) *ownership.Owner {
	return &ownership.Owner{Reference: Controller(d), Labels: []string{workloadsv1.LabelDatabase, workloadsv1.LabelTrial}}
}

// NameOf is the name of the Database that an object says it is of; empty if it says none.
func NameOf(object metav1.Object) string {
	labels := object.GetLabels()
	return cmp.Or(labels[workloadsv1.LabelDatabase], labels[workloadsv1.LabelTrial])
}

func meta(d *workloadsv1.Database, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: d.Namespace, Name: name, Labels: Labels(d), OwnerReferences: []metav1.OwnerReference{Controller(d)},
	}
}

// Labels are on every object of the Database but a trial.
func Labels(d *workloadsv1.Database) map[string]string {
	return map[string]string{
		workloadsv1.LabelApp:       workloadsv1.AppDatabase,
		workloadsv1.LabelDatabase:  d.Name,
		workloadsv1.LabelManagedBy: workloadsv1.ManagedBy,
	}
}

// Controller is the reference of what lives and dies with the Database.
func Controller(d *workloadsv1.Database) metav1.OwnerReference {
	controller := owner(d)
	controller.Controller = new(true)
	return controller
}

// owner does not block the deletion of the Database: that would take one more permission
// where a cluster checks who sets owners.
func owner(d *workloadsv1.Database) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: workloadsv1.GroupVersion.String(), Kind: workloadsv1.DatabaseKind.Kind, Name: d.Name, UID: d.UID,
	}
}
