package stories_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/controllers/monitoring"
	"github.com/critical-service/operator/controllers/responder"
	"github.com/critical-service/operator/test/testenv"
)

// withResponder is a world, apart, for operators that can make responders. What
// runs the responder's Deployment is the test.
func withResponder(t *testing.T) *world {
	t.Helper()
	return apart(t).withResponder()
}

// withResponder empties the world of what a responder needs when the test ends.
func (w *world) withResponder() *world {
	w.T.Helper()
	w.T.Cleanup(func() {
		w.DeleteAll(&appsv1.Deployment{}, &corev1.ConfigMap{}, &policyv1.PodDisruptionBudget{}, &corev1.PodTemplate{})
	})
	return w
}

// complete is an operator that sees the world's namespaces and policies only, and
// knows the image of the responder.
func (w *world) complete(changes ...func(*criticalservice.Options)) testenv.Program {
	options := standard
	options.OperatorNamespace = testenv.OperatorNamespace
	options.Namespaces = append([]string{w.Namespace}, w.others...)
	for _, change := range changes {
		change(&options)
	}
	all := controllers.Options{
		Monitoring:      monitoring.Options{Off: true, Namespace: testenv.OperatorNamespace, NoTenants: options.NoTenants},
		CriticalService: options,
		Responder:       responder.Options{Image: "quay.io/critical-service/operator:test", Namespaces: options.Namespaces},
	}
	program := testenv.Program{
		Cache: controllers.CacheOptions(all),
		Setup: func(ctx context.Context, mgr ctrl.Manager) error { return controllers.Setup(ctx, mgr, all) },
	}
	for object, by := range program.Cache.ByObject {
		if _, isPolicy := object.(*criticalv2.CriticalService); isPolicy {
			by.Label = labels.SelectorFromSet(labels.Set{labelWorld: w.Namespace})
			program.Cache.ByObject[object] = by
		}
	}
	return program
}

// toPage, toPod, toBackup and toLabels are the kinds of fallback.
func toPage(p *criticalv2.CriticalService) {
	p.Spec.Fallback = criticalv2.Fallback{Page: &criticalv2.PageFallback{}}
}

func toLabels(p *criticalv2.CriticalService) { p.Spec.Fallback = byLabels() }

// toPod uses the PodTemplate "fallback" of the Service's own namespace.
func (w *world) toPod(activation criticalv2.Activation) func(*criticalv2.CriticalService) {
	return func(p *criticalv2.CriticalService) {
		p.Spec.Fallback = criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{
			Name: "fallback", Namespace: w.Namespace, Activation: activation, Publish: criticalv2.PublishEndpointSlice,
		}}
	}
}

func toBackup(name string) func(*criticalv2.CriticalService) {
	return func(p *criticalv2.CriticalService) {
		p.Spec.Fallback = criticalv2.Fallback{Service: &criticalv2.BackupFallback{Name: name}}
	}
}

// template makes the PodTemplate that toPod uses.
func (w *world) template(changes ...func(*corev1.PodTemplate)) *corev1.PodTemplate {
	w.T.Helper()
	template := newTemplate(client.ObjectKey{Namespace: w.Namespace, Name: "fallback"})
	for _, change := range changes {
		change(template)
	}
	w.Create(template)
	return template
}

// turn changes a policy in mid-life.
func (w *world) turn(policy *criticalv2.CriticalService, change func(*criticalv2.CriticalService)) {
	w.T.Helper()
	testenv.Update(w.World, policy.DeepCopy(), change)
}

// responder does what the controllers of a Deployment and kubelet do: it runs a
// Pod of the responder, and the Pod becomes ready.
func (w *world) responder(name string) *corev1.Pod {
	w.T.Helper()
	pod := w.responderThatStarts(name)
	w.MakeReady(pod)
	return pod
}

func (w *world) responderThatStarts(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	w.T.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: criticalv2.ResponderName}}
	w.Eventually(func() bool { return w.Exists(deployment) }).Should(BeTrue(), "there must be a Deployment of the responder")
	template := deployment.Spec.Template
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace, Labels: template.Labels, Annotations: template.Annotations},
		Spec:       template.Spec,
	}
	for _, change := range changes {
		change(pod)
	}
	w.Create(pod)
	return pod
}

// slice is the standby slice of a Service that belongs to the CriticalService; it need
// not exist.
func (w *world) slice(service *corev1.Service) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name + "-standby-ipv4"}}
}

