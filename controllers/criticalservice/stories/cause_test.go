package stories_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// diagnosing is an operator of the world's own that looks for causes at once.
func (w *world) diagnosing() testenv.Program {
	options := standard
	options.DiagnoseAfter = 10 * time.Millisecond
	return w.confined(options)
}

// deployment makes a Deployment whose Pods a Service selects. There is no controller that
// makes the Pods.
func (w *world) deployment(service *corev1.Service, replicas int32, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	w.T.Helper()
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: service.Name, Namespace: w.Namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: service.Spec.Selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: service.Spec.Selector}, Spec: testenv.PodSpec()},
		},
	}
	for _, change := range changes {
		change(deployment)
	}
	w.Create(deployment)
	return deployment
}

// crash does what kubelet does with a Pod whose container ends again and again.
func (w *world) crash(pod *corev1.Pod) {
	w.T.Helper()
	w.PodStatus(pod, func(status *corev1.PodStatus) {
		status.Phase = corev1.PodRunning
		status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "web", RestartCount: 4, Image: "example.com/web:1",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 3, Reason: "Error", Message: "no database\n",
			}},
		}}
	})
}

// causeOf is the cause that a policy's status gives for an outage; empty if none.
func (w *world) causeOf(policy *criticalv2.CriticalService, service *corev1.Service) func() string {
	return func() string {
		if cause := w.detailOf(policy, service).Cause; cause != nil {
			return cause.Reason + ": " + cause.Message
		}
		return ""
	}
}

// diagnoses lists the operator's reads that serve a diagnosis only.
func (w *world) diagnoses() []testenv.Request {
	return w.operator.Traffic.Requests(func(r testenv.Request) bool {
		return r.Method == http.MethodGet && !r.Query.Has("watch") && r.Query.Has("limit") && r.Query.Get("limit") != "500" &&
			slices.Contains([]string{"deployments", "statefulsets", "daemonsets", "replicasets", "horizontalpodautoscalers"}, r.Resource())
	})
}

const crashSentence = `CrashLoop: Container "web" of Pod "web-real" ends again and again, the last time with exit code 3, saying: no database.`

// The story of one outage whose cause changes, and of the next one.
func TestAnOutageIsExplained(t *testing.T) {
	w := apart(t)
	w.start(w.diagnosing())
	policy := w.policy("shop")
	service, real := w.up("web")
	w.deployment(service, 0)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.settle()
	w.Expect(w.diagnoses()).To(BeEmpty(), "the cause of no outage is not looked for")
	w.Expect(w.causeOf(policy, service)()).To(BeEmpty())

	w.Delete(real)
	w.PublishEndpoints(service)
	w.Eventually(w.causeOf(policy, service)).Should(HavePrefix(`ScaledToZero: Deployment "web" is scaled to zero`))
	w.Eventually(w.EventsOf(service, criticalv2.CauseScaledToZero)).Should(HaveLen(1))
	reported := w.Events(service, criticalv2.CauseScaledToZero)[0]
	w.Expect(reported.Type).To(Equal(corev1.EventTypeWarning))
	w.Expect(reported.Action).To(Equal("DiagnoseOutage"))
	w.Expect(reported.Message).To(HavePrefix(`Deployment "web" is scaled to zero`))
	w.Expect(reported.Related).To(HaveField("Name", policy.Name))
	w.Eventually(func() []criticalv2.Outage { return w.statusOf(policy).Outages }).Should(
		HaveExactElements(HaveField("Cause", HaveField("Reason", criticalv2.CauseScaledToZero))), "the history keeps it")

	// Another cause in the same outage is another event.
	real = w.Pod("web-real", service)
	testenv.Update(w.World, real, func(p *corev1.Pod) { // One without a controller explains no Deployment.
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "web-1", Controller: new(true)}}
	})
	w.crash(real)
	w.Eventually(w.causeOf(policy, service)).Should(Equal(crashSentence))
	w.Eventually(w.EventsOf(service, criticalv2.CauseCrashLoop)).Should(HaveLen(1))

	// After the recovery there is nothing to explain.
	w.answer(service, w.fallback(service))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Expect(w.causeOf(policy, service)()).To(Equal(crashSentence), "it explains the outage, whatever answers")
	w.MakeReady(real)
	w.PublishEndpoints(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.Expect(w.causeOf(policy, service)()).To(BeEmpty())

	// The next outage has the cause that it has, and not that of the last one.
	w.Delete(real)
	w.PublishEndpoints(service)
	w.Eventually(w.causeOf(policy, service)).Should(HavePrefix("ScaledToZero: "))
	w.Expect(w.Events(service, criticalv2.CauseCrashLoop)).To(HaveLen(1))
}

func TestWhatIsNotExplainedIsNoEvent(t *testing.T) {
	w := apart(t)
	w.start(w.diagnosing())
	policy := w.policy("shop")
	service := w.down("web")
	w.deployment(service, 2)
	w.Eventually(w.causeOf(policy, service)).Should(
		Equal(`CauseNotFound: Deployment "web" should have 2 Pods and has none, and nothing explains why.`))
	w.settle()
	w.Expect(w.Events(service, criticalv2.CauseNotFound)).To(BeEmpty())
}

