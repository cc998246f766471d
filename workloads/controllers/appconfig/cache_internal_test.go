package appconfig

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/bulk"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// Users of any namespace can label what they make so that it is cached. Each kind has a bound
// that has no room for one more field.
func TestWhatStrangersWriteIsKeptWithinBounds(t *testing.T) {
	// What the API server bounds is as it may be.
	bounded := func(object client.Object) {
		object.SetName("shop")
		object.SetNamespace("web")
		object.SetUID("1")
		object.SetResourceVersion("2")
		object.GetLabels()[workloadsv2.LabelAppConfig] = "shop"
		owners := object.GetOwnerReferences()
		for i := range owners[1:] {
			owners[i+1].Controller = nil
		}
		object.GetAnnotations()[workloadsv2.AnnotationVersion] = strings.Repeat("x", 200_000)
	}
	app := bulk.Fill(&workloadsv2.AppConfig{}) // It has an annotation that is no version.
	app.Spec.AppName, app.Spec.Configuration.Version, app.Status = "shop", "1.4", workloadsv2.AppConfigStatus{}
	deployment := bulk.Fill(&appsv1.Deployment{})
	set := bulk.Fill(&appsv1.StatefulSet{})
	for _, template := range []*corev1.PodTemplateSpec{&deployment.Spec.Template, &set.Spec.Template} {
		container := &template.Spec.Containers[0]
		container.Name = "app"
		container.EnvFrom = takes(strings.Repeat("x", 200_000))
	}
	for kind, c := range map[string]struct {
		object client.Object
		slim   func(any) (any, error)
		most   int
	}{
		"AppConfig":   {app, slimAppConfig, 600},
		"ConfigMap":   {bulk.Fill(&corev1.ConfigMap{}), slimConfigMap, 1_800},
		"Deployment":  {deployment, slimWorkload, 1_000},
		"StatefulSet": {set, slimWorkload, 1_000},
	} {
		t.Run(kind, func(t *testing.T) {
			g := NewWithT(t)
			bounded(c.object)
			slim, err := c.slim(c.object)
			g.Expect(err).NotTo(HaveOccurred())
			kept, err := json.Marshal(slim)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(kept)).To(BeNumerically("<", c.most), "%.3000s", kept)
			g.Expect(len(kept)).To(BeNumerically(">", c.most-4000), "a bound with room is none")
		})
	}
}

func TestThatAnAnnotationIsNoVersionIsKept(t *testing.T) {
	g := NewWithT(t)
	for _, version := range []string{"", strings.Repeat("x", 200_000)} {
		app := &workloadsv2.AppConfig{}
		app.Annotations = map[string]string{workloadsv2.AnnotationVersion: version}
		slim, err := slimAppConfig(app)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(slim.(*workloadsv2.AppConfig).Annotations).To(HaveKeyWithValue(workloadsv2.AnnotationVersion, ""))
	}
}