// podSlices are the standby slices of a Service that publish a Pod, by name.
func (w *world) podSlices(service *corev1.Service) []discoveryv1.EndpointSlice {
	var list discoveryv1.EndpointSliceList
	w.Expect(w.Cluster.Client.List(w.T.Context(), &list, client.InNamespace(service.Namespace), client.MatchingLabels{
		discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: criticalv2.ManagedBy,
	}, client.HasLabels{criticalv2.LabelStandbyPod})).To(Succeed())
	return list.Items
}

// podSlice is the one that publishes the only Pod.
func (w *world) podSlice(service *corev1.Service) *discoveryv1.EndpointSlice {
	w.T.Helper()
	list := w.podSlices(service)
	w.Expect(list).To(HaveLen(1))
	return &list[0]
}

// published says what the standby slices of a Service publish, for example
// "page: responder-1 on http=20000, standby"; it is empty if there are none.
func (w *world) published(service *corev1.Service) func() string {
	return func() string {
		request := w.slice(service)
		var all []discoveryv1.EndpointSlice
		text := ":"
		if w.Exists(request) {
			all, text = append(all, *request), request.Labels[criticalv2.LabelFallbackKind]+":"
		}
		all = append(all, w.podSlices(service)...)
		if len(all) == 0 {
			return ""
		}
		var pods, ports []string
		conditions := "?"
		for _, slice := range all {
			for _, endpoint := range slice.Endpoints {
				pods = append(pods, endpoint.TargetRef.Name)
				switch is := endpoint.Conditions; {
				case *is.Ready && *is.Serving && !*is.Terminating:
					conditions = "promoted"
				case !*is.Ready && *is.Serving && *is.Terminating:
					conditions = "standby"
				}
				for _, port := range slice.Ports {
					ports = append(ports, fmt.Sprintf("%s=%d", *port.Name, *port.Port))
				}
			}
		}
		if len(pods) == 0 {
			return text + " nothing"
		}
		slices.Sort(pods)
		slices.Sort(ports)
		return fmt.Sprintf("%s %s on %s, %s", text, strings.Join(slices.Compact(pods), "+"), strings.Join(slices.Compact(ports), " "), conditions)
	}
}

// note is an annotation of the standby slice of a Service.
func (w *world) note(service *corev1.Service, key string) func() string {
	return func() string {
		slice := w.slice(service)
		w.Exists(slice)
		return slice.Annotations[key]
	}
}

// armed makes a critical Service with one Pod that is ready, and a responder that
// stands by for it. It is the first Service of its world.
func (w *world) armed(policy *criticalv2.CriticalService, name string) (*corev1.Service, *corev1.Pod) {
	w.T.Helper()
	service, real := w.up(name)
	w.responder("responder-1")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.Expect(w.published(service)()).To(MatchRegexp(`^page: responder-1 on http=\d+, standby$`))
	return service, real
}

// fail takes the last Pod of a Service away.
func (w *world) fail(service *corev1.Service, real *corev1.Pod) {
	w.T.Helper()
	w.Delete(real)
	w.PublishEndpoints(service)
}

// recover gives a Service a Pod that is ready.
func (w *world) recover(service *corev1.Service) *corev1.Pod {
	w.T.Helper()
	real := w.Pod(service.Name+"-real", service)
	w.MakeReady(real)
	w.PublishEndpoints(service)
	return real
}

// since lists what the operator asked of the API server after the first n
// requests, but for events and for watches that begin again.
func (w *world) since(n int) []string {
	var texts []string
	for _, r := range w.requests()[n:] {
		if r.Resource() != "events" && !r.Query.Has("watch") {
			texts = append(texts, r.Method+" "+r.Path)
		}
	}
	return texts
}

func (w *world) requests() []testenv.Request {
	return w.operator.Traffic.Requests(func(testenv.Request) bool { return true })
}

// podSlicePath is the path of the slice that publishes the only Pod.
func (w *world) podSlicePath(service *corev1.Service) string {
	w.T.Helper()
	return slicePath(w.podSlice(service))
}

func slicePath(slice *discoveryv1.EndpointSlice) string {
	return "/apis/discovery.k8s.io/v1/namespaces/" + slice.Namespace + "/endpointslices/" + slice.Name
}

func statusPath(policy *criticalv2.CriticalService) string {
	return "/apis/mycrd.com/v2/criticalservices/" + policy.Name + "/status"
}
