package v1_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// What the exercise of the source document asks for: config becomes configuration.settings,
// and back.
func TestWhatEachVersionIsInTheOther(t *testing.T) {
	for sentence, test := range map[string]struct{ v1, v2 string }{
		"settings alone": {
			v1: `{spec: {appName: shop, config: {LOG_LEVEL: debug}}}`,
			v2: `{spec: {appName: shop, configuration: {settings: {LOG_LEVEL: debug}}}}`,
		},
		"the version stands in an annotation of v1": {
			v1: `{metadata: {annotations: {mycrd.com/appconfig-version: "1.4"}}, spec: {appName: shop, config: {LOG_LEVEL: debug}}}`,
			v2: `{spec: {appName: shop, configuration: {settings: {LOG_LEVEL: debug}, version: "1.4"}}}`,
		},
		"other annotations stay": {
			v1: `{metadata: {annotations: {mycrd.com/appconfig-version: "1.4", team: web}}, spec: {appName: shop}}`,
			v2: `{metadata: {annotations: {team: web}}, spec: {appName: shop, configuration: {version: "1.4"}}}`,
		},
		"no settings are none, and empty ones are empty": {
			v1: `{spec: {appName: shop, config: {}}}`,
			v2: `{spec: {appName: shop, configuration: {settings: {}}}}`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			var spoke workloadsv1.AppConfig
			var hub workloadsv2.AppConfig
			g.Expect(yaml.UnmarshalStrict([]byte(test.v1), &spoke)).To(Succeed())
			g.Expect(yaml.UnmarshalStrict([]byte(test.v2), &hub)).To(Succeed())
			g.Expect(toV2(&spoke)).To(Equal(&hub))
			g.Expect(fromV2(&hub)).To(Equal(&spoke))
		})
	}
}

func TestTheAnnotationOfV1(t *testing.T) {
	versioned := func(version string) *workloadsv1.AppConfig {
		return &workloadsv1.AppConfig{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{workloadsv2.AnnotationVersion: version}}}
	}
	for sentence, invalid := range map[string]string{"has more than 63 characters": strings.Repeat("v", 64), "is empty": ""} {
		t.Run("stays as it is where it "+sentence+", because a conversion must not fail", func(t *testing.T) {
			g := NewWithT(t)
			hub := toV2(versioned(invalid))
			g.Expect(hub.Spec.Configuration.Version).To(BeEmpty())
			g.Expect(hub.Annotations).To(HaveKeyWithValue(workloadsv2.AnnotationVersion, invalid))
			g.Expect(fromV2(hub)).To(Equal(versioned(invalid)))
			g.Expect(toV2(fromV2(hub))).To(Equal(hub))
		})
	}
	t.Run("is what counts where v1 is edited", func(t *testing.T) {
		g := NewWithT(t)
		spoke := fromV2(toV2(versioned("1.4")))
		spoke.Annotations[workloadsv2.AnnotationVersion] = "1.5"
		g.Expect(toV2(spoke).Spec.Configuration.Version).To(Equal("1.5"))
	})
	t.Run("is replaced by the version of an object of v2, where it has no meaning", func(t *testing.T) {
		g := NewWithT(t)
		hub := &workloadsv2.AppConfig{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{workloadsv2.AnnotationVersion: "stray"}}}
		hub.Spec.Configuration.Version = "1.4"
		g.Expect(fromV2(hub)).To(Equal(versioned("1.4")))
	})
	t.Run("is the version in v1 of an object of v2 that has none", func(t *testing.T) {
		g := NewWithT(t)
		hub := &workloadsv2.AppConfig{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{workloadsv2.AnnotationVersion: "stray"}}}
		g.Expect(fromV2(hub)).To(Equal(versioned("stray")))
		g.Expect(toV2(fromV2(hub)).Spec.Configuration.Version).To(Equal("stray"), "nothing is lost")
	})
	t.Run("is left out where the annotations would become larger than Kubernetes allows", func(t *testing.T) {
		g := NewWithT(t)
		hub := &workloadsv2.AppConfig{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": strings.Repeat("x", 256<<10-10)}}}
		hub.Spec.Configuration.Version = "1.4"
		g.Expect(fromV2(hub).Annotations).To(HaveLen(1))
		g.Expect(hub.Annotations).To(HaveLen(1))
	})
}
