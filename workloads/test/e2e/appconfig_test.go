//go:build e2e

package e2e

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// appConfig is an empty AppConfig of a version.
func appConfig(version string) *unstructured.Unstructured {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(schema.GroupVersionKind{Group: "mycrd.com", Version: version, Kind: "AppConfig"})
	return config
}

// What is written as v1 is stored as v2: the API server reaches the webhook, and trusts its certificate.
func TestTheConversionWebhookIsTrusted(t *testing.T) {
	g := NewWithT(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-workloads-"}}
	g.Expect(shared.Create(t.Context(), namespace)).To(Succeed())
	t.Cleanup(func() {
		NewWithT(t).Expect(shared.Delete(context.WithoutCancel(t.Context()), namespace)).To(Succeed())
	})

	first := appConfig("v1")
	first.SetNamespace(namespace.Name)
	first.SetName("shop")
	first.Object["spec"] = map[string]any{"appName": "shop", "config": map[string]any{"LOG_LEVEL": "debug"}}
	// kube-proxy follows a new Pod of the operator a moment later.
	g.Eventually(func() error { return shared.Create(t.Context(), first.DeepCopy()) }).Should(Succeed())

	second := appConfig("v2")
	g.Expect(shared.Get(t.Context(), client.ObjectKeyFromObject(first), second)).To(Succeed())
	settings, _, err := unstructured.NestedStringMap(second.Object, "spec", "configuration", "settings")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(settings).To(Equal(map[string]string{"LOG_LEVEL": "debug"}))
}
