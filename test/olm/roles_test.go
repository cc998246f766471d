//go:build e2e

package olm

import (
	"slices"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
)

// users are the roles of Kubernetes that a user each has in the namespace of the Services, and what these users may do
// with the kinds of a team there, once OLM has made its own roles and Kubernetes has aggregated them.
var users = map[string][]string{
	"view":  {"get", "list", "watch"},
	"edit":  {"get", "list", "watch", "create", "update", "patch", "delete"},
	"admin": {"get", "list", "watch", "create", "update", "patch", "delete", criticalv2.VerbRestore},
}

// userWith is the name of the user who has a role, and no other right.
func (w *world) userWith(role string) string { return w.shops + "-" + role }

// bindUsers makes these users.
func (w *world) bindUsers() {
	w.t.Helper()
	for role := range users {
		w.Expect(w.Create(w.ctx, cluster.Binding(w.shops, w.userWith(role), role))).To(Succeed())
	}
}

// editor is a client of the user who has the role edit.
func (w *world) editor() client.Client {
	w.t.Helper()
	editor, err := w.As(w.userWith("edit"))
	w.Expect(err).NotTo(HaveOccurred())
	return editor
}

// usersMay wants the users to be allowed what they may, and nothing else.
func (w *world) usersMay() {
	w.t.Helper()
	for role, verbs := range users {
		for _, resource := range []string{"servicefallbacks", "maintenances"} {
			for _, verb := range users["admin"] {
				w.Eventually(w.isAllowed).WithArguments(w.userWith(role), verb, resource).Should(
					Equal(slices.Contains(verbs, verb)), "whether a user with %s may %s %s", role, verb, resource)
			}
		}
	}
}

// isAllowed asks the API server whether a user may do something in the namespace of the Services.
func (w *world) isAllowed(g Gomega, user, verb, resource string) bool {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: []string{"system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: w.shops, Group: criticalv2.GroupVersion.Group, Resource: resource, Verb: verb,
		},
	}}
	g.Expect(w.Create(w.ctx, review)).To(Succeed())
	return review.Status.Allowed
}
