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

	"github.com/critical-service/operator/test/cluster"
)

// appConfig is an empty AppConfig of a version.
func appConfig(version string) *unstructured.Unstructured {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(schema.GroupVersionKind{Group: "mycrd.com", Version: version, Kind: "AppConfig"})
	return config
}

func TestTheOperatorRunsTwiceAndIsReady(t *testing.T) {
	g := NewWithT(t)
	var pods corev1.PodList
	g.Expect(shared.List(t.Context(), &pods, client.InNamespace(workloads.Namespace),
		client.MatchingLabels{"app.kubernetes.io/name": workloads.Name, "app.kubernetes.io/component": "manager"})).To(Succeed())
	ready := 0
	for i := range pods.Items {
		if cluster.PodReady(&pods.Items[i]) {
			ready++
		}
	}
	g.Expect(ready).To(Equal(2))
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
