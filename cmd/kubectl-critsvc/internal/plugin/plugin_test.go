package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/explain"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/installation"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/plugin"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/status"
)

// shop is a namespace with one protected Service, web, that is down and covered.
type shop struct {
	*WithT
	namespace string
	policy    *criticalv2.CriticalService
	service   *corev1.Service
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{WithT: NewWithT(t)}
	create := func(object client.Object) {
		s.Expect(admin.Create(t.Context(), object)).To(Succeed())
		t.Cleanup(func() { s.Expect(client.IgnoreNotFound(admin.Delete(context.Background(), object))).To(Succeed()) })
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
	create(namespace)
	s.namespace = namespace.Name
	s.service = &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web", Labels: map[string]string{"role": s.namespace}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	create(s.service)
	s.policy = &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": s.namespace}}},
	}
	create(s.policy)
	create(s.slice("web-x", "endpointslice-controller.k8s.io", "10.1.0.1", false))
	create(s.slice("web-standby-ipv4", criticalv2.ManagedBy, "10.1.0.2", true))
	create(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web.1"}, EventTime: metav1.NowMicro(),
		Regarding:           corev1.ObjectReference{Kind: "Service", Namespace: s.namespace, Name: "web"},
		ReportingController: "critical-service-operator", ReportingInstance: "x", Type: corev1.EventTypeWarning,
		Reason: "FallbackPromoted", Action: "PromoteFallback", Note: "promoted the standby",
	})
	s.stands(criticalv2.StateCovered)
	return s
}

func (s *shop) slice(name, manager, address string, ready bool) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: map[string]string{
			discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: manager,
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: new(int32(8080))}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(ready)}}},
	}
}

// stands writes the status as the operator would.
func (s *shop) stands(state criticalv2.ServiceState) {
	began := metav1.NewMicroTime(time.Now().Add(-time.Minute))
	s.policy.Status = criticalv2.ProtectionStatus{
		Services: criticalv2.ServiceCounts{Total: 1, Covered: 1},
		Details: []criticalv2.ServiceStatus{{
			Namespace: s.namespace, Name: "web", State: state, Reason: criticalv2.ReasonFallbackServing, Since: metav1.NewTime(began.Time),
			Cause: &criticalv2.OutageCause{Reason: criticalv2.CauseCrashLoop, Message: "It crashes."},
		}},
		Outages: []criticalv2.Outage{{Namespace: s.namespace, Name: "web", Began: began, Covered: &began, Fallback: criticalv2.FallbackKindPage}},
	}
	s.Expect(admin.Status().Update(context.Background(), s.policy)).To(Succeed())
}

func TestAClusterWithoutTheOperatorIsSaidToHaveNone(t *testing.T) {
	g := NewWithT(t)
	g.Expect(uninstalled.code).To(Equal(plugin.ExitError))
	g.Expect(uninstalled.out).To(BeEmpty())
	g.Expect(uninstalled.errOut).To(HavePrefix("error: this cluster does not know the kind CriticalService"))
}

func TestStatusReadsTheCluster(t *testing.T) {
	s := newShop(t)
	got := run(t.Context(), "status", "-n", s.namespace)
	s.Expect(got.code).To(Equal(0), got.errOut)
	s.Expect(got.out).To(MatchRegexp(`(?m)^NAME +STATE +SINCE +READY +FALLBACK +FAILOVER +CAUSE\nweb +Covered +\S+ +0/1 +page +\? +It crashes\.\n$`))
	s.Expect(got.errOut).To(ContainSubstring("Down, and the fallback answers: " + s.namespace + "/web."))

	got = run(t.Context(), "status", "svc/web", "-n", s.namespace, "-o", "json")
	var view status.View
	s.Expect(json.Unmarshal([]byte(got.out), &view)).To(Succeed(), got.out)
	s.Expect(view.Services).To(ConsistOf(And(
		HaveField("Name", "web"), HaveField("CriticalService", s.policy.Name), HaveField("Endpoints", Equal(&status.Endpoints{Ready: 0, Total: 1})),
	)))
	s.Expect(view.Summary.Covered).To(Equal(1))

	got = run(t.Context(), "status", "-A", "-o", "name")
	s.Expect(got.out).To(ContainSubstring("service/web\n"))
}

