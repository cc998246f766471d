package decide_test

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/internal/contract/listener"
)

// namespace is one whose responder listens from the first port on.
const namespace = "checkout-1"

// snapshot is a namespace in which nothing is made yet, as it is changed.
func snapshot(changes ...func(*decide.Snapshot)) decide.Snapshot {
	s := decide.Snapshot{Namespace: namespace, Settings: decide.Settings{Image: "quay.io/operator:1"}}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// port is a TCP port of a Service.
func port(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number, Protocol: corev1.ProtocolTCP}
}

// service adds a Service without its slice.
func service(name string, ports ...corev1.ServicePort) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		s.Services = append(s.Services, corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID("uid-" + name)},
			Spec:       corev1.ServiceSpec{Ports: ports},
		})
	}
}

// slice adds the slice of a Service for one IP family.
func slice(name, family string, changes ...func(*discoveryv1.EndpointSlice)) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		added := discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
			Name: name + "-standby-" + family, Namespace: namespace,
			Labels:          map[string]string{discoveryv1.LabelServiceName: name},
			Annotations:     map[string]string{criticalv2.AnnotationPage: `{"statusCode":503}`},
			OwnerReferences: []metav1.OwnerReference{policy("storefront")},
		}, AddressType: map[string]discoveryv1.AddressType{"ipv4": discoveryv1.AddressTypeIPv4, "ipv6": discoveryv1.AddressTypeIPv6}[family]}
		for _, change := range changes {
			change(&added)
		}
		s.Slices = append(s.Slices, added)
	}
}

// critical adds a Service and its slice.
func critical(name string, ports ...corev1.ServicePort) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		service(name, ports...)(s)
		slice(name, "ipv4")(s)
	}
}

func policy(name string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "mycrd.com/v2", Kind: "CriticalService", Name: name, UID: types.UID("uid-" + name), Controller: new(true),
	}
}

func ownedBy(name string) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) { s.OwnerReferences = []metav1.OwnerReference{policy(name)} }
}

func page(page criticalv2.PageFallback) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) {
		data, _ := json.Marshal(page)
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, criticalv2.AnnotationPage, string(data))
	}
}

func publishes(name string, number int32) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: new(name), Port: new(number)})
	}
}

// content adds a ConfigMap of a team.
func content(name string) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		s.Contents = append(s.Contents, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, UID: types.UID("uid-" + name), ResourceVersion: "1",
			Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderContent},
		}})
	}
}

// pod adds a Pod of the responder.
func pod(name string) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		s.Pods = append(s.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}})
	}
}

// apply does to a Snapshot what a Plan does to the world.
func apply(s decide.Snapshot, plan decide.Plan) decide.Snapshot {
	if plan.Remove {
		s.Table, s.Deployment, s.Budget, s.Autoscaler = nil, nil, nil, nil
	}
	if plan.Table != nil {
		s.Table = plan.Table.DeepCopy()
		s.Table.UID = "uid-table"
	}
	if plan.Deployment != nil {
		s.Deployment = plan.Deployment.DeepCopy()
		s.Deployment.UID = "uid-deployment"
		s.Deployment.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways // A default.
	}
	if plan.Budget != nil {
		s.Budget = plan.Budget.DeepCopy()
		s.Budget.UID = "uid-budget"
	}
	if plan.Autoscaler != nil {
		s.Autoscaler = plan.Autoscaler.DeepCopy()
		s.Autoscaler.UID = "uid-autoscaler"
	}
	if plan.Unscaled {
		s.Autoscaler = nil
	}
	pods := append([]corev1.Pod(nil), s.Pods...)
	for i := range pods {
		for _, refresh := range plan.RefreshMounts {
			if refresh.To.Name == pods[i].Name {
				pods[i] = *refresh.To
			}
		}
	}
	for i := range pods {
		for _, published := range plan.Published {
			if published.Name == pods[i].Name {
				pods[i] = *pods[i].DeepCopy()
				condition(criticalv2.ConditionPublished, corev1.ConditionTrue)(&pods[i])
			}
		}
	}
	s.Pods = pods
	return s
}

// settled is the world after the operator has done all it wants to.
func settled(g Gomega, s decide.Snapshot) decide.Snapshot {
	for range 5 {
		plan := decided(s)
		if idle(plan) {
			return s
		}
		s = apply(s, plan)
	}
	g.Expect(decided(s)).To(Satisfy(idle), "the operator must come to an end")
	return s
}

