package operator_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/internal/operator"
)

// boundIn does what config/components/namespaced does, until the test ends: the operator has its permissions in
// one namespace only.
func (w *world) boundIn(namespace string) {
	w.t.Helper()
	ctx, pods := context.WithoutCancel(w.t.Context()), authorizationv1.ResourceAttributes{Resource: "pods", Verb: "create"}
	everywhere := w.object("namespaces_role_binding.yaml")
	w.Expect(cluster.Client.Delete(ctx, everywhere)).To(Succeed())
	w.t.Cleanup(func() {
		w.Expect(cluster.Client.Create(ctx, w.object("namespaces_role_binding.yaml"))).To(Succeed())
		w.Eventually(func() bool { return w.may(ctx, "", pods) }).Should(BeTrue())
	})
	here := w.object("namespace/role_binding.yaml")
	here.SetNamespace(namespace)
	w.create(here)
	// The API server learns of it by a watch.
	w.Eventually(func() bool { return w.may(ctx, namespace, pods) && !w.may(ctx, "", pods) }).Should(BeTrue())
}

// object is that of a file of config/rbac.
func (w *world) object(file string) *unstructured.Unstructured {
	w.t.Helper()
	objects, err := testenv.ReadYAML(testenv.Path("workloads/config/rbac/" + file))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(objects).To(HaveLen(1))
	return objects[0]
}

// may reports whether the operator may do something in a namespace; without a name, in all of them.
func (w *world) may(ctx context.Context, in string, can authorizationv1.ResourceAttributes) bool {
	w.t.Helper()
	can.Namespace = in
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + operator.Namespace + ":" + operator.Name, ResourceAttributes: &can,
	}}
	w.Expect(cluster.Client.Create(ctx, review)).To(Succeed())
	return review.Status.Allowed
}

func TestWithRolesInItsNamespacesTheOperatorWorksThereAndMayNothingElsewhere(t *testing.T) {
	w := newWorld(t)
	w.boundIn(w.team)
	p := w.start("NAMESPACES="+w.team, "LEADER_ELECT=true", "POD_NAME=workloads-1", "WORKLOADS_IMAGE=registry.example.com/workloads:v1")
	w.Eventually(p.Ready).Should(Succeed())

	// One of every kind, with all that it makes first.
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: w.team, Name: name} }
	w.create(&workloadsv1.WebApp{ObjectMeta: meta("bound"), Spec: workloadsv1.WebAppSpec{
		AppName: "bound", Image: "registry.example.com/bound:1", DBImage: "mysql:8.0",
	}})
	w.create(&workloadsv1alpha1.ETCDInstance{ObjectMeta: meta("bound-etcd"), Spec: workloadsv1alpha1.ETCDInstanceSpec{Replicas: 1, WithTLSBundle: true}})
	app := &workloadsv2.AppConfig{ObjectMeta: meta("bound"), Spec: workloadsv2.AppConfigSpec{
		AppName: "bound", Configuration: workloadsv2.Configuration{Settings: workloadsv2.Settings{"LOG_LEVEL": "debug"}},
	}}
	w.create(app)
	for made, name := range map[client.Object]string{
		&appsv1.Deployment{}: "bound", &appsv1.StatefulSet{}: "bound-etcd", &workloadsv1.Database{}: "bound-db", &corev1.Secret{}: "bound-etcd-tls-client",
	} {
		w.Eventually(func() error {
			return cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: w.team, Name: name}, made)
		}).Should(Succeed(), "%T %s", made, name)
	}
	w.Eventually(func() []corev1.Pod {
		var pods corev1.PodList
		labels := client.MatchingLabels{workloadsv1.LabelDatabase: "bound-db"}
		w.Expect(cluster.Client.List(t.Context(), &pods, client.InNamespace(w.team), labels)).To(Succeed())
		return pods.Items
	}).ShouldNot(BeEmpty())
	w.Eventually(func() string {
		w.Expect(cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(app), app)).To(Succeed())
		return app.Status.ConfigMapName
	}).ShouldNot(BeEmpty())
	w.Expect(p.Log.String()).NotTo(ContainSubstring("forbidden"), "nothing is denied")

	for in, may := range map[string]bool{w.team: true, metav1.NamespaceSystem: false, metav1.NamespaceAll: false} {
		for _, can := range []authorizationv1.ResourceAttributes{
			{Resource: "pods", Verb: "create"}, {Resource: "pods", Verb: "list"}, {Resource: "secrets", Verb: "get"}, {Resource: "configmaps", Verb: "list"},
			{Group: "apps", Resource: "deployments", Verb: "patch"}, {Group: "mycrd.com", Resource: "databases", Verb: "create"},
			{Group: "mycrd.com", Resource: "appconfigs", Verb: "watch"}, {Group: "mycrd.com", Resource: "webapps/status", Verb: "patch"},
			{Group: "events.k8s.io", Resource: "events", Verb: "create"},
		} {
			w.Expect(w.may(t.Context(), in, can)).To(Equal(may), "%+v in %q", can, in)
		}
	}
	w.Expect(w.may(t.Context(), "", authorizationv1.ResourceAttributes{Group: "mycrd.com", Resource: "appconfigs", Verb: "list"})).To(BeTrue(),
		"those that are stored in an earlier version are rewritten wherever they are")
}