func TestAServiceThatIsNotProtectedIsANo(t *testing.T) {
	s := newShop(t)
	s.unprotected(t, "other")
	got := run(t.Context(), "status", "svc/other", "-n", s.namespace)
	s.Expect(got.code).To(Equal(plugin.ExitNo))
	s.Expect(got.errOut).To(ContainSubstring("kubectl critsvc explain svc/other -n " + s.namespace))
}

func TestExplainReadsTheCluster(t *testing.T) {
	s := newShop(t)
	got := run(t.Context(), "explain", "svc/web", "-n", s.namespace, "-o", "json")
	s.Expect(got.code).To(Equal(0), got.errOut)
	var view explain.View
	s.Expect(json.Unmarshal([]byte(got.out), &view)).To(Succeed(), got.out)
	s.Expect(view.Governor).To(HaveField("Name", s.policy.Name))
	s.Expect(view.Answers.By).To(Equal("fallback"))
	s.Expect(view.Cause).To(And(HaveField("Reason", criticalv2.CauseCrashLoop), HaveField("By", "operator")))
	// The API server repairs its table of addresses now and then, and says so of any Service.
	ours := slices.DeleteFunc(view.Events, func(e explain.Event) bool { return e.From == "ipallocator-repair-controller" })
	s.Expect(ours).To(ConsistOf(And(HaveField("Reason", "FallbackPromoted"), HaveField("Note", "promoted the standby"))))
	s.Expect(view.Endpoints).To(HaveLen(2))
	s.Expect(view.Notices).To(BeEmpty())

	got = run(t.Context(), "explain", "web", "-n", s.namespace)
	s.Expect(got.out).To(ContainSubstring("Answers now:     The fallback answers, not the application: 10.1.0.2."))
}

func TestExplainLooksForTheCauseItself(t *testing.T) {
	s := newShop(t)
	s.policy.Status.Details[0].Cause = nil
	s.Expect(admin.Status().Update(t.Context(), s.policy)).To(Succeed())
	got := run(t.Context(), "explain", "svc/web", "-n", s.namespace, "-o", "json")
	var view explain.View
	s.Expect(json.Unmarshal([]byte(got.out), &view)).To(Succeed(), got.out)
	s.Expect(view.Cause).To(And(HaveField("Reason", criticalv2.CauseNoMatchingPods), HaveField("By", "plugin")))
}

// unprotected makes a Service that no CriticalService matches.
func (s *shop) unprotected(t *testing.T, name string) {
	t.Helper()
	other := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	s.Expect(admin.Create(t.Context(), other)).To(Succeed())
}

func TestAServiceThatDoesNotExistIsTheSameErrorOfEveryCommand(t *testing.T) {
	s := newShop(t)
	for _, command := range []string{"status", "explain", "history", "doctor", "drill", "maintenance on", "maintenance off"} {
		t.Run(command, func(t *testing.T) {
			g := NewWithT(t)
			got := run(t.Context(), append(strings.Fields(command), "svc/none", "-n", s.namespace)...)
			g.Expect(got.code).To(Equal(plugin.ExitError))
			g.Expect(got.errOut).To(Equal(`error: there is no Service "none" in namespace "` + s.namespace + "\": choose the namespace by -n\n"))
		})
	}
}

