//go:build e2e

package e2e

import (
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
)

// user is the name, and a client, of a user with a role of Kubernetes in the namespace of the scenario, and no other right.
// The API server knows what the user may do.
func (w *world) user(name, role string) (user string, connection client.Client) {
	w.t.Helper()
	user = w.namespace + "-" + name
	w.create(cluster.Binding(w.namespace, user, role))
	connection, err := w.As(user)
	w.Expect(err).NotTo(HaveOccurred())
	// The roles of the kinds are aggregated to those of Kubernetes by a controller.
	for _, list := range []client.ObjectList{&criticalv2.ServiceFallbackList{}, &criticalv2.MaintenanceList{}} {
		w.Eventually(func() error { return connection.List(w.ctx, list, client.InNamespace(w.namespace)) }).Should(Succeed())
	}
	return user, connection
}

// asUser is the scenario in the hands of such a user: what is made, changed, read and removed by it is so by that user.
func (w *world) asUser(name, role string) *world {
	w.t.Helper()
	connection, own := *w.Cluster, *w
	_, connection.Client = w.user(name, role)
	own.Cluster = &connection
	return &own
}

// team is a client of an editor, and asTeam the scenario in the hands of that editor. It has one team.
func (w *world) team() client.Client { _, connection := w.user("team", "edit"); return connection }
func (w *world) asTeam() *world      { return w.asUser("team", "edit") }

// withTeam declares the Service critical as its team does, by a ServiceFallback with a page.
func (s *service) withTeam(team client.Client, message string) *service {
	s.t.Helper()
	return s.withTeamsFallback(team, criticalv2.Fallback{Page: &criticalv2.PageFallback{Message: message, Replicas: new(int32(1))}})
}

// withTeamsFallback does so with any fallback.
func (s *service) withTeamsFallback(team client.Client, fallback criticalv2.Fallback) *service {
	s.t.Helper()
	policy := &criticalv2.ServiceFallback{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.object.Name},
		Spec: criticalv2.ServiceFallbackSpec{
			Services: []string{s.object.Name}, ProtectionSpec: criticalv2.ProtectionSpec{Fallback: fallback},
		},
	}
	s.Expect(team.Create(s.ctx, policy)).To(Succeed())
	s.t.Cleanup(func() { s.remove(policy) })
	s.policy = policy
	return s
}

// teamRuns runs a command of the plugin as the team.
func (w *world) teamRuns(arguments ...string) (code int, stdout, stderr string) {
	return w.runPlugin(append([]string{"--as=" + w.namespace + "-team", "--as-group=system:authenticated"}, arguments...)...)
}

// teamSucceeds does so, and expects that it succeeds.
func (w *world) teamSucceeds(arguments ...string) (stdout string) {
	w.t.Helper()
	code, stdout, stderr := w.teamRuns(arguments...)
	w.Expect(code).To(Equal(0), "%v\n%s%s", arguments, stdout, stderr)
	return stdout
}
