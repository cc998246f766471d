package stories_test

import (
	"context"
	"os"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// editor is a client of a user who has the operator's roles for users in the namespace of the world, and no other
// right.
func (w *world) editor() client.Client {
	w.T.Helper()
	user := "editor-of-" + w.Namespace
	for _, role := range []string{"critical-service-fallback-editor", "critical-service-maintenance-editor"} {
		w.Create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
	}
	config := rest.CopyConfig(cluster.Admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	editor, err := client.New(config, client.Options{Scheme: cluster.Client.Scheme(), Mapper: cluster.Client.RESTMapper()})
	w.Expect(err).NotTo(HaveOccurred())
	return editor
}

// samplePolicy is the ValidatingAdmissionPolicy of the samples and its binding.
func samplePolicy(g Gomega) (policy, binding *unstructured.Unstructured) {
	objects, err := testenv.ReadYAML(testenv.Path("config/samples/admission/teams.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveExactElements(
		HaveField("GetKind()", "ValidatingAdmissionPolicy"), HaveField("GetKind()", "ValidatingAdmissionPolicyBinding"),
	))
	return objects[0], objects[1]
}

// restrictTeams installs the sample, bound to the namespace of the world only: it would be in the way of other tests.
func (w *world) restrictTeams() {
	w.T.Helper()
	policy, binding := samplePolicy(w)
	w.Expect(unstructured.SetNestedStringMap(binding.Object, map[string]string{corev1.LabelMetadataName: w.Namespace},
		"spec", "matchResources", "namespaceSelector", "matchLabels")).To(Succeed())
	for _, object := range []*unstructured.Unstructured{policy, binding} {
		w.Create(object)
		w.T.Cleanup(func() { w.Expect(w.Cluster.Client.Delete(context.WithoutCancel(w.T.Context()), object)).To(Succeed()) })
	}
}

// mayBeProtected sets the label for which the sample asks, or takes it away.
func (w *world) mayBeProtected(may bool) {
	w.T.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	testenv.Update(w.World, namespace, func(n *corev1.Namespace) {
		delete(n.Labels, "shop.example.com/fallbacks")
		if may {
			n.Labels["shop.example.com/fallbacks"] = "yes"
		}
	})
}

func TestAnAdministratorRestrictsWhoMayProtectServices(t *testing.T) {
	w := withResponder(t)
	w.Cluster.Since(t, "1.30", "ValidatingAdmissionPolicy")
	w.restrictTeams()
	team := w.editor()
	meta := metav1.ObjectMeta{Namespace: w.Namespace, Name: "web"}
	fallback := &criticalv2.ServiceFallback{ObjectMeta: meta, Spec: criticalv2.ServiceFallbackSpec{Services: []string{"web"}}}
	planned := &criticalv2.Maintenance{ObjectMeta: meta, Spec: criticalv2.MaintenanceSpec{
		Services: []string{"web"}, Restore: &criticalv2.WorkloadReplicas{Deployment: "web", Replicas: 3},
	}}
	written := map[string]client.Object{"servicefallbacks": fallback, "maintenances": planned}
	isRefused := func() {
		t.Helper()
		for resource, object := range written {
			// The API server follows policies, roles and labels a moment later.
			w.Eventually(func() error {
				another, _ := object.DeepCopyObject().(client.Object)
				another.SetName("another")
				another.SetResourceVersion("")
				return team.Create(t.Context(), another, client.DryRunAll)
			}).Should(MatchError(ContainSubstring(resource + " are not allowed in this namespace: ask the platform team.")))
		}
	}
	isRefused()
	w.mayBeProtected(true)
	for _, object := range written {
		w.Eventually(func() error { return team.Create(t.Context(), object) }).Should(Succeed())
		w.T.Cleanup(func() {
			w.Expect(client.IgnoreNotFound(w.Cluster.Client.Delete(context.WithoutCancel(t.Context()), object))).To(Succeed())
		})
	}

	// What is there may stay, and is not changed.
	w.mayBeProtected(false)
	isRefused()
	changed := fallback.DeepCopy()
	changed.Spec.Services = []string{"web", "api"}
	w.Expect(team.Patch(t.Context(), changed, client.MergeFrom(fallback))).To(MatchError(ContainSubstring("are not allowed in this namespace")))
	changed = fallback.DeepCopy()
	changed.Labels = map[string]string{"example.com/by": "team"}
	w.Expect(team.Patch(t.Context(), changed, client.MergeFrom(fallback))).To(Succeed(), "a label is not judged")

	// Nor is what the operator writes: statuses, and the finalizer that it sets and removes.
	w.permitRestore(planned)
	w.start(w.complete())
	service, _ := w.up("web")
	w.Eventually(w.stateOf(fallback, service)).Should(HavePrefix("Arming/"))
	w.Eventually(func() *criticalv2.WorkloadReplicas {
		w.Expect(w.Exists(planned)).To(BeTrue())
		return planned.Status.Owed
	}).Should(Equal(planned.Spec.Restore))
	w.Expect(planned.Finalizers).To(ContainElement(criticalv2.FinalizerRestore))
	w.Delete(planned)
	w.Eventually(func() bool { return w.Exists(planned) }).Should(BeFalse(), "the operator removes its finalizer")
}

// permitRestore makes the workload that a Maintenance restores, and permits the operator to do it.
func (w *world) permitRestore(m *criticalv2.Maintenance) {
	w.T.Helper()
	name, labels := m.Spec.Restore.Deployment, map[string]string{"app": m.Spec.Restore.Deployment}
	w.Create(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: &m.Spec.Restore.Replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: testenv.PodSpec()},
	}})
	w.Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, ResourceNames: []string{name}, Verbs: []string{"get", "patch"}},
		{APIGroups: []string{"mycrd.com"}, Resources: []string{"maintenances"}, ResourceNames: []string{criticalv2.RestoreName(m.Name, m.Spec.Restore)}, Verbs: []string{criticalv2.VerbRestore}},
	}})
	w.Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: testenv.OperatorNamespace, Name: "critical-service-operator"}},
	})
}

// The API server compiles an expression when a policy is written.
func TestTheExpressionsThatThePageOffersAreValid(t *testing.T) {
	cluster.Since(t, "1.30", "ValidatingAdmissionPolicy")
	g := NewWithT(t)
	page, err := os.ReadFile(testenv.Path("docs/spec/servicefallback.md"))
	g.Expect(err).NotTo(HaveOccurred())
	offered := regexp.MustCompile("(?m)^\\| users .* \\| `(.+)` \\|$").FindAllStringSubmatch(string(page), -1)
	g.Expect(len(offered)).To(BeNumerically(">=", 2))
	submitted := func(expression string) error {
		policy, _ := samplePolicy(g)
		policy.SetName("offered")
		g.Expect(unstructured.SetNestedSlice(policy.Object, []any{map[string]any{"expression": expression}}, "spec", "validations")).To(Succeed())
		return submit(t, policy)
	}
	for _, expression := range offered {
		g.Expect(submitted(expression[1])).To(Succeed(), expression[1])
	}
	g.Expect(submitted("request.noSuchField")).To(MatchError(ContainSubstring("noSuchField")), "an invalid one is refused")
}
