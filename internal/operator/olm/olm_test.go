package olm

import (
	"testing"

	. "github.com/onsi/gomega"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/crdcache"
)

func TestOLMWaitsForAMigrationAndForNothingElse(t *testing.T) {
	type change func(crd *apiextensionsv1.CustomResourceDefinition)
	tests := map[string]struct {
		change change
		status metav1.ConditionStatus
		reason string
	}{
		"objects may be stored in an earlier version": {
			change: func(*apiextensionsv1.CustomResourceDefinition) {},
			status: metav1.ConditionFalse, reason: ReasonMigration,
		},
		"all is stored in the current version": {
			change: func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.StoredVersions = []string{"v2"} },
			status: metav1.ConditionTrue, reason: ReasonNoMigration,
		},
		"an earlier version is the one to store": {
			change: func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Spec.Versions[0].Storage, crd.Spec.Versions[1].Storage = true, false
				crd.Status.StoredVersions = []string{"v1"}
			},
			status: metav1.ConditionTrue, reason: ReasonNoMigration,
		},
		"OLM has replaced the definition, and puts the authority back with the version that it is to install": {
			change: func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Spec.Conversion.Webhook.ClientConfig.CABundle = nil
			},
			status: metav1.ConditionTrue, reason: ReasonNoMigration,
		},
		"there is no definition": {
			change: func(crd *apiextensionsv1.CustomResourceDefinition) {
				*crd = apiextensionsv1.CustomResourceDefinition{}
			},
			status: metav1.ConditionTrue, reason: ReasonNoMigration,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			crd := &apiextensionsv1.CustomResourceDefinition{
				Spec: apiextensionsv1.CustomResourceDefinitionSpec{
					Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1"}, {Name: "v2", Storage: true}},
					Conversion: &apiextensionsv1.CustomResourceConversion{
						Strategy: apiextensionsv1.WebhookConverter,
						Webhook: &apiextensionsv1.WebhookConversion{
							ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte("authority")},
						},
					},
				},
				Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1", "v2"}},
			}
			test.change(crd)
			got := upgradeable(crd, crdcache.Kind{GroupVersionKind: criticalv2.CriticalServiceKind, Plural: "criticalservices"})
			g.Expect(got.Type).To(Equal(operatorsv2.Upgradeable))
			g.Expect(got.Status).To(Equal(test.status))
			g.Expect(got.Reason).To(Equal(test.reason))
			g.Expect(got.Message).NotTo(BeEmpty())
		})
	}
}
