package plugin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/drill"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/plugin"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/probe/command"
)

// operatorUser is who the operator is in these tests.
const operatorUser = "system:serviceaccount:operators:critical"

// application makes the Deployment of web, one of its Pods, and the responder.
func (s *shop) application(t *testing.T) *appsv1.Deployment {
	t.Helper()
	deployment := func(name, image string) *appsv1.Deployment {
		labels := map[string]string{"app": name}
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
			},
		}}
		s.Expect(admin.Create(t.Context(), d)).To(Succeed())
		return d
	}
	deployment(criticalv2.ResponderName, "operator:v1")
	web := deployment("web", "web:v1")
	s.Expect(admin.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web-1", Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "Deployment", Name: web.Name, UID: web.UID, Controller: new(true)},
		}},
		Spec: web.Spec.Template.Spec,
	})).To(Succeed())
	return web
}

// replicas is how many web is to have.
func (s *shop) replicas(ctx context.Context) int32 {
	web := &appsv1.Deployment{}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "web"}, web); err != nil {
		return -1
	}
	return *web.Spec.Replicas
}

// each calls do with what becomes of the objects of a kind, as long as the test lasts.
func (s *shop) each(t *testing.T, list client.ObjectList, do func(watch.Event)) {
	t.Helper()
	events, err := admin.Watch(t.Context(), list, client.InNamespace(s.namespace))
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			do(event)
		}
	}()
}

// kubelet runs each Pod of a drill, and prints what it sees: the application as long as
// it has replicas, and else the fallback. The result is the address of an API server that
// has the logs of Pods.
func (s *shop) kubelet(t *testing.T) string {
	t.Helper()
	s.each(t, &corev1.PodList{}, func(event watch.Event) {
		if pod, is := event.Object.(*corev1.Pod); is && pod.Labels[drill.Label] == drill.LabelValue && pod.Status.Phase == corev1.PodPending {
			pod.Status.Phase = corev1.PodRunning
			_ = admin.Status().Update(t.Context(), pod) // One that is gone is asked no more.
		}
	})
	transport, err := rest.TransportFor(environment.Config)
	s.Expect(err).NotTo(HaveOccurred())
	to, err := url.Parse(environment.Config.Host)
	s.Expect(err).NotTo(HaveOccurred())
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = transport
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) == "log" {
			s.print(r.Context(), w, path.Base(path.Dir(r.URL.Path)))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (s *shop) print(ctx context.Context, w http.ResponseWriter, name string) {
	pod := &corev1.Pod{}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, pod); err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	isLive := slices.ContainsFunc(pod.Spec.Containers[0].Args, func(arg string) bool { return strings.HasPrefix(arg, "--"+command.FlagFor) })
	lines, often := json.NewEncoder(w), time.NewTicker(5*time.Millisecond)
	defer often.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-often.C:
		}
		for _, arg := range pod.Spec.Containers[0].Args {
			target, is := strings.CutPrefix(arg, "--"+command.FlagTarget+"=")
			if !is {
				continue
			}
			seen := command.Observation{Target: target, Sent: time.Now(), Answered: true, Status: "503", Title: "Back soon"}
			if isLive && s.replicas(context.WithoutCancel(ctx)) > 0 {
				seen.Status, seen.Title = "200", "Shop"
			}
			if lines.Encode(seen) != nil {
				return
			}
		}
		w.(http.Flusher).Flush()
	}
}

// operator follows Maintenances as the operator does, if a Role permits it.
func (s *shop) operator(t *testing.T) {
	t.Helper()
	s.each(t, &criticalv2.MaintenanceList{}, func(event watch.Event) {
		m, is := event.Object.(*criticalv2.Maintenance)
		if !is || event.Type == watch.Deleted {
			return
		}
		before := m.DeepCopy()
		if m.DeletionTimestamp != nil {
			if controllerutil.RemoveFinalizer(m, criticalv2.FinalizerRestore) {
				_ = admin.Patch(t.Context(), m, client.MergeFrom(before))
			}
			return
		}
		m.Status.Operator, m.Status.ObservedGeneration = operatorUser, m.Generation
		meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{
			Type: criticalv2.MaintenanceActive, Status: metav1.ConditionTrue, Reason: criticalv2.MaintenanceDrill, Message: "It is a drill.",
		})
		if m.Spec.Restore != nil && s.mayRestore(t.Context(), m) {
			m.Status.Owed = m.Spec.Restore
			kept := before.DeepCopy()
			controllerutil.AddFinalizer(kept, criticalv2.FinalizerRestore)
			_ = admin.Patch(t.Context(), kept, client.MergeFrom(before))
		}
		_ = admin.Status().Patch(t.Context(), m, client.MergeFrom(before)) // What fails is seen by what the test waits for.
	})
}

