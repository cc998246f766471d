package stories_test

import (
	"context"
	"fmt"
	"sync"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// world is a test's own namespace and the operator that looks at it.
type world struct {
	*testenv.World
	// others are namespaces that the operator may write to as well, and has no reason to.
	others []string
	// A Fate replaces the operator while the story goes on.
	mu       sync.Mutex
	operator *testenv.Operator
	running  bool
	earlier  []*testenv.Operator
	// replace is how another operator takes the place of the one that runs, in a story with a Fate.
	replace func()
	// resume starts an operator in such a story where none runs.
	resume func()
}

// current is the operator that runs, or ran last.
func (w *world) current() *testenv.Operator {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.operator
}

// start starts an operator of the world's own.
func (w *world) start(program testenv.Program) {
	w.T.Helper()
	operator := w.Cluster.Start(w.T, program)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.operator, w.running = operator, true
}

func (w *world) stop() {
	w.T.Helper()
	w.operator.Stop(w.T)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = false
	w.earlier = append(w.earlier, w.operator)
}

func (w *world) tellOnFailure() {
	w.T.Cleanup(func() {
		if !w.T.Failed() {
			return
		}
		operators := w.earlier
		if w.running {
			operators = append(operators, w.operator)
		}
		for _, operator := range operators {
			w.T.Logf("the operator's log:\n%s", operator.Log(w.Namespace))
		}
	})
}

// labelWorld names, on a policy, the world it belongs to.
const labelWorld = "world"

// policy makes a CriticalService for the critical Services of the world.
func (w *world) policy(name string, changes ...func(*criticalv2.CriticalService)) *criticalv2.CriticalService {
	w.T.Helper()
	policy := &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: w.Unique(name), Labels: map[string]string{labelWorld: w.Namespace}},
		Spec: criticalv2.CriticalServiceSpec{
			ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": w.Namespace}},
			ProtectionSpec:  criticalv2.ProtectionSpec{Fallback: byLabels()},
		},
	}
	for _, change := range changes {
		change(policy)
	}
	w.Create(policy)
	w.T.Cleanup(func() {
		w.lint(policy)
		ctx := context.WithoutCancel(w.T.Context())
		w.Expect(client.IgnoreNotFound(w.Cluster.Client.Delete(ctx, policy))).To(Succeed())
	})
	return policy
}

// byLabels is the fallback that an object of version 1 asks for.
func byLabels() criticalv2.Fallback {
	return criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{
		Activation: criticalv2.ActivationOnDemand, Publish: criticalv2.PublishSelectorLabels,
	}}
}

// critical makes a Service that the world's policies match.
func (w *world) critical(name string, changes ...func(*corev1.Service)) *corev1.Service {
	w.T.Helper()
	return w.Service(name, append([]func(*corev1.Service){func(service *corev1.Service) {
		service.Labels = map[string]string{"role": w.Namespace}
	}}, changes...)...)
}

// down makes a critical Service that has no Pod at all.
func (w *world) down(name string, changes ...func(*corev1.Service)) *corev1.Service {
	w.T.Helper()
	service := w.critical(name, changes...)
	w.PublishEndpoints(service)
	return service
}

// up makes a critical Service with one Pod that is ready.
func (w *world) up(name string, changes ...func(*corev1.Service)) (*corev1.Service, *corev1.Pod) {
	w.T.Helper()
	service := w.critical(name, changes...)
	pod := w.Pod(name+"-real", service)
	w.MakeReady(pod)
	w.PublishEndpoints(service)
	return service, pod
}

// covered makes a critical Service in outage, with a fallback that answers.
func (w *world) covered(name string, changes ...func(*corev1.Service)) (*corev1.Service, *corev1.Pod) {
	w.T.Helper()
	service := w.down(name, changes...)
	fallback := w.fallback(service)
	w.answer(service, fallback)
	return service, fallback
}

// answer lets a fallback Pod become a ready endpoint.
func (w *world) answer(service *corev1.Service, fallback *corev1.Pod) {
	w.T.Helper()
	w.MakeReady(fallback)
	w.PublishEndpoints(service)
}

