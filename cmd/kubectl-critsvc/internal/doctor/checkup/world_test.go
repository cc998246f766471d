package checkup

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// authority is a caBundle that is valid until a moment.
func authority(g Gomega, until time.Time) []byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.AddDate(-1, 0, 0), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func deployment(namespace, name, container, image string, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: image}}}},
		},
		Status: appsv1.DeploymentStatus{AvailableReplicas: replicas},
	}
}

const image = "registry.example.com/operator:v1.4.2"

// good is a world in which nothing is to be done: a Service with one port, a page,
// and two replicas of everything.
func good(t *testing.T) *World {
	t.Helper()
	g := NewWithT(t)
	bundle := authority(g, now.AddDate(1, 0, 0))
	home := &Namespace{Name: "shop"}
	home.Responder.Value = deployment("shop", criticalv2.ResponderName, "responder", image, 2)
	home.Fallbacks.Value = []corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "responder-1", Labels: map[string]string{
			criticalv2.LabelResponder: criticalv2.ResponderServer, criticalv2.LabelFallbackFor: "",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 20001}}}}},
	}}
	service := &Service{Home: home, Service: corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front", Labels: map[string]string{"role": "front"}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.1", Selector: map[string]string{"app": "front"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}}
	service.Slices.Value = []discoveryv1.EndpointSlice{
		{
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}, NodeName: new("node-a")}},
			Ports:     []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}},
		},
		{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
				discoveryv1.LabelManagedBy: criticalv2.ManagedBy, discoveryv1.LabelServiceName: "front", criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage,
			}},
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{"10.1.0.2"}, NodeName: new("node-a"), TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "responder-1"},
			}},
			Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(20001))}},
		},
	}
	service.Answers = []Answer{{Port: "http", Pod: "responder-1", Protocol: "http", Answered: true, Status: "503"}}
	w := &World{
		Now: now, PluginVersion: "1.4.0",
		ServerVersion: Reading[string]{Value: "v1.37.1"},
		Namespaces:    []*Namespace{home}, Services: []*Service{service},
	}
	w.Definition.Value = &apiextensionsv1.CustomResourceDefinition{
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true}, {Name: "v2", Served: true, Storage: true}},
			Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: bundle}},
			},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			StoredVersions: []string{"v2"},
			Conditions:     []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}},
		},
	}
	w.Webhook.Value = &admissionregistrationv1.ValidatingWebhookConfiguration{
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: bundle}}},
	}
	w.Served.Value = Certificate{NotAfter: now.AddDate(0, 0, 5)}
	w.Operators.Value = []appsv1.Deployment{*deployment("critical-service-system", "critical-service-operator", managerContainer, image, 2)}
	w.Needs.Value = Needs("critical-service-system")
	for i := range w.Needs.Value {
		w.Needs.Value[i].Allowed = true
	}
	w.Policies.Value = []criticalv2.Policy{policy("front")}
	return w
}

func policy(name string) *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: criticalv2.CriticalServiceSpec{
			ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "front"}},
			ProtectionSpec:  criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{}}},
		},
		Status: criticalv2.ProtectionStatus{
			Conditions: []metav1.Condition{
				{Type: criticalv2.ConditionReady, Status: metav1.ConditionTrue},
			},
			Details: []criticalv2.ServiceStatus{{
				Namespace: "shop", Name: "front", State: criticalv2.StateArmed, Reason: criticalv2.ReasonStandbyReady,
				Failover: &criticalv2.Failover{
					Status: metav1.ConditionTrue, Reason: criticalv2.ConditionReasonStandbyAnswers, Message: "The standby answers on every port.",
				},
			}},
		},
	}
}

// withTemplate gives the world a fallback of a PodTemplate.
func (w *World) withTemplate(activation criticalv2.Activation) *Service {
	w.Policies.Value[0].Protection().Fallback = criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{Activation: activation}}
	service := w.Services[0]
	service.Template.Value = &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "critical-service-system", Name: "spare"}}
	return service
}
