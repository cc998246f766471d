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
// alone. The version comes from an annotation, of which the API server has seen nothing; one
// that v2 does not allow is ignored, so that the conversion never fails.
func ConvertToV2(from *AppConfig, to *workloadsv2.AppConfig) {
	from.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	from.Status.DeepCopyInto(&to.Status)
	to.Spec = workloadsv2.AppConfigSpec{
		AppName:       from.Spec.AppName,
		Configuration: workloadsv2.Configuration{Settings: from.Spec.Config.DeepCopy()},
	}
	version := from.Annotations[workloadsv2.AnnotationVersion]
	if utf8.RuneCountInString(version) <= maxVersion {
		to.Spec.Configuration.Version = version
	}
	annotate(&to.ObjectMeta, "")
}

// ConvertFromV2 makes an AppConfig of v2 into one of v1. It leaves the TypeMeta of the latter
// alone.
func ConvertFromV2(from *workloadsv2.AppConfig, to *AppConfig) {
	from.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	from.Status.DeepCopyInto(&to.Status)
	to.Spec = AppConfigSpec{AppName: from.Spec.AppName, Config: from.Spec.Configuration.Settings.DeepCopy()}
	annotate(&to.ObjectMeta, from.Spec.Configuration.Version)
}

// annotate sets the annotation that v1 has for the version, or takes it off if that is
// empty. One that would make the annotations of the object larger than Kubernetes allows is
// left out: a refused answer would hide the object, and every list that holds it.
func annotate(meta *metav1.ObjectMeta, version string) {
	delete(meta.Annotations, workloadsv2.AnnotationVersion)
	size := len(workloadsv2.AnnotationVersion) + len(version)
	for key, value := range meta.Annotations {
		size += len(key) + len(value)
	}
	if version != "" && size <= validation.TotalAnnotationSizeLimitB {
		metav1.SetMetaDataAnnotation(meta, workloadsv2.AnnotationVersion, version)
	}
	if len(meta.Annotations) == 0 {
		meta.Annotations = nil
	}
}
