//go:build e2e

package e2e

import (
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// editor is the name of a user with the role edit in the namespace of the scenario, and no other right.
func (w *world) editor(name string) string {
	w.t.Helper()
	user := w.namespace + "-" + name
	w.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
	return user
}

// team is a client of an editor.
func (w *world) team() client.Client {
	w.t.Helper()
	config := rest.CopyConfig(w.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: w.editor("team"), Groups: []string{"system:authenticated"}}
	team, err := client.New(config, client.Options{Scheme: w.Scheme(), Mapper: w.RESTMapper()})
	w.Expect(err).NotTo(HaveOccurred())
	// The roles of the kind are aggregated to edit by a controller.
	w.Eventually(func() error {
		return team.List(w.ctx, &criticalv2.ServiceFallbackList{}, client.InNamespace(w.namespace))
	}).Should(Succeed())
	return team
}

// withTeam declares the Service critical as its team does, by a ServiceFallback with a page.
func (s *service) withTeam(team client.Client, message string) *service {
	s.t.Helper()
	fallback := &criticalv2.ServiceFallback{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.object.Name},
		Spec: criticalv2.ServiceFallbackSpec{Services: []string{s.object.Name}, ProtectionSpec: criticalv2.ProtectionSpec{
			Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{Message: message, Replicas: new(int32(1))}},
		}},
	}
	s.Expect(team.Create(s.ctx, fallback)).To(Succeed())
	s.t.Cleanup(func() { s.remove(fallback) })
	s.policy = fallback
	return s
}
