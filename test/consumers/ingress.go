//go:build linux

package consumers

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ingress routes a host through the proxy to the first port of a Service.
func (p *Proxy) Ingress(service *corev1.Service) (ingress *networkingv1.Ingress, host string) {
	host = service.Name + "." + p.IngressClass + ".example"
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: service.Name, Port: networkingv1.ServiceBackendPort{Number: service.Spec.Ports[0].Port},
	}}
	paths := []networkingv1.HTTPIngressPath{{
		Path: "/", PathType: new(networkingv1.PathTypePrefix), Backend: backend,
	}}
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name + "-" + p.IngressClass},
		Spec: networkingv1.IngressSpec{
			IngressClassName: &p.IngressClass,
			Rules: []networkingv1.IngressRule{{
				Host:             host,
				IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: paths}},
			}},
		},
	}, host
}

// Class is the IngressClass that the proxy serves.
func (p *Proxy) Class() *networkingv1.IngressClass {
	return &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: p.IngressClass},
		Spec:       networkingv1.IngressClassSpec{Controller: p.Controller},
	}
}
