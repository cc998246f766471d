package render_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/protection"
)

func TestPodPorts(t *testing.T) {
	web := func(port int32) corev1.ContainerPort { return corev1.ContainerPort{Name: "web", ContainerPort: port} }
	tests := map[string]struct {
		ports    []corev1.ServicePort
		declared []corev1.ContainerPort
		headless bool
		want     []string
		missing  int
	}{
		"a numeric target port that is declared": {
			ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}}, declared: []corev1.ContainerPort{web(8080)},
			want: []string{"http=8080"},
		},
		"a named target port has the number of the Pod, whatever the application's is": {
			ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("web")}}, declared: []corev1.ContainerPort{web(3000)},
			want: []string{"http=3000"},
		},
		"a container port with the name of the Service's port": {
			ports:    []corev1.ServicePort{{Name: "web", Port: 80, TargetPort: intstr.FromInt32(8080)}, {Name: "admin", Port: 81}},
			declared: []corev1.ContainerPort{web(3000), {Name: "admin", ContainerPort: 3001}},
			want:     []string{"web=3000", "admin=3001"},
		},
		"the only port of both": {
			ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}}, declared: []corev1.ContainerPort{web(3000)},
			want: []string{"http=3000"},
		},
		"a template without ports is trusted with a numeric target port": {
			ports: []corev1.ServicePort{{Name: "http", Port: 80}}, want: []string{"http=80"},
		},
		"of several ports the one that nothing serves is missing": {
			ports:    []corev1.ServicePort{{Name: "web", Port: 80}, {Name: "admin", Port: 81}},
			declared: []corev1.ContainerPort{web(3000)}, want: []string{"web=3000"}, missing: 1,
		},
		"the only port of another protocol does not serve": {
			ports: []corev1.ServicePort{{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}}, declared: []corev1.ContainerPort{web(53)}, missing: 1,
		},
		"clients of a headless Service dial the target port itself": {
			ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}}, declared: []corev1.ContainerPort{web(3000)},
			headless: true, missing: 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: test.ports}}
			if test.headless {
				service.Spec.ClusterIP = corev1.ClusterIPNone
			}
			ports, missing := render.PodPorts(service, &corev1.PodSpec{Containers: []corev1.Container{{Ports: test.declared}}})
			var got []string
			for _, port := range ports {
				got = append(got, fmt.Sprintf("%s=%d", *port.Name, *port.Port))
			}
			g.Expect(got).To(Equal(test.want))
			g.Expect(missing).To(HaveLen(test.missing))
		})
	}
}

func TestWhatOthersWroteOnASliceStays(t *testing.T) {
	g := NewWithT(t)
	existing := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		UID: "uid", ResourceVersion: "7",
		Labels:      map[string]string{"theirs": "stays", corev1.IsHeadlessService: "goes"},
		Annotations: map[string]string{"theirs": "stays", criticalv2.AnnotationPage: "changes", criticalv2.AnnotationOutageSince: "goes"},
	}}
	before := existing.DeepCopy()
	wanted := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Labels:      map[string]string{criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage},
		Annotations: map[string]string{criticalv2.AnnotationPage: "{}"},
	}}

	updated := render.Updated(existing, wanted)

	g.Expect(updated.Labels).To(Equal(map[string]string{"theirs": "stays", criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage}))
	g.Expect(updated.Annotations).To(Equal(map[string]string{"theirs": "stays", criticalv2.AnnotationPage: "{}"}))
	g.Expect(updated.ResourceVersion).To(Equal("7"))
	g.Expect(existing).To(Equal(before), "the input was changed")
}

// Every CriticalService that matches the Service owns the fallback, so that it outlives the one that
// governs; who does not match any more does not.
func TestAllWhoMatchOwnTheFallback(t *testing.T) {
	g := NewWithT(t)
	named := func(name string) *criticalv2.CriticalService {
		return &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	}
	owners := func(pod *corev1.Pod) []string {
		var names []string
		for _, owner := range pod.OwnerReferences {
			names = append(names, fmt.Sprintf("%s controller=%v", owner.Name, ptr.Deref(owner.Controller, false)))
		}
		return names
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "shop"}}}
	pod := render.Pod("fallback", service, &corev1.PodTemplate{}, named("a"), criticalv2.PublishEndpointSlice, named("b"), named("c"))
	g.Expect(owners(pod)).To(Equal([]string{"a controller=true", "b controller=false", "c controller=false"}))

	pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Backup", Name: "theirs", UID: "theirs"})
	pod = render.Rebound(pod, service, named("b"), criticalv2.PublishEndpointSlice, named("c"))
	g.Expect(owners(pod)).To(Equal([]string{"b controller=true", "c controller=false", "theirs controller=false"}))
	g.Expect(protection.IsFallback(pod)).To(BeTrue())
}