// decided is the plan about a Snapshot that tells the truth: what is not confirmed is read from the API server.
func decided(s decide.Snapshot) decide.Plan {
	plan := decide.Decide(s)
	if len(plan.Unconfirmed) == 0 {
		return plan
	}
	s.Confirmed = sets.New(plan.Unconfirmed...)
	return decide.Decide(s)
}

func idle(plan decide.Plan) bool {
	return !plan.Remove && plan.Table == nil && plan.Deployment == nil && plan.Budget == nil &&
		plan.Autoscaler == nil && !plan.Unscaled && len(plan.RefreshMounts) == 0 && len(plan.Published) == 0
}

// publish does what the controller of Services does: it lets each slice publish
// what the table says.
func publish(g Gomega, s decide.Snapshot) decide.Snapshot {
	s.Slices, s.PodSlices = publishIn(g, s, s.Slices), publishIn(g, s, s.PodSlices)
	return s
}

func publishIn(g Gomega, s decide.Snapshot, slices []discoveryv1.EndpointSlice) []discoveryv1.EndpointSlice {
	table := tableOf(g, s)
	slices = append([]discoveryv1.EndpointSlice(nil), slices...)
	for i := range slices {
		slices[i].Ports = nil
		for _, service := range s.Services {
			if service.Name != slices[i].Labels[discoveryv1.LabelServiceName] {
				continue
			}
			for _, p := range service.Spec.Ports {
				if number, found := table.Find(service.Name, p.Name); found {
					publishes(p.Name, number)(&slices[i])
				}
			}
		}
	}
	return slices
}

func tableOf(g Gomega, s decide.Snapshot) *listener.Table {
	if s.Table == nil {
		return &listener.Table{}
	}
	table, err := listener.Parse([]byte(s.Table.Data[listener.Key]))
	g.Expect(err).NotTo(HaveOccurred())
	return table
}

// numbers is a table as texts, "number service/port", which a failed test shows.
func numbers(table *listener.Table) []string {
	texts := []string{}
	for _, l := range table.Listeners {
		texts = append(texts, fmt.Sprintf("%d %s/%s", l.Port, l.Service, l.PortName))
	}
	return texts
}

// write replaces the table as the operator has recorded it.
func write(s decide.Snapshot, data string) decide.Snapshot {
	s.Table = s.Table.DeepCopy()
	s.Table.Data = map[string]string{listener.Key: data}
	return s
}

// responderPod adds a Pod of the responder whose containers are ready and whose
// readiness gate is closed, with the address 10.0.0.<number>.
func responderPod(name string, number int, changes ...func(*corev1.Pod)) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		added := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: namespace, UID: types.UID("uid-" + name),
				Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderServer},
			},
			Spec: corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: criticalv2.ConditionPublished}}},
			Status: corev1.PodStatus{
				PodIPs:     []corev1.PodIP{{IP: fmt.Sprint("10.0.0.", number)}},
				Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}},
			},
		}
		for _, change := range changes {
			change(&added)
		}
		s.Pods = append(s.Pods, added)
	}
}

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for i := range pod.Status.Conditions {
			if pod.Status.Conditions[i].Type == kind {
				pod.Status.Conditions[i].Status = status
				return
			}
		}
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status})
	}
}

// lists makes a slice publish a Pod under the address 10.0.0.<number>.
func lists(pod string, number int) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) {
		s.AddressType = discoveryv1.AddressTypeIPv4
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprint("10.0.0.", number)}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pod, UID: types.UID("uid-" + pod)},
		})
	}
}

// podSlice adds the slice that publishes a Pod for a Service.
func podSlice(service, pod string, number int, changes ...func(*discoveryv1.EndpointSlice)) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		added := discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
			Name: service + "-standby-" + pod, Namespace: namespace,
			Labels:          map[string]string{discoveryv1.LabelServiceName: service, criticalv2.LabelStandbyPod: "uid-" + pod},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID("uid-" + pod), Controller: new(true)}},
		}}
		lists(pod, number)(&added)
		for _, change := range changes {
			change(&added)
		}
		s.PodSlices = append(s.PodSlices, added)
	}
}
