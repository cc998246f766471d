package world

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/test/scorecard/verdict"
)

// PagePolicy is a CriticalService whose page answers for the Services of the test.
func (w *World) PagePolicy() *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: w.Namespace},
		Spec: criticalv2.CriticalServiceSpec{
			Namespaces:      []string{w.Namespace},
			ServiceSelector: metav1.LabelSelector{MatchLabels: w.Selector()},
			ProtectionSpec:  criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{Message: w.Message(), Replicas: new(int32(1))}}},
		},
	}
}

// AwaitState waits until a CriticalService says that a Service is in a state.
func (w *World) AwaitState(ctx context.Context, policy *criticalv2.CriticalService, service string, state criticalv2.ServiceState) error {
	return w.Await(ctx, fmt.Sprintf("a status that says %s of Service %s", state, service), func(ctx context.Context) (Observation, error) {
		var now criticalv2.CriticalService
		if err := w.Get(ctx, client.ObjectKeyFromObject(policy), &now); err != nil {
			return Observation{}, err
		}
		if err := watched(&now); err != nil {
			return Observation{}, err
		}
		for _, detail := range now.Status.Details {
			if detail.Namespace == w.Namespace && detail.Name == service {
				return Observation{
					Done:       detail.State == state,
					Text:       fmt.Sprintf("the Service is %s, %s: %s", detail.State, detail.Reason, detail.Message),
					Suggestion: fmt.Sprintf("Look up the reason %s in docs/spec/criticalservice.md and docs/runbooks. %s", detail.Reason, w.OperatorLog()),
				}, nil
			}
		}
		return Observation{Text: "the status does not name the Service", Suggestion: w.OperatorLog()}, nil
	})
}

// watched fails where the operator looks at other namespaces only.
func watched(policy *criticalv2.CriticalService) error {
	ready := meta.FindStatusCondition(policy.Status.Conditions, criticalv2.ConditionReady)
	if ready == nil || ready.Reason != criticalv2.ConditionReasonNamespaceNotWatched {
		return nil
	}
	return verdict.Prevented("Let the operator look at all namespaces while scorecard runs: leave its setting NAMESPACES empty "+
		"(docs/settings.md). The tests make namespaces of their own, so that they touch no Services of yours.",
		"the operator does not look at the namespace of the test: %s", ready.Message)
}

// Standbys are the operator's slices for a Service.
func (w *World) Standbys(ctx context.Context, service string) ([]discoveryv1.EndpointSlice, error) {
	var found discoveryv1.EndpointSliceList
	err := w.List(ctx, &found, client.InNamespace(w.Namespace),
		client.MatchingLabels{discoveryv1.LabelManagedBy: criticalv2.ManagedBy, discoveryv1.LabelServiceName: service})
	if err != nil {
		return nil, fmt.Errorf("list the EndpointSlices of Service %s: %w", service, err)
	}
	return found.Items, nil
}

// Two ways in which an endpoint of a fallback is published.
const (
	// Standby is what proxies use only while the Service has no ready endpoint.
	Standby = "ready=false serving=true terminating=true"
	// Promoted is an endpoint like any other.
	Promoted = "ready=true serving=true terminating=false"
)

// AwaitSlice waits until all endpoints of the fallback are published in one of the two ways.
func (w *World) AwaitSlice(ctx context.Context, service, way string) error {
	awaited := fmt.Sprintf("an EndpointSlice of the operator's for Service %s with endpoints %s", service, way)
	return w.Await(ctx, awaited, func(ctx context.Context) (Observation, error) {
		found, err := w.Standbys(ctx, service)
		if err != nil {
			return Observation{}, err
		}
		observation := Observation{
			Text: "the operator has published no endpoint",
			Suggestion: "May the operator write EndpointSlices? kubectl auth can-i create endpointslices.discovery.k8s.io --all-namespaces " +
				"--as system:serviceaccount:NAMESPACE:critical-service-operator. " + w.OperatorLog(),
		}
		var ways []string
		for _, slice := range found {
			for _, endpoint := range slice.Endpoints {
				ways = append(ways, wayOf(endpoint))
				observation.Text = fmt.Sprintf("%d EndpointSlices of the operator's, with endpoints %s", len(found), strings.Join(ways, ", "))
			}
		}
		observation.Done = len(ways) > 0 && !slices.ContainsFunc(ways, func(seen string) bool { return seen != way })
		return observation, nil
	})
}

func wayOf(endpoint discoveryv1.Endpoint) string {
	ready := protection.IsReady(&endpoint)
	return fmt.Sprintf("ready=%t serving=%t terminating=%t",
		ready, ptr.Deref(endpoint.Conditions.Serving, ready), ptr.Deref(endpoint.Conditions.Terminating, false))
}

// BelongToPods checks that what is published are Pods of the Service's own namespace, and nothing else.
func (w *World) BelongToPods(ctx context.Context, service string) error {
	found, err := w.Standbys(ctx, service)
	if err != nil {
		return err
	}
	pods, err := w.Pods(ctx, criticalv2.LabelFallbackFor)
	if err != nil {
		return err
	}
	pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return !protection.IsOurs(&pod) })
	var addresses []string
	for _, pod := range pods {
		for _, ip := range pod.Status.PodIPs {
			addresses = append(addresses, ip.IP)
		}
	}
	for _, slice := range found {
		for _, endpoint := range slice.Endpoints {
			for _, address := range endpoint.Addresses {
				if !slices.ContainsFunc(addresses, func(of string) bool { return net.ParseIP(of).Equal(net.ParseIP(address)) }) {
					return verdict.Failed("This is a defect of the operator: please report it, with the evidence of this test.",
						"EndpointSlice %s publishes %s, which is not the address of a fallback's Pod in namespace %s", slice.Name, address, w.Namespace)
				}
			}
		}
	}
	w.Journal.Say("What is published are %d Pods of the namespace.", len(pods))
	return nil
}
