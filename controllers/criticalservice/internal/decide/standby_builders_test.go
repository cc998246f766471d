package decide_test

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/contract/page"
	"github.com/critical-service/operator/internal/protection"
)

// fallsBackTo replaces the fallback of the first policy.
func fallsBackTo(fallback criticalv2.Fallback) option {
	return func(s *decide.Snapshot) { critical(s).Spec.Fallback = fallback }
}

func toPage() option { return fallsBackTo(criticalv2.Fallback{Page: criticalv2.DefaultPage()}) }

func toContent(name string) option {
	page := criticalv2.DefaultPage()
	page.ConfigMapName = name
	return fallsBackTo(criticalv2.Fallback{Page: page})
}

func toPod(activation criticalv2.Activation) option {
	return fallsBackTo(criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{
		Activation: activation, Publish: criticalv2.PublishEndpointSlice,
	}})
}

func toService(name string) option {
	return fallsBackTo(criticalv2.Fallback{Service: &criticalv2.BackupFallback{Name: name}})
}

func delays(activation, deactivation time.Duration) option {
	return func(s *decide.Snapshot) {
		critical(s).Spec.ActivationDelay.Duration = activation
		critical(s).Spec.DeactivationDelay.Duration = deactivation
	}
}

// failing lets the Deployment of the responder say why its Pods do not come up.
func failing(message string) option {
	return func(s *decide.Snapshot) {
		s.Responder.Deployment.Status.Conditions = []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: message},
		}
	}
}

// responder is that of the namespace, with Pods as the changes make them; without
// any, there is only the Deployment.
func responder(pods ...func(*corev1.Pod)) option {
	return func(s *decide.Snapshot) {
		s.Responder = decide.Responder{
			Deployment: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: criticalv2.ResponderName}},
			Listeners: []listener.Listener{
				{Port: 20000, Service: "shop", PortName: "http", ServicePort: 80},
				{Port: 20001, Service: "shop", PortName: "metrics", ServicePort: 9090},
			},
		}
		for i, change := range pods {
			name := fmt.Sprintf("responder-%d", i+1)
			pod := corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: name, Namespace: "web", UID: types.UID(name),
					Labels:      map[string]string{criticalv2.LabelResponder: criticalv2.ResponderServer, criticalv2.LabelFallbackFor: ""},
					Annotations: map[string]string{criticalv2.AnnotationListeners: "20000-20063"},
				},
				Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: fmt.Sprintf("10.1.0.%d", i+1)}, {IP: fmt.Sprintf("fd00::%d", i+1)}}},
			}
			change(&pod)
			s.Responder.Pods = append(s.Responder.Pods, pod)
			s.OtherFallbacks = append(s.OtherFallbacks, pod.DeepCopy())
		}
	}
}

// withoutRequest is a Service whose slice that asks for the fallback is refused.
func withoutRequest(s *decide.Snapshot) {
	s.Refusal = &decide.Refusal{Reason: criticalv2.ReasonNameTaken}
	s.Standby = slices.DeleteFunc(slices.Clone(s.Standby), func(slice discoveryv1.EndpointSlice) bool { return protection.StandsFor(&slice) == "" })
}

func notRefused(s *decide.Snapshot) { s.Refusal = nil }

// otherFallback is a fallback Pod of another Service; its name is its UID.
func otherFallback(name string) []*corev1.Pod {
	return []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "web", UID: types.UID(name)}}}
}

// neighbor is a Service "admin" with the same selector, whose fallback Pods listen on
// one port only.
func neighbor(containerPort int32) option {
	return func(s *decide.Snapshot) {
		template := s.Template.DeepCopy()
		template.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: containerPort}}
		s.Neighbors = append(s.Neighbors, decide.Neighbor{
			Service: &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: "admin", Namespace: "web"},
				Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "shop"}, Ports: []corev1.ServicePort{{Name: "admin", Port: 9000}}},
			},
			Template: template,
		})
	}
}

// moved gives the Pods of the responder other addresses, as a reboot of their node does.
func moved(changes ...func(*corev1.Pod)) option {
	return func(s *decide.Snapshot) {
		for i := range s.Responder.Pods {
			pod := s.Responder.Pods[i].DeepCopy()
			pod.Status.PodIPs = []corev1.PodIP{{IP: fmt.Sprintf("10.1.0.%d", 77+i)}}
			for _, change := range changes {
				change(pod)
			}
			s.Responder.Pods[i] = *pod
		}
	}
}

func unready(p *corev1.Pod) { p.Status.Conditions = nil }

func renamed(from, to string) option {
	return service(func(s *corev1.Service) {
		for i := range s.Spec.Ports {
			if s.Spec.Ports[i].Name == from {
				s.Spec.Ports[i].Name = to
			}
		}
	})
}

func secondPort(name string, number int32) option {
	return service(func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: name, Port: number})
	})
}

// maintained adds a maintenance of the Service.
func maintained(name string, changes ...func(*criticalv2.Maintenance)) option {
	return func(s *decide.Snapshot) {
		m := criticalv2.Maintenance{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "web"}, Spec: criticalv2.MaintenanceSpec{Services: []string{"shop"}}}
		for _, change := range changes {
			change(&m)
		}
		s.Maintenances = append(s.Maintenances, m)
	}
}

func saying(message string) func(*criticalv2.Maintenance) {
	return func(m *criticalv2.Maintenance) { m.Spec.Message = message }
}