func TestAnOperatorThatTakesOverDoesNotRepeatTheCause(t *testing.T) {
	w := apart(t)
	w.start(w.diagnosing())
	policy := w.policy("shop")
	service := w.down("web")
	w.crash(w.Pod("web-real", service))
	w.PublishEndpoints(service)
	w.Eventually(w.causeOf(policy, service)).Should(Equal(crashSentence))
	w.Eventually(w.EventsOf(service, criticalv2.CauseCrashLoop)).Should(HaveLen(1))

	w.stop()
	w.start(w.diagnosing())
	w.Eventually(func() int { return w.operator.Reconciles("cause", service.Namespace, service.Name) }).Should(BeNumerically(">", 0))
	w.settle()
	w.Expect(w.causeOf(policy, service)()).To(Equal(crashSentence))
	events := w.operator.Traffic.Requests(func(r testenv.Request) bool { return r.Writes() && r.Resource() == "events" })
	w.Expect(events).To(BeEmpty())
}

// The search for a cause blocks nothing, and goes on when it can.
func TestAFailoverDoesNotWaitForItsCause(t *testing.T) {
	w := apart(t)
	var broken atomic.Bool
	broken.Store(true)
	program := w.diagnosing()
	program.Interfere = func(r testenv.Request) testenv.Verdict {
		if broken.Load() && r.Resource() == "replicasets" {
			return testenv.Lose
		}
		return testenv.Pass
	}
	w.start(program)
	policy := w.policy("shop")
	service, fallback := w.covered("web")
	w.deployment(service, 0)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(func() int { return w.operator.Reconciles("cause", service.Namespace, service.Name) }).Should(BeNumerically(">", 0))
	w.Expect(w.causeOf(policy, service)()).To(BeEmpty(), "what was read in part explains nothing")
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID))

	broken.Store(false)
	w.Eventually(w.causeOf(policy, service)).Should(HavePrefix("ScaledToZero: "))
}

func TestTheCauseOfAMaintenanceIsNotLookedFor(t *testing.T) {
	w := apart(t)
	w.start(w.diagnosing())
	policy := w.policy("shop")
	service, real := w.up("web")
	w.announce(service)
	w.Eventually(func() string { return w.detailOf(policy, service).Message }).Should(ContainSubstring("A maintenance is announced"))
	w.fail(service, real)
	w.Eventually(w.causeOf(policy, service)).Should(HavePrefix(criticalv2.CauseMaintenance + ": "))
	w.Eventually(func() int { return w.operator.Reconciles("cause", service.Namespace, service.Name) }).Should(BeNumerically(">", 0))
	w.Expect(w.diagnoses()).To(BeEmpty())
	w.Expect(w.Events(service, criticalv2.CauseMaintenance)).To(BeEmpty())
}

func TestTheSearchForCausesCanBeOff(t *testing.T) {
	w := apart(t)
	options := standard
	options.DiagnoseAfter = 0
	w.start(w.confined(options))
	policy := w.policy("shop")
	service, _ := w.covered("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.settle()
	w.Expect(w.diagnoses()).To(BeEmpty())
	w.Expect(w.operator.Reconciles("cause", service.Namespace, service.Name)).To(BeZero())
}

// Explaining an outage needs permissions to read. They are these, and no more.
func TestTheOperatorMayReadWhatExplainsAnOutage(t *testing.T) {
	g := NewWithT(t)
	may := func(group, resource, verb string) bool {
		return allowed(t, authorizationv1.ResourceAttributes{Group: group, Resource: resource, Verb: verb, Namespace: "default"})
	}
	for _, resource := range []string{"deployments", "statefulsets", "daemonsets", "replicasets"} {
		g.Expect(may("apps", resource, "list")).To(BeTrue(), resource)
		if resource != "deployments" { // Those it watches, because the responder's is one.
			g.Expect(may("apps", resource, "watch")).To(BeFalse(), resource)
		}
		g.Expect(may("apps", resource, "update")).To(BeFalse(), resource)
	}
	g.Expect(may("autoscaling", "horizontalpodautoscalers", "list")).To(BeTrue())
	g.Expect(may("autoscaling", "horizontalpodautoscalers", "patch")).To(BeFalse())
	g.Expect(may("events.k8s.io", "events", "list")).To(BeTrue())
	g.Expect(may("events.k8s.io", "events", "delete")).To(BeFalse())

	node := authorizationv1.ResourceAttributes{Resource: "nodes", Verb: "get"}
	g.Expect(allowed(t, node)).To(BeTrue())
	node.Verb = "list"
	g.Expect(allowed(t, node)).To(BeFalse(), "Nodes are read by name")
	node.Verb = "patch"
	g.Expect(allowed(t, node)).To(BeFalse())
}

// Any user of a namespace can fill it with objects of a megabyte each. They must not be
// read into the operator's memory, and the outage is explained as far as it can be.
func TestLargeWorkloadsAreNotReadToExplainAnOutage(t *testing.T) {
	w := apart(t)
	service := w.down("web")
	for i := range 6 {
		w.deployment(service, 0, func(d *appsv1.Deployment) {
			d.Name = fmt.Sprintf("large-%d", i)
			d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LARGE", Value: strings.Repeat("x", 1_000_000)}}
		})
	}
	w.start(w.diagnosing())
	policy := w.policy("shop")
	w.Eventually(w.causeOf(policy, service)).Should(Equal(
		"CauseNotFound: No Pod has the labels of the Service's selector app=web; not all workloads could be read."))
}
