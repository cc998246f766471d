package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// digits is how many of the hash are in a name.
const digits = 10

// Hash identifies settings: those that differ have different ones. It does not depend on
// their order.
func Hash(settings map[string]string) string {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		// With their lengths no two of them run into each other.
		fmt.Fprintf(hash, "%d:%s%d:%s", len(key), key, len(settings[key]), settings[key])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Name is the name of the ConfigMap for settings with a hash.
func Name(app *workloadsv2.AppConfig, hash string) string { return app.Name + "-" + hash[:digits] }

// Revision is the immutable ConfigMap with the settings of an AppConfig.
func Revision(app *workloadsv2.AppConfig, number int64) *corev1.ConfigMap {
	config := configMap(app, Name(app, Hash(app.Spec.Configuration.Settings)))
	config.Immutable = new(true)
	Describe(config, app, number)
	return config
}

// Page is the ConfigMap that a ServiceFallback can name once and for all: its name stays, and
// its content changes.
func Page(app *workloadsv2.AppConfig) *corev1.ConfigMap {
	config := configMap(app, app.Name)
	Publish(config, app)
	return config
}

func configMap(app *workloadsv2.AppConfig, name string) *corev1.ConfigMap {
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Namespace, Name: name,
			Labels: map[string]string{workloadsv2.LabelAppConfig: app.Name, workloadsv1.LabelManagedBy: workloadsv1.ManagedBy},
		},
		Data: maps.Clone(app.Spec.Configuration.Settings),
	}
	Own(config, app, nil)
	return config
}

// IsPublished reports whether the owner of an AppConfig agrees that its settings are shown to
// clients.
func IsPublished(app *workloadsv2.AppConfig) bool {
	return app.Labels[criticalv2.LabelResponder] == criticalv2.ResponderContent
}

// Publish copies to a ConfigMap the label by which it may be the content of a page, or takes
// it off.
func Publish(config *corev1.ConfigMap, app *workloadsv2.AppConfig) {
	if IsPublished(app) {
		metav1.SetMetaDataLabel(&config.ObjectMeta, criticalv2.LabelResponder, criticalv2.ResponderContent)
	} else {
		delete(config.Labels, criticalv2.LabelResponder)
	}
}

// Describe writes on the ConfigMap with the settings of now what they are called, and that
// they are the newest.
func Describe(config *corev1.ConfigMap, app *workloadsv2.AppConfig, number int64) {
	Publish(config, app)
	metav1.SetMetaDataAnnotation(&config.ObjectMeta, workloadsv2.AnnotationRevision, strconv.FormatInt(number, 10))
	if version := app.Spec.Configuration.Version; version != "" {
		metav1.SetMetaDataAnnotation(&config.ObjectMeta, workloadsv2.AnnotationVersion, version)
	} else {
		delete(config.Annotations, workloadsv2.AnnotationVersion)
	}
}

// lastRevision bounds the numbers of revisions, which users of the namespace can write.
const lastRevision = 1 << 53

// RevisionOf is the number of a ConfigMap; 0 if it has none.
func RevisionOf(config *corev1.ConfigMap) int64 {
	number, err := strconv.ParseInt(config.Annotations[workloadsv2.AnnotationRevision], 10, 64)
	if err != nil || number < 0 || number > lastRevision {
		return 0
	}
	return number
}

// NextRevision is a number that is greater than all, as long as there is one.
func NextRevision(greatest int64) int64 { return min(greatest+1, lastRevision) }
