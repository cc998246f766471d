package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/explain"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/history"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/plugin"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/status"
)

// team is the flag of a user who may edit one namespace and has no right outside of it: what
// the ClusterRole edit aggregates is bound there, as nothing aggregates roles here.
func (s *shop) team(t *testing.T) string {
	t.Helper()
	own := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "team-of-" + s.namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"mycrd.com"}, Resources: []string{"servicefallbacks"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"}},
		{APIGroups: []string{"mycrd.com"}, Resources: []string{"maintenances"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete", criticalv2.VerbRestore}},
	}}
	objects := []client.Object{own}
	for _, role := range []string{own.Name, "system:aggregate-to-view", "system:aggregate-to-edit"} {
		objects = append(objects, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "team-of-" + s.namespace}},
		})
	}
	for _, object := range objects {
		s.Expect(admin.Create(t.Context(), object)).To(Succeed())
		t.Cleanup(func() { s.Expect(client.IgnoreNotFound(admin.Delete(context.Background(), object))).To(Succeed()) })
	}
	return "--as=team-of-" + s.namespace
}

// viewHasEvents reports whether those who may view a namespace may read its events in the group that the plugin asks, which
// old versions of Kubernetes leave out.
func (s *shop) viewHasEvents(t *testing.T) bool {
	t.Helper()
	view := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:aggregate-to-view"}}
	s.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(view), view)).To(Succeed())
	return slices.ContainsFunc(view.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.APIGroups, eventsv1.GroupName) })
}

// fallback is a ServiceFallback of the team that governs web, with the status that the
// CriticalService had.
func (s *shop) fallback(t *testing.T) *criticalv2.ServiceFallback {
	t.Helper()
	ours := &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "ours"}}
	ours.Spec.Services = []string{"web"}
	s.Expect(admin.Create(t.Context(), ours)).To(Succeed())
	ours.Status = *s.policy.Status.DeepCopy()
	s.Expect(admin.Status().Update(t.Context(), ours)).To(Succeed())
	detail := &s.policy.Status.Details[0]
	detail.State, detail.Reason, detail.Cause = criticalv2.StateIgnored, criticalv2.ReasonOverridden, nil
	detail.OverriddenBy = &criticalv2.PolicyReference{Kind: "ServiceFallback", Name: "ours"}
	s.policy.Status.Outages = nil
	s.Expect(admin.Status().Update(t.Context(), s.policy)).To(Succeed())
	return ours
}

func TestATeamNeedsRightsInItsNamespaceOnly(t *testing.T) {
	s := newShop(t)
	s.fallback(t)
	as := s.team(t)
	const unseen = "You may not list CriticalServices"
	governor := access.Governor{Kind: "ServiceFallback", Name: "ours", Tier: "Named"}
	document := func(into any, command ...string) outcome {
		got := run(t.Context(), append(command, "-n", s.namespace, as, "-o", "json")...)
		s.Expect(json.Unmarshal([]byte(got.out), into)).To(Succeed(), got.out+got.errOut)
		return got
	}
	// The API server follows new roles a moment later.
	var got outcome
	s.Eventually(func() string {
		got = run(t.Context(), "status", "-n", s.namespace, as)
		return got.out
	}).Should(MatchRegexp(`web +Covered +\S+ +0/1 +page`))
	s.Expect(got.code).To(Equal(0))
	s.Expect(got.errOut).To(ContainSubstring(unseen))

	var listed status.View
	s.Expect(document(&listed, "status", "svc/web").code).To(Equal(0))
	s.Expect(listed.Services).To(ConsistOf(HaveField("Governor", governor)))
	s.Expect(listed.Notices).To(ConsistOf(HavePrefix(unseen)), "all else may be read")

	var explained explain.View
	s.Expect(document(&explained, "explain", "svc/web").code).To(Equal(0))
	s.Expect(explained.Governor.Governor).To(Equal(governor))
	s.Expect(explained.Status.State).To(Equal(criticalv2.StateCovered))
	notices := []any{HavePrefix(unseen)}
	if !s.viewHasEvents(t) {
		notices = append(notices, "You may not read events here: they are left out.")
	}
	s.Expect(explained.Notices).To(ConsistOf(notices...), "nor is anything else missing here")

	var past history.View
	s.Expect(document(&past, "history", "svc/web").code).To(Equal(0))
	s.Expect(past.Outages).To(ConsistOf(HaveField("Governor.Name", "ours")))
	s.Expect(past.Notices).To(ConsistOf(HavePrefix(unseen)))

	got = run(t.Context(), "doctor", "-n", s.namespace, as)
	s.Expect(got.code).To(Equal(plugin.ExitNo), got.errOut)
	s.Expect(got.out).To(And(
		ContainSubstring("ServiceFallback ours (tier Named): the Service is Covered (FallbackServing)"), ContainSubstring("1 Service checked"),
		ContainSubstring("not checked: which other Services are critical"),
	))

	got = run(t.Context(), "maintenance", "list", "-n", s.namespace, as)
	s.Expect(got.code).To(Equal(0), got.errOut)
	got = run(t.Context(), "drill", "svc/web", "-n", s.namespace, as, "--live", "--yes", "--image=none")
	s.Expect(got.errOut).To(ContainSubstring("web in namespace "+s.namespace+" is Covered (FallbackServing), and not Armed"), "its status is read")

	got = run(t.Context(), "status", "-A", as)
	s.Expect(got.code).To(Equal(plugin.ExitError))
	s.Expect(got.errOut).To(ContainSubstring(`"edit" by a RoleBinding of their namespace`))
}

func TestAWatchGoesOnWithoutAKindOfPolicies(t *testing.T) {
	for sentence, verbs := range map[string][]string{
		"CriticalServices may not be listed":  nil,
		"they may be listed, and not watched": {"get", "list"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newShop(t)
			ours, as := s.fallback(t), s.team(t)
			if verbs != nil {
				s.mayReadCriticalServices(t, verbs)
			}
			s.Eventually(func() bool {
				got := run(t.Context(), "status", "-n", s.namespace, as)
				return got.code == 0 && strings.Contains(got.errOut, "You may not list CriticalServices") == (verbs == nil)
			}).Should(BeTrue())
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			out, ended := &grown{}, make(chan int, 1)
			go func() {
				streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: out, ErrOut: &grown{}}
				ended <- plugin.Run(ctx, streams, []string{"status", "--watch", "-n", s.namespace, as})
			}()
			s.Eventually(out.String).Should(MatchRegexp(`(?m)^web +Covered`))
			ours.Status.Details[0].State, ours.Status.Details[0].Cause = criticalv2.StateExposed, nil
			s.Expect(admin.Status().Update(ctx, ours)).To(Succeed())
			s.Eventually(out.String).Should(MatchRegexp(`(?m)^web +Exposed`))
			interrupt()
			s.Eventually(ended).Should(Receive(Equal(0)))
		})
	}
}

// mayReadCriticalServices gives the team a right in the cluster.
func (s *shop) mayReadCriticalServices(t *testing.T, verbs []string) {
	t.Helper()
	name := "cluster-of-" + s.namespace
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"mycrd.com"}, Resources: []string{"criticalservices"}, Verbs: verbs},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "team-of-" + s.namespace}},
	}
	for _, object := range []client.Object{role, binding} {
		s.Expect(admin.Create(t.Context(), object)).To(Succeed())
		t.Cleanup(func() { s.Expect(admin.Delete(context.Background(), object)).To(Succeed()) })
	}
}