func TestHistoryReadsTheCluster(t *testing.T) {
	s := newShop(t)
	got := run(t.Context(), "history", "svc/web", "-n", s.namespace)
	s.Expect(got.code).To(Equal(0), got.errOut)
	s.Expect(got.out).To(MatchRegexp(`(?m)^web +\S+Z +\S+ +\S+ so far +at once +page +not known$`))
	s.Expect(got.errOut).To(ContainSubstring("latest 10 outages of a Service"))
	s.unprotected(t, "other")
	got = run(t.Context(), "history", "svc/other", "-n", s.namespace)
	s.Expect(got.code).To(Equal(0))
	s.Expect(got.errOut).To(ContainSubstring("No outage of Service " + s.namespace + "/other is recorded"))
	s.Expect(admin.Delete(t.Context(), s.service)).To(Succeed())
	got = run(t.Context(), "history", "svc/web", "-n", s.namespace)
	s.Expect(got.code).To(Equal(0), "what is recorded of a Service that is gone")
}

// grown is a buffer that a command writes and a test reads.
type grown struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *grown) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *grown) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestWatchPrintsWhatChangesUntilItIsInterrupted(t *testing.T) {
	s := newShop(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, ended := &grown{}, make(chan int, 1)
	go func() {
		streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: out, ErrOut: &grown{}}
		ended <- plugin.Run(ctx, streams, []string{"status", "--watch", "-n", s.namespace})
	}()
	s.Eventually(out.String).Should(MatchRegexp(`(?m)^NAME .*\nweb +Covered`))

	s.policy.Status.Details[0].State, s.policy.Status.Details[0].Cause = criticalv2.StateArmed, nil
	s.Expect(admin.Status().Update(ctx, s.policy)).To(Succeed())
	s.Eventually(out.String).Should(MatchRegexp(`(?m)^NAME .*\nweb +Covered.*\nweb +Armed`))

	slice := &discoveryv1.EndpointSlice{}
	s.Expect(admin.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "web-x"}, slice)).To(Succeed())
	slice.Endpoints[0].Conditions.Ready = new(true)
	s.Expect(admin.Update(ctx, slice)).To(Succeed())
	s.Eventually(out.String).Should(MatchRegexp(`(?m)^web +Armed +\S+ +1/1`))

	interrupt()
	s.Eventually(ended).Should(Receive(Equal(0)))
}

func TestMissingPermissionsAreReported(t *testing.T) {
	s := newShop(t)
	got := run(t.Context(), "status", "-n", s.namespace, "--as=stranger")
	s.Expect(got.code).To(Equal(plugin.ExitError))
	s.Expect(got.errOut).To(And(HavePrefix("error: you may not do this here"), ContainSubstring("docs/plugin.md"), ContainSubstring(`ClusterRole "view"`)))

	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"mycrd.com"}, Resources: []string{"criticalservices"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"get", "list", "watch"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: s.namespace},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: s.namespace}},
	}
	for _, object := range []client.Object{role, binding} {
		s.Expect(admin.Create(t.Context(), object)).To(Succeed())
		t.Cleanup(func() { s.Expect(admin.Delete(context.Background(), object)).To(Succeed()) })
	}
	// The API server follows new roles a moment later.
	s.Eventually(func() string { return run(t.Context(), "status", "-n", s.namespace, "--as="+s.namespace).out }).
		Should(MatchRegexp(`web +Covered +\S+ +\? +page`))
	got = run(t.Context(), "status", "-n", s.namespace, "--as="+s.namespace)
	s.Expect(got.errOut).To(And(ContainSubstring("You may not list EndpointSlices here"), ContainSubstring("You may not list Pods here")))
	got = run(t.Context(), "doctor", "svc/web", "-n", s.namespace, "--as="+s.namespace)
	s.Expect(got.code).To(Equal(plugin.ExitNo), "nothing was found, because nothing was looked at")
	s.Expect(got.out).To(And(ContainSubstring("no problems, "), HaveSuffix("it is not known whether the next failover works; see what was \"not checked\".\n")))
	got = run(t.Context(), "doctor", "-n", "default", "--as="+s.namespace)
	s.Expect(got.code).To(Equal(plugin.ExitNo))
	s.Expect(got.out).To(HaveSuffix("because no Service was checked.\n"))
	got = run(t.Context(), "explain", "svc/web", "-n", s.namespace, "--as="+s.namespace)
	s.Expect(got.code).To(Equal(0), got.errOut)
	s.Expect(got.out).To(And(ContainSubstring("You may not read EndpointSlices here"), ContainSubstring("You may not read events here"), ContainSubstring("Cause:")))
}