func until(left time.Duration) func(*criticalv2.Maintenance) {
	return func(m *criticalv2.Maintenance) { m.Spec.Until = new(metav1.NewTime(now.Add(left))) }
}

// takingAway says that the application was scaled to zero.
func takingAway(m *criticalv2.Maintenance) {
	m.Spec.Restore = &criticalv2.WorkloadReplicas{Deployment: "shop", Replicas: 3}
}

func drilling(m *criticalv2.Maintenance) { m.Spec.Purpose = criticalv2.PurposeDrill }

// window says of a recurring maintenance which of its windows the status knows.
func window(since, until time.Duration) func(*criticalv2.Maintenance) {
	return func(m *criticalv2.Maintenance) {
		m.Spec.Recurring = &criticalv2.Recurring{Schedule: "0 2 * * *"}
		m.Status.Since, m.Status.Until = new(metav1.NewTime(now.Add(since))), new(metav1.NewTime(now.Add(until)))
	}
}

func starting(*corev1.Pod) {}

// gate is open, and the kubelet says for some reason that the Pod is not ready.
func gate(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
			{Type: criticalv2.ConditionPublished, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reason},
		}
	}
}

// located gives a fallback Pod an address.
func located(p *corev1.Pod) { p.Status.PodIPs = []corev1.PodIP{{IP: "10.1.0.9"}} }

func narrow(p *corev1.Pod) {
	readyPod(p)
	p.Annotations[criticalv2.AnnotationListeners] = "19000-19063"
}

func readyEnding(p *corev1.Pod) {
	readyPod(p)
	terminating(p)
}

// published puts standby slices into the Snapshot, as the options before it let
// the operator publish them. It is carried out as often as that changes anything.
func published(s *decide.Snapshot) {
	if s.Slices == nil {
		s.Slices = []discoveryv1.EndpointSlice{slice()}
	}
	plan := decide.Decide(*s)
	for _, slice := range append(plan.Publish, plan.Retract...) {
		put(s, slice)
	}
}

// firstWritten lets the first one of several writes be seen.
func firstWritten(s *decide.Snapshot) { put(s, decide.Decide(*s).Publish[0]) }

func put(s *decide.Snapshot, slice *discoveryv1.EndpointSlice) {
	slice = slice.DeepCopy()
	slice.UID, slice.ResourceVersion = types.UID(slice.Name), "1"
	if slice.CreationTimestamp.IsZero() {
		slice.CreationTimestamp = metav1.NewTime(now)
	}
	for i := range s.Standby {
		if s.Standby[i].Name == slice.Name {
			s.Standby[i] = *slice
			return
		}
	}
	s.Standby = append(s.Standby, *slice)
}

// armed is a Service that answers by itself, with its standby published.
func armed(s *decide.Snapshot) {
	endpoints(ready("shop-1"))(s)
	published(s)
}

// later lets time go by.
func later(d time.Duration) option {
	return func(s *decide.Snapshot) { s.Now = s.Now.Add(d) }
}

// noted writes an annotation on the slice that asks for the fallback.
func noted(key string, at time.Time) option {
	return func(s *decide.Snapshot) {
		for i := range s.Standby {
			if protection.StandsFor(&s.Standby[i]) != "" {
				continue
			}
			metav1.SetMetaDataAnnotation(&s.Standby[i].ObjectMeta, key, at.Format(time.RFC3339Nano))
		}
	}
}

// backup is a Service "spare" with these ready Pods, on the port 9000.
func backup(pods ...string) option {
	return func(s *decide.Snapshot) {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "spare", Namespace: "web"},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "spare"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		}
		part := slice()
		part.Labels = map[string]string{discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}
		part.Ports[0].Port = new(int32(9000))
		for i, pod := range pods {
			entry := ready(pod)
			entry.Addresses = []string{fmt.Sprintf("10.2.0.%d", i+1)}
			part.Endpoints = append(part.Endpoints, entry)
		}
		s.Backups = map[string]decide.Backup{"spare": {Service: service, Slices: []discoveryv1.EndpointSlice{part}}}
	}
}

// slicePod is the fallback Pod of a policy that publishes it.
func slicePod(changes ...func(*corev1.Pod)) option {
	return func(s *decide.Snapshot) {
		fallback(append([]func(*corev1.Pod){located}, changes...)...)(s)
	}
}

// acceptedNext is the API server's answer to the successor of a standby Pod.
func acceptedNext(s *decide.Snapshot) {
	pod := render.Pod(fallbackName, s.Service, s.Template, s.Policies[0], criticalv2.PublishEndpointSlice)
	pod.Name += "-next"
	s.Attempt = &decide.Attempt{Hash: render.Hash(pod), At: now}
}

// silentPod lets the fallback Pod fall silent.
func silentPod(s *decide.Snapshot) { s.Silent = s.Pods[0].UID }

// podsGone lets all fallback Pods go.
func podsGone(s *decide.Snapshot) { s.Pods = nil }

func families(list ...corev1.IPFamily) option {
	return service(func(s *corev1.Service) { s.Spec.IPFamilies = list })
}

func headless(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }

func withContent(data map[string]string) option {
	return func(s *decide.Snapshot) {
		files := map[string][]byte{}
		for key, text := range data {
			files[key] = []byte(text)
		}
		_, problems := page.Parse(files)
		s.Content = &decide.Content{Judged: true, Problems: problems}
	}
}

// unread is content that exists, and was not read yet.
func unread(s *decide.Snapshot) { s.Content = &decide.Content{} }