// fallbacks lists the Service's fallback Pods that are not ending. It asks for
// the owner and not for our label, which a test may have taken off.
func (w *world) fallbacks(service *corev1.Service) []corev1.Pod {
	w.T.Helper()
	var pods corev1.PodList
	w.Expect(w.Cluster.Client.List(w.T.Context(), &pods, client.InNamespace(service.Namespace))).To(Succeed())
	var live []corev1.Pod
	for _, pod := range pods.Items {
		owner := metav1.GetControllerOf(&pod)
		if owner != nil && owner.APIVersion == criticalv2.GroupVersion.String() && pod.DeletionTimestamp == nil &&
			pod.Labels[criticalv2.LabelFallbackFor] == service.Name {
			live = append(live, pod)
		}
	}
	return live
}

// fallback waits for the one fallback Pod of the Service.
func (w *world) fallback(service *corev1.Service) *corev1.Pod {
	w.T.Helper()
	var found []corev1.Pod
	w.Eventually(func() []corev1.Pod { found = w.fallbacks(service); return found }).Should(HaveLen(1),
		"the Service needs one fallback Pod")
	return &found[0]
}

// gone waits until the Service has no fallback Pod.
func (w *world) gone(service *corev1.Service) {
	w.T.Helper()
	w.Eventually(func() []corev1.Pod { return w.fallbacks(service) }).Should(BeEmpty(), "the fallback Pod must go")
}

// stateOf is what a policy's status says of a Service, as "State/Reason".
func (w *world) stateOf(policy criticalv2.Policy, service *corev1.Service) func() string {
	return func() string {
		detail := w.detailOf(policy, service)
		return fmt.Sprintf("%s/%s", detail.State, detail.Reason)
	}
}

// detailOf is what a policy's status says of a Service; it is empty if nothing.
func (w *world) detailOf(policy criticalv2.Policy, service *corev1.Service) criticalv2.ServiceStatus {
	for _, detail := range w.statusOf(policy).Details {
		if detail.Namespace == service.Namespace && detail.Name == service.Name {
			return detail
		}
	}
	return criticalv2.ServiceStatus{}
}

func (w *world) statusOf(policy criticalv2.Policy) criticalv2.ProtectionStatus {
	now := policy.DeepCopyObject().(criticalv2.Policy)
	w.Expect(w.Cluster.Client.Get(w.T.Context(), client.ObjectKeyFromObject(policy), now)).To(Succeed())
	return *now.Observed()
}

// conditionOf is a condition of a policy, as "Status/Reason".
func (w *world) conditionOf(policy criticalv2.Policy, kind string) func() string {
	return func() string {
		for _, condition := range w.statusOf(policy).Conditions {
			if condition.Type == kind {
				return fmt.Sprintf("%s/%s", condition.Status, condition.Reason)
			}
		}
		return ""
	}
}

// look makes a change, and waits until the operator has looked at the Service
// again and has nothing left to do. What holds then, holds on.
func (w *world) look(service *corev1.Service, change func()) {
	w.T.Helper()
	before := w.current().Reconciles("service", service.Namespace, service.Name)
	change()
	w.touch(service)
	w.Eventually(func() int { return w.current().Reconciles("service", service.Namespace, service.Name) }).
		Should(BeNumerically(">", before), "the change must wake the operator")
	w.settle()
}

// touch wakes the operator by a change that means nothing.
func (w *world) touch(service *corev1.Service) {
	w.T.Helper()
	testenv.Update(w.World, service.DeepCopy(), func(s *corev1.Service) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, "example.com/touch", rand.String(8))
	})
}

// settle waits until the operator has nothing left to do in the world.
func (w *world) settle() {
	w.T.Helper()
	w.current().Settled(w.World)
	w.Eventually(func() bool { return w.current().IsDue("status", w.Namespace) }).Should(BeFalse(), "a status waits for its turn")
}

// release takes the finalizers off a Service that a test held.
func (w *world) release(service *corev1.Service) {
	w.T.Helper()
	ctx := context.WithoutCancel(w.T.Context())
	if client.IgnoreNotFound(w.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(service), service)) == nil && service.UID != "" {
		service.Finalizers = nil
		w.Expect(client.IgnoreNotFound(w.Cluster.Client.Update(ctx, service))).To(Succeed())
	}
}

func portNumber(number int32) intstr.IntOrString { return intstr.FromInt32(number) }
