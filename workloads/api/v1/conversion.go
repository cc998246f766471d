package v1

import (
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// maxVersion is how many characters the schema of v2 allows a version to have.
const maxVersion = 63

// ConvertToV2 makes an AppConfig of v1 into one of v2. It leaves the TypeMeta of the latter
// alone. The version comes from an annotation, which the API server has not validated. What v2
// does not allow stays in the annotation, so that the conversion never fails and loses nothing.
func ConvertToV2(from *AppConfig, to *workloadsv2.AppConfig) {
	from.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	from.Status.DeepCopyInto(&to.Status)
	to.Spec = workloadsv2.AppConfigSpec{
		AppName:       from.Spec.AppName,
		Configuration: workloadsv2.Configuration{Settings: from.Spec.Config.DeepCopy()},
	}
	if version := from.Annotations[workloadsv2.AnnotationVersion]; version != "" && utf8.RuneCountInString(version) <= maxVersion {
		to.Spec.Configuration.Version = version
		remove(&to.ObjectMeta)
	}
}

// ConvertFromV2 makes an AppConfig of v2 into one of v1. It leaves the TypeMeta of the latter
// alone. A version takes the place of an annotation, which in v2 has no meaning.
func ConvertFromV2(from *workloadsv2.AppConfig, to *AppConfig) {
	from.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	from.Status.DeepCopyInto(&to.Status)
	to.Spec = AppConfigSpec{AppName: from.Spec.AppName, Config: from.Spec.Configuration.Settings.DeepCopy()}
	if version := from.Spec.Configuration.Version; version != "" {
		remove(&to.ObjectMeta)
		annotate(&to.ObjectMeta, version)
	}
}

// remove removes the annotation that v1 has for the version.
func remove(meta *metav1.ObjectMeta) {
	delete(meta.Annotations, workloadsv2.AnnotationVersion)
	if len(meta.Annotations) == 0 {
		meta.Annotations = nil
	}
}

// annotate sets the annotation that v1 has for the version. One that would make the
// annotations of the object larger than Kubernetes allows is left out: a refused answer would
// hide the object, and every list that holds it.
func annotate(meta *metav1.ObjectMeta, version string) {
	size := len(workloadsv2.AnnotationVersion) + len(version)
	for key, value := range meta.Annotations {
		size += len(key) + len(value)
	}
	if size <= validation.TotalAnnotationSizeLimitB {
		metav1.SetMetaDataAnnotation(meta, workloadsv2.AnnotationVersion, version)
	}
}