// mayRestore reports whether the plugin has made a Role, and waits until the API server
// follows it.
func (s *shop) mayRestore(ctx context.Context, m *criticalv2.Maintenance) bool {
	if admin.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "web-maintenance"}, &rbacv1.RoleBinding{}) != nil {
		return false
	}
	may := func(group, resource, subresource, name, verb string) bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: operatorUser, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: s.namespace, Group: group, Resource: resource, Subresource: subresource, Name: name, Verb: verb,
		}}}
		return admin.Create(ctx, review) == nil && review.Status.Allowed
	}
	return s.Eventually(func() bool {
		return may(criticalv2.GroupVersion.Group, "maintenances", "", criticalv2.RestoreName(m.Name, m.Spec.Restore), criticalv2.VerbRestore) && may("apps", "deployments", "scale", m.Spec.Restore.Name(), "patch")
	}).Should(BeTrue())
}

// makesRoles lets the team grant what it has, as the ClusterRole admin does.
func (s *shop) makesRoles(t *testing.T) {
	t.Helper()
	name := "granter-of-" + s.namespace
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "rolebindings"}, Verbs: []string{"get", "create", "update"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "team-of-" + s.namespace}},
	}
	for _, object := range []client.Object{role, binding} {
		s.Expect(admin.Create(t.Context(), object)).To(Succeed())
	}
}

// armed is a shop of a team whose application runs.
func armed(t *testing.T) (s *shop, command func(...string) outcome) {
	t.Helper()
	s = newShop(t)
	ours := s.fallback(t)
	ours.Status.Details[0].State = criticalv2.StateArmed
	s.Expect(admin.Status().Update(t.Context(), ours)).To(Succeed())
	standby := &discoveryv1.EndpointSlice{}
	s.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "web-standby-ipv4"}, standby)).To(Succeed())
	standby.Labels[criticalv2.LabelFallbackKind] = criticalv2.FallbackKindPage
	s.Expect(admin.Update(t.Context(), standby)).To(Succeed())
	s.application(t)
	as, server := s.team(t), s.kubelet(t)
	return s, func(arguments ...string) outcome {
		return run(t.Context(), append(arguments, "-n", s.namespace, as, "--server="+server)...)
	}
}

func TestATeamHoldsALiveDrillWithTheRightsToEditItsNamespace(t *testing.T) {
	s, command := armed(t)
	live := []string{"drill", "svc/web", "--live", "--yes", "--tries=1", "--for=1s", "--max-gap=1m", "-o", "json"}
	var got outcome
	s.Eventually(func() string { // The API server follows new roles a moment later.
		got = command(live...)
		return got.errOut
	}).Should(ContainSubstring("--without-operator makes the outage all the same"))
	s.Expect(got.code).To(Equal(plugin.ExitError))
	s.Expect(got.errOut).To(ContainSubstring(`The ClusterRole "admin" allows all of it`))
	s.Expect(s.replicas(t.Context())).To(BeEquivalentTo(3))

	got = command(append(live, "--without-operator")...)
	s.Expect(got.code).To(Equal(0), got.out+got.errOut)
	var result drill.Result
	s.Expect(json.Unmarshal([]byte(got.out), &result)).To(Succeed())
	s.Expect(result.Live).To(HaveField("Recovered", true))
	s.Expect(result.Live.Ports).To(ConsistOf(And(HaveField("Distinct", true), HaveField("ByFallback", BeNumerically(">", 0)))))
	s.Expect(got.errOut).To(ContainSubstring("warning: should this program be killed"))
	s.Expect(s.replicas(t.Context())).To(BeEquivalentTo(3))
	s.Expect(command("maintenance", "list").errOut).To(ContainSubstring("No maintenance is announced."), "it is deleted")
}

