package testenv_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/critical-service/operator/test/testenv"
)

// A changed annotation is what makes the API server's finalizer retry a deletion that it gave up.
func TestTheDeletionOfADefinitionThatStaysIsRetried(t *testing.T) {
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	now := time.Now()
	for name, test := range map[string]struct {
		deleted, retried time.Time
		unstructured     bool
		changed          bool
	}{
		"one that is not being deleted is left alone":                 {},
		"one that was deleted just now is left alone":                 {deleted: now},
		"one that stays is changed":                                   {deleted: now.Add(-time.Minute), changed: true},
		"one that stays is changed in any form":                       {deleted: now.Add(-time.Minute), unstructured: true, changed: true},
		"one that was changed just now is left alone":                 {deleted: now.Add(-time.Minute), retried: now},
		"one that stays in spite of a change is changed another time": {deleted: now.Add(-time.Hour), retried: now.Add(-time.Minute), changed: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "shops.example.com"}}
			if !test.deleted.IsZero() {
				definition.DeletionTimestamp = &metav1.Time{Time: test.deleted}
				definition.Finalizers = []string{apiextensionsv1.CustomResourceCleanupFinalizer}
			}
			if !test.retried.IsZero() {
				metav1.SetMetaDataAnnotation(&definition.ObjectMeta, "test/retried", test.retried.Format(time.RFC3339))
			}
			cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(definition).Build()
			g.Expect(cluster.Get(t.Context(), client.ObjectKeyFromObject(definition), definition)).To(Succeed())
			before := definition.ResourceVersion

			var object client.Object = definition
			if test.unstructured {
				form := &unstructured.Unstructured{}
				form.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
				form.SetName(definition.Name)
				object = form
			}
			g.Expect(testenv.Gone(t.Context(), cluster, object)).To(BeFalse())
			g.Expect(cluster.Get(t.Context(), client.ObjectKeyFromObject(definition), definition)).To(Succeed())
			changed := definition.ResourceVersion != before
			g.Expect(changed).To(Equal(test.changed))
		})
	}
}
