package render_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

func TestPortMismatches(t *testing.T) {
	container := func(ports ...corev1.ContainerPort) corev1.PodSpec {
		return corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Ports: ports}}}
	}
	number := func(port int32) corev1.ContainerPort { return corev1.ContainerPort{ContainerPort: port} }
	tests := map[string]struct {
		ports []corev1.ServicePort
		spec  corev1.PodSpec
		want  []string
	}{
		"a template without ports is trusted with a numeric target port": {
			ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
			spec:  container(),
		},
		"a template without ports cannot have a named target port": {
			ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}},
			spec:  container(),
			want:  []string{"port 80/TCP dials targetPort http, but the template declares no port"},
		},
		"an unset target port is the Service's own port": {
			ports: []corev1.ServicePort{{Port: 80}},
			spec:  container(number(80)),
		},
		"a declared port that is not the target port names both": {
			ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
			spec:  container(number(80)),
			want:  []string{"port 80/TCP dials targetPort 8080, but the template declares only 80/TCP"},
		},
		"a named target port is found by its name, whatever its number": {
			ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}},
			spec:  container(corev1.ContainerPort{Name: "http", ContainerPort: 3000}),
		},
		"a port of another protocol does not serve": {
			ports: []corev1.ServicePort{{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}},
			spec:  container(number(53)),
			want:  []string{"port 53/UDP (dns) dials targetPort 53, but the template declares only 53/TCP"},
		},
		"a sidecar's port counts": {
			ports: []corev1.ServicePort{{Port: 80}},
			spec: corev1.PodSpec{InitContainers: []corev1.Container{{
				RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways), Ports: []corev1.ContainerPort{number(80)},
			}}},
		},
		"the port of an init container that ends does not count": {
			ports: []corev1.ServicePort{{Port: 80}},
			spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Ports: []corev1.ContainerPort{number(80)}}},
				Containers:     []corev1.Container{{Ports: []corev1.ContainerPort{number(81)}}},
			},
			want: []string{"port 80/TCP dials targetPort 80, but the template declares only 81/TCP"},
		},
		"of several ports only those that are missing are named": {
			ports: []corev1.ServicePort{{Name: "web", Port: 80}, {Name: "tls", Port: 443}},
			spec:  container(number(80), corev1.ContainerPort{Name: "admin", ContainerPort: 9000}),
			want:  []string{"port 443/TCP (tls) dials targetPort 443, but the template declares only 80/TCP, 9000/TCP (admin)"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: test.ports}}
			template := &corev1.PodTemplate{Template: corev1.PodTemplateSpec{Spec: test.spec}}

			var got []string
			for _, mismatch := range render.PortMismatches(service, template) {
				got = append(got, mismatch.String())
			}

			NewWithT(t).Expect(got).To(Equal(test.want))
		})
	}
}
