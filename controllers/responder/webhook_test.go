package responder_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// mirrorImages lets admission in the world's namespace take images from a mirror,
// as many clusters do, and waits until it does.
func (w *world) mirrorImages() {
	w.T.Helper()
	name := "mirror-" + w.Namespace
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      new(admissionregistrationv1.Fail),
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.Namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
				}}},
			},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: `[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", ` +
					`value: "mirror.example.com/operator:test"}]`},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}
	for _, object := range []client.Object{policy, binding} {
		w.Create(object)
		w.T.Cleanup(func() {
			w.Expect(w.Cluster.Client.Delete(context.WithoutCancel(w.T.Context()), object)).To(Succeed())
		})
	}
	labels := map[string]string{"app": "probe"}
	w.Eventually(func() (string, error) {
		probe := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: w.Namespace}}
		probe.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		probe.Spec.Template.Labels = labels
		probe.Spec.Template.Spec = testenv.PodSpec()
		err := w.Cluster.Client.Create(w.T.Context(), probe, client.DryRunAll)
		return probe.Spec.Template.Spec.Containers[0].Image, err
	}).Should(HavePrefix("mirror."), "the policy must take effect")
}

// What an admission webhook makes of the Deployment is not fought over.
func TestAWebhookIsNotFought(t *testing.T) {
	w := newWorld(t)
	w.Cluster.Since(t, "1.36", "MutatingAdmissionPolicy")
	w.mirrorImages()
	w.start(standard)
	w.critical("web", criticalv2.PageFallback{})
	w.Eventually(w.there).Should(beComplete())
	w.current().Settled(w.World)
	w.Expect(w.deployment().Spec.Template.Spec.Containers[0].Image).To(Equal("mirror.example.com/operator:test"))

	before := len(w.writes())
	w.look()
	w.look()
	w.Expect(w.writes()[before:]).To(BeEmpty())
}
