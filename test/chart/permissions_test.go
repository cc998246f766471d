package chart_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// shop makes a Service with a ready endpoint that a policy protects by a Pod of a template.
func (w *world) shop() *criticalv2.CriticalService {
	w.t.Helper()
	meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web", Labels: map[string]string{"role": "frontend"}}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: "web-1", Labels: map[string]string{
			discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io",
		}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: new(int32(80))}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.2.3"}}},
	}
	template := &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: "sorry"},
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "sorry", Image: "registry.example.com/sorry:v1", Ports: []corev1.ContainerPort{{ContainerPort: 80}}},
		}}},
	}
	w.Expect(admin.Create(w.t.Context(), service)).To(Succeed())
	w.t.Cleanup(func() { w.delete(service) })
	w.Expect(admin.Create(w.t.Context(), slice)).To(Succeed())
	w.t.Cleanup(func() { w.delete(slice) })
	w.Expect(admin.Create(w.t.Context(), template)).To(Succeed())
	w.t.Cleanup(func() { w.delete(template) })
	policy := w.policy()
	policy.Spec.Fallback = criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{Name: template.Name, Namespace: template.Namespace}}
	w.Expect(admin.Update(w.t.Context(), policy)).To(Succeed())
	return policy
}

// says waits until the status of a policy says something of its only Service.
func (p *process) says(policy *criticalv2.CriticalService, reason, message any) {
	p.t.Helper()
	p.until(func(g Gomega) {
		p.read(policy)
		g.Expect(policy.Status.Details).To(ConsistOf(And(HaveField("Reason", reason), HaveField("Message", message))))
	})
}

// hasResponder waits until the namespace has the Deployment of its responder.
func (p *process) hasResponder() {
	p.t.Helper()
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: criticalv2.ResponderName}
	p.until(func(g Gomega) { g.Expect(admin.Get(p.t.Context(), key, &appsv1.Deployment{})).To(Succeed()) })
}

func TestWithoutThePermissionToRunPodsThePageStandsInUntilItIsGranted(t *testing.T) {
	w := newWorld(t)
	w.helm("install", release, chart, "--set", "podTemplates=false")
	w.defined()
	policy := w.shop()

	operator := w.start("RESPONDER_IMAGE=registry.example.com/operator:v1")
	operator.says(policy, criticalv2.ReasonPodsForbidden, And(
		ContainSubstring("bind the ClusterRole critical-service-operator-pod-templates to it"), ContainSubstring("The built-in page stands in for it.")))
	operator.hasResponder()

	w.helm("upgrade", release, chart, "--set", "podTemplates=true")
	w.Eventually(operator.ended).Should(Receive(HaveOccurred()), "kubelet starts it again")
	w.Expect(operator.log.String()).To(ContainSubstring("the permission to run Pods of PodTemplates was granted"))
	w.Expect(operator.log.String()).NotTo(ContainSubstring("is forbidden"))

	operator = w.start("RESPONDER_IMAGE=registry.example.com/operator:v1")
	operator.says(policy, Not(Equal(criticalv2.ReasonPodsForbidden)), ContainSubstring("would be made from PodTemplate default/sorry"))
	operator.stop()
}

func TestWithRolesInItsNamespacesTheOperatorProtectsThemAndMayNothingElsewhere(t *testing.T) {
	w := newWorld(t)
	w.helm("install", release, chart, "--set", "namespaced=true", "--set", "settings.NAMESPACES=default")
	w.defined()
	policy := w.shop()
	operator := w.start("RESPONDER_IMAGE=registry.example.com/operator:v1", "NAMESPACES=default")
	operator.says(policy, Not(Equal(criticalv2.ReasonPodsForbidden)), ContainSubstring("would be made from PodTemplate default/sorry"))

	w.Eventually(func() error {
		w.read(policy) // The operator writes its status.
		policy.Spec.Fallback = criticalv2.Fallback{Page: &criticalv2.PageFallback{}}
		return admin.Update(w.t.Context(), policy)
	}).Should(Succeed())
	operator.hasResponder()
	operator.stop()
	w.Expect(operator.log.String()).NotTo(ContainSubstring("forbidden"))

	for in, may := range map[string]bool{metav1.NamespaceDefault: true, metav1.NamespaceSystem: false, metav1.NamespaceAll: false} {
		for _, can := range []authorizationv1.ResourceAttributes{
			{Resource: "pods", Verb: "create"}, {Resource: "pods", Verb: "list"}, {Resource: "configmaps", Verb: "list"},
			{Group: "discovery.k8s.io", Resource: "endpointslices", Verb: "delete"}, {Group: "apps", Resource: "deployments", Verb: "create"},
		} {
			can.Namespace = in
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:" + namespace + ":critical-service-operator", ResourceAttributes: &can,
			}}
			w.Expect(admin.Create(t.Context(), review)).To(Succeed())
			w.Expect(review.Status.Allowed).To(Equal(may), "%+v", can)
		}
	}
}