func TestServicesAreCompleted(t *testing.T) {
	s := newShop(t)
	for begun, want := range map[string]string{"": "svc/web\n", "svc/w": "svc/web\n", "service/": "service/web\n", "we": "svc/web\n", "svc/x": ""} {
		got := run(t.Context(), "__complete", "-n", s.namespace, "explain", begun)
		s.Expect(got.out).To(HavePrefix(want+":4\n"), "after %q: %s", begun, got.errOut)
	}
	got := run(t.Context(), "__complete", "-n", s.namespace, "status", "-o", "")
	s.Expect(got.out).To(HavePrefix("wide\njson\nyaml\nname\n:4\n"))
}

func TestVersion(t *testing.T) {
	s := newShop(t)
	s.Expect(run(t.Context(), "version", "--client").out).To(Equal("Plugin:    dev (commit unknown)\n"))
	makePod := func(namespace, image string) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator", Labels: installation.Labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: image}}},
		}
		s.Expect(admin.Create(t.Context(), pod)).To(Succeed())
		t.Cleanup(func() { s.Expect(admin.Delete(context.Background(), pod, client.GracePeriodSeconds(0))).To(Succeed()) })
	}
	makePod(s.namespace, "example.com/imposter:v9")
	s.Expect(run(t.Context(), "version").out).To(ContainSubstring("Operator:  no Pod of it in namespace critical-service-system"), "labels alone make no operator")
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: installation.UsualNamespace}}
	s.Expect(client.IgnoreAlreadyExists(admin.Create(t.Context(), home))).To(Succeed())
	makePod(home.Name, "quay.io/critical-service/operator:v1.2.3")
	s.Expect(run(t.Context(), "version").out).To(HaveSuffix(
		"\nOperator:  quay.io/critical-service/operator:v1.2.3 (Pod critical-service-system/operator, not ready)\n"))
}

func TestAnErrorCannotCommandATerminal(t *testing.T) {
	g := NewWithT(t)
	got := run(t.Context(), "status", "--context=a\x1b[2J\u202e\nerror: b")
	g.Expect(got.code).To(Equal(plugin.ExitError))
	g.Expect(got.errOut).To(And(HavePrefix("error: "), ContainSubstring("a?[2J?\n  error: b"), Not(ContainSubstring("\x1b"))))
}

func TestACommandLineThatIsWrongIsSaidTo(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		words     string
	}{
		"an unknown format":                     {[]string{"status", "-o", "table"}, "it is one of wide, json, yaml, name"},
		"not a Service":                         {[]string{"explain", "pod/web"}, `"pod/web" is not a Service: name it svc/NAME`},
		"no Service":                            {[]string{"explain"}, "name a Service: svc/NAME"},
		"a Service of all namespaces":           {[]string{"status", "-A", "svc/web"}, "give either svc/web or --all-namespaces"},
		"the history of one, of all namespaces": {[]string{"history", "-A", "svc/web"}, "give either svc/web or --all-namespaces"},
		"an unknown command":                    {[]string{"statsu"}, `unknown command "statsu"`},
		"a context that is not there":           {[]string{"status", "--context=none"}, "kubectl config get-contexts"},
		"a cluster that does not answer":        {[]string{"status", "--server=https://127.0.0.1:1"}, "the cluster cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := run(t.Context(), test.arguments...)
			g.Expect(got.code).To(Equal(plugin.ExitError))
			g.Expect(got.out).To(BeEmpty())
			g.Expect(got.errOut).To(And(HavePrefix("error: "), ContainSubstring(test.words)))
		})
	}
}