func TestATeamThatMayGrantItsRightsEntrustsTheOperatorWithADrill(t *testing.T) {
	s, command := armed(t)
	s.makesRoles(t)
	s.operator(t)
	var got outcome
	s.Eventually(func() string {
		got = command("drill", "svc/web", "--live", "--yes", "--tries=1", "--for=1s", "--max-gap=1m", "-o", "json")
		return got.errOut
	}).Should(ContainSubstring("The application is given back."))
	s.Expect(got.code).To(Equal(0), got.out+got.errOut)
	s.Expect(got.errOut).NotTo(ContainSubstring("warning: should this program be killed"))
	s.Expect(s.replicas(t.Context())).To(BeEquivalentTo(3))
	role := &rbacv1.Role{}
	s.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "web-maintenance"}, role)).To(Succeed(), "nothing collects garbage here")
	s.Expect(role.OwnerReferences).To(ConsistOf(HaveField("Kind", "Maintenance")))
}

// prepare publishes the page of a maintenance, as the operator would.
func (s *shop) prepare(t *testing.T, announced *criticalv2.Announcement) {
	t.Helper()
	standby := &discoveryv1.EndpointSlice{}
	s.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "web-standby-ipv4"}, standby)).To(Succeed())
	text, err := json.Marshal(announced)
	s.Expect(err).NotTo(HaveOccurred())
	standby.Annotations = map[string]string{criticalv2.AnnotationMaintenance: string(text)}
	s.Expect(admin.Update(t.Context(), standby)).To(Succeed())
	table, err := (&listener.Table{Listeners: []listener.Listener{{Port: listener.First, Service: "web", Maintenance: announced}}}).Encode()
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(admin.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: criticalv2.ResponderName}, Data: map[string]string{listener.Key: string(table)},
	})).To(Succeed())
}

func TestATeamAnnouncesAMaintenanceAndEndsIt(t *testing.T) {
	s, command := armed(t)
	s.operator(t)
	s.prepare(t, &criticalv2.Announcement{Message: "We move house.", RetryAfterSeconds: new(int32(90))})
	on := []string{"maintenance", "on", "svc/web", "--message", "We move house.", "--retry-after=90s", "--scale-down", "--yes"}
	var got outcome
	s.Eventually(func() int {
		got = command(on...)
		return got.code
	}).Should(Equal(0), got.errOut)
	s.Expect(got.errOut).To(ContainSubstring("warning: only `maintenance off` gives the application back"), "it may not make Roles")
	s.Expect(got.out).To(ContainSubstring(`Deployment "web" is scaled from 3 to 0`))
	s.Expect(s.replicas(t.Context())).To(BeZero())

	got = command("maintenance", "on", "svc/web", "--message", "a\nb")
	s.Expect(got.errOut).To(ContainSubstring("message must be one line of text"))
	got = command("maintenance", "list", "-o", "json")
	s.Expect(got.out).To(And(ContainSubstring(`"name": "web"`), ContainSubstring(`"workload": "deployments.apps/web"`)))
	got = command("explain", "svc/web")
	s.Expect(got.out).To(ContainSubstring("deployments.apps/web gets 3 replicas back (Maintenance web"))
	got = command("drill", "svc/web", "--live", "--yes", "--without-operator")
	s.Expect(got.errOut).To(ContainSubstring("is on (Maintenance web)"))

	got = command("maintenance", "off", "svc/web", "--wait=false", "--yes")
	s.Expect(got.code).To(Equal(0), got.errOut)
	s.Expect(got.out).To(And(ContainSubstring("deployments.apps/web has its 3 replicas back."), ContainSubstring("the maintenance is over")))
	s.Expect(s.replicas(t.Context())).To(BeEquivalentTo(3))

	s.makesRoles(t)
	s.Eventually(func() string {
		got = command(on...)
		return got.errOut
	}).ShouldNot(ContainSubstring("only `maintenance off`"), "a new role follows a moment later")
	s.Expect(got.code).To(Equal(0), got.errOut)
	m := &criticalv2.Maintenance{}
	s.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "web"}, m)).To(Succeed())
	s.Expect(m.Finalizers).To(ContainElement(criticalv2.FinalizerRestore))
	s.Expect(m.Status.Owed).To(HaveField("Replicas", BeEquivalentTo(3)))
	s.Expect(command("maintenance", "off", "svc/web", "--wait=false").code).To(Equal(0))
	s.Expect(s.replicas(t.Context())).To(BeEquivalentTo(3))
	s.Expect(command("maintenance", "list").errOut).To(ContainSubstring("No maintenance is announced."))
}
