package checkup

import (
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
	"github.com/critical-service/operator/internal/protection"
)

// World is what was read of a cluster, at one moment.
type World struct {
	// Now is that moment.
	Now time.Time
	// PluginVersion is the build that checks.
	PluginVersion string
	// ServerVersion is the API server's, for example "v1.37.1".
	ServerVersion Reading[string]
	// WindowsNodes is how many nodes run Windows.
	WindowsNodes Reading[int]

	// APIs are those of the workloads operator that are turned on.
	APIs Reading[[]API]

	// Definition is that of CriticalServices.
	Definition Reading[*apiextensionsv1.CustomResourceDefinition]
	// Undefined are the CustomResourceDefinitions of the other kinds that do not exist.
	Undefined []string
	// Operators are the Deployments of the operator: one, where all is well.
	Operators Reading[[]appsv1.Deployment]
	// Settings are the operator's, by their variables, so far as they could be read.
	Settings map[string]string
	Webhook  Reading[*admissionregistrationv1.ValidatingWebhookConfiguration]
	// Served is the certificate with which the operator answers the API server.
	Served Reading[Certificate]
	// Needs are the operator's permissions, and whether it has them.
	Needs Reading[[]Need]

	// Policies are those that could be read; the Problem is why others could not.
	Policies   Reading[[]criticalv2.Policy]
	Classes    Reading[[]networkingv1.IngressClass]
	Gateways   Reading[[]Gateway]
	Routes     Reading[[]Route]
	Namespaces []*Namespace
	Services   []*Service
	// Listed reports whether the Services to check could be listed.
	Listed Reading[bool]
}

// Reading is something that was to be read.
type Reading[T any] struct {
	Value T
	// Missing means that it does not exist.
	Missing bool
	// Problem says why it could not be read; empty if it was.
	Problem string
}

// Certificate is one that a server presented.
type Certificate struct {
	NotAfter time.Time
	// Untrusted says why the API server does not trust it; empty if it does.
	Untrusted string
}

// Need is a permission that the operator does not work without.
type Need struct {
	Verb, Group, Resource, Subresource, Name, Namespace string
	// For says what it is needed for.
	For string
	// Allowed is the API server's answer.
	Allowed bool
}

// Namespace is what the protected Services of a namespace share.
type Namespace struct {
	Name   string
	Labels map[string]string

	Responder       Reading[*appsv1.Deployment]
	NetworkPolicies Reading[[]networkingv1.NetworkPolicy]
	Budgets         Reading[[]policyv1.PodDisruptionBudget]
	Quotas          Reading[[]corev1.ResourceQuota]
	Ingresses       Reading[[]networkingv1.Ingress]
	// Fallbacks are the Pods that stand in for Services of the namespace.
	Fallbacks Reading[[]corev1.Pod]
}

// Service is a Service that is checked.
type Service struct {
	corev1.Service
	Home   *Namespace
	Slices Reading[[]discoveryv1.EndpointSlice]
	// Answers are those of the standby endpoints.
	Answers []Answer
	// Template is the PodTemplate of the fallback, where it has one.
	Template Reading[*corev1.PodTemplate]
	// Admission is why the API server would refuse a Pod of the template: empty if it
	// would admit it.
	Admission Reading[string]
}

// Answer is that of one port of one standby endpoint.
type Answer struct {
	// Port is the name or number of the Service's port.
	Port, Pod, Protocol string
	Answered            bool
	// Status is what was answered; Problem is why nothing was.
	Status, Problem string
	// Unchecked says why the endpoint was not asked; empty if it was.
	Unchecked string
}

// Gateway is a Gateway of the Gateway API, and the controller that serves it.
type Gateway struct {
	Namespace, Name, Controller string
}

// Route is a route of the Gateway API.
type Route struct {
	Kind, Namespace, Name string
	// Backends and Parents are "NAMESPACE/NAME" of Services and Gateways.
	Backends, Parents []string
}

// Governor is the policy that governs a Service; nil if none does that could be read.
func (w *World) Governor(service *Service) criticalv2.Policy {
	if matching := access.Matching(w.Policies.Value, &service.Service, service.Home.Labels); len(matching) > 0 {
		return matching[0]
	}
	return nil
}

// governor is the same, with its status of the Service.
func (w *World) governor(service *Service) (policy criticalv2.Policy, status *criticalv2.ServiceStatus) {
	if policy = w.Governor(service); policy == nil {
		return nil, nil
	}
	return policy, policy.Observed().DetailOf(service.Namespace, service.Name)
}

// standbys are the slices that the operator publishes for the Service.
func (s *Service) standbys() []discoveryv1.EndpointSlice {
	var found []discoveryv1.EndpointSlice
	for i := range s.Slices.Value {
		if protection.IsStandby(&s.Slices.Value[i]) {
			found = append(found, s.Slices.Value[i])
		}
	}
	return found
}

// endpoints are those behind the Service, each with its owner.
func (s *Service) endpoints() []endpoints.Endpoint {
	return endpoints.Of(&s.Service, s.Slices.Value, s.Home.Fallbacks.Value)
}

func (s *Service) headless() bool { return s.Spec.ClusterIP == corev1.ClusterIPNone }

// hasStandby reports whether something stands by for the Service, at any port.
func (s *Service) hasStandby() bool {
	return slices.ContainsFunc(s.standbys(), func(slice discoveryv1.EndpointSlice) bool { return len(slice.Endpoints) > 0 })
}

// onDemand reports whether the fallback is made in an outage only.
func onDemand(policy criticalv2.Policy) bool {
	template := policy.Protection().Fallback.PodTemplate
	return template != nil && template.Activation != criticalv2.ActivationStandby
}
