package decide_test

import (
	"flag"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// now is the time of every Snapshot that does not say otherwise.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

var update = flag.Bool("update", false, "write the golden files again")

const fallbackName = "service-watcher-shop"

// option changes one thing of a Snapshot.
type option func(*decide.Snapshot)

// snapshot is Service web/shop with one port, governed by CriticalService "a",
// with a PodTemplate and an empty slice; the options say what else is true.
func snapshot(options ...option) decide.Snapshot {
	s := decide.Snapshot{
		Now: now,
		Settings: decide.Settings{
			Template:      types.NamespacedName{Namespace: "system", Name: "page"},
			PodNamePrefix: "service-watcher", OperatorNamespace: "system",
		},
		Service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "web", UID: "shop", Labels: map[string]string{"role": "shop"}},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": "shop"},
				Ports:    []corev1.ServicePort{{Name: "http", Port: 80}},
			},
		},
		Policies: []criticalv2.Policy{policy("a")},
		Template: &corev1.PodTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: "page", Namespace: "system"},
			Template:   corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "page", Image: "page"}}}},
		},
	}
	for _, option := range options {
		option(&s)
	}
	if s.Slices == nil {
		s.Slices = []discoveryv1.EndpointSlice{slice()}
	}
	return s
}

func policy(name string) *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec: criticalv2.CriticalServiceSpec{
			ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "shop"}},
			ProtectionSpec:  criticalv2.ProtectionSpec{Fallback: byLabels()},
		},
	}
}

// byLabels is the fallback that an object of version 1 asks for.
func byLabels() criticalv2.Fallback {
	return criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{
		Activation: criticalv2.ActivationOnDemand, Publish: criticalv2.PublishSelectorLabels,
	}}
}

func slice(endpoints ...discoveryv1.Endpoint) discoveryv1.EndpointSlice {
	return discoveryv1.EndpointSlice{
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: ptr.To[int32](80)}},
		Endpoints:   endpoints,
	}
}

func inSlices(list ...discoveryv1.EndpointSlice) option {
	return func(s *decide.Snapshot) { s.Slices = append([]discoveryv1.EndpointSlice{}, list...) }
}

func endpoints(list ...discoveryv1.Endpoint) option { return inSlices(slice(list...)) }

// endpoint is that of a Pod whose name and UID are the same.
func endpoint(pod string, ready *bool) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Conditions: discoveryv1.EndpointConditions{Ready: ready, Serving: ready},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: "web", Name: pod, UID: types.UID(pod)},
	}
}

func ready(pod string) discoveryv1.Endpoint    { return endpoint(pod, new(true)) }
func notReady(pod string) discoveryv1.Endpoint { return endpoint(pod, new(false)) }

// publishOf is how the first policy publishes its fallback Pod.
func publishOf(s *decide.Snapshot) criticalv2.Publish {
	if len(s.Policies) > 0 && critical(s).Spec.Fallback.PodTemplate != nil {
		return critical(s).Spec.Fallback.PodTemplate.Publish
	}
	return criticalv2.PublishSelectorLabels
}

// fallback is a Pod as the operator would have made it a minute and a half ago.
func fallback(changes ...func(*corev1.Pod)) option {
	return func(s *decide.Snapshot) {
		service, template := s.Service, s.Template
		if service == nil {
			service = snapshot().Service
		}
		if template == nil {
			template = snapshot().Template
		}
		governor := policy("a")
		pod := render.Pod(fallbackName, service, template, governor, publishOf(s))
		pod.UID, pod.CreationTimestamp = fallbackName, metav1.NewTime(now.Add(-90*time.Second))
		for _, change := range changes {
			change(pod)
		}
		s.Pods = append(s.Pods, *pod)
	}
}

func named(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Name, p.UID = name, types.UID(name) }
}
func aged(age time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-age)) }
}
func terminating(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now)) }
func released(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { *p = *render.Released(p, snapshot().Service, now.Add(-ago)) }
}
func evicted(p *corev1.Pod) {
	p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}
}
func fromOldTemplate(p *corev1.Pod) {
	p.Annotations[criticalv2.AnnotationTemplate] = "00000000"
}
func readyPod(p *corev1.Pod) {
	if p.Status.Phase != corev1.PodFailed {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
}
func waiting(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "page", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}
	}
}

// noPods is an operator that may run no Pods: it reads no PodTemplates either.
func noPods(s *decide.Snapshot) {
	noTemplate(s)
	s.Settings.NoPods = "The operator has no permission to run Pods."
}

func noTemplate(s *decide.Snapshot) { s.Template = nil }
func tooLarge(s *decide.Snapshot)   { s.Template, s.TemplateTooLarge = nil, true }

// templateUnread is a template that exists, of which only that is known.
func templateUnread(s *decide.Snapshot) {
	s.Template, s.Unread = nil, []types.NamespacedName{s.Settings.Template}
}
func noService(s *decide.Snapshot) { s.Service = nil }
func noPolicy(s *decide.Snapshot)  { s.Policies = nil }

func withoutSelector(s *decide.Snapshot) { critical(s).Spec.ServiceSelector = metav1.LabelSelector{} }

// critical is the CriticalService of a Snapshot that has one policy.
func critical(s *decide.Snapshot) *criticalv2.CriticalService {
	return s.Policies[0].(*criticalv2.CriticalService)
}

func policies(list ...criticalv2.Policy) option {
	return func(s *decide.Snapshot) { s.Policies = list }
}

func service(change func(*corev1.Service)) option {
	return func(s *decide.Snapshot) { change(s.Service) }
}

func containerPort(port int32) option {
	return func(s *decide.Snapshot) {
		s.Template.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port}}
	}
}

// answered is the API server's answer to the very Pod that would be made now.
// It comes last among the options.
func answered(ago time.Duration, reason, message string) option {
	return func(s *decide.Snapshot) {
		pod := render.Pod(fallbackName, s.Service, s.Template, s.Policies[0], publishOf(s))
		s.Attempt = &decide.Attempt{Hash: render.Hash(pod), At: now.Add(-ago), Reason: reason, Message: message}
		if reason != "" {
			s.Attempt.Refusals = 6
		}
	}
}

func accepted(s *decide.Snapshot) { answered(time.Minute, "", "")(s) }

func refusedDryRun(s *decide.Snapshot) {
	denied(time.Second)(s)
	asDryRun(s)
}

func asDryRun(s *decide.Snapshot) { s.Attempt.DryRun = true }

// endingNamespace is one that takes no Pod, as it is being deleted.
func endingNamespace(s *decide.Snapshot) {
	denied(time.Second)(s)
	s.Attempt.Reason, s.Attempt.Message = "", ""
}

func denied(ago time.Duration) option {
	return answered(ago, criticalv2.ReasonCreateDenied, "exceeded quota")
}
