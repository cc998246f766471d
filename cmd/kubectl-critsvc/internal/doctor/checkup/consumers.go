package checkup

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

const (
	checkConsumer = "consumer"
	checkTraffic  = "traffic-policy"
	checkAddress  = "address"
)

// Path is how a consumer of endpoints comes to the fallback; docs/consumers.md says
// how each is known.
type Path string

const (
	// AtOnce: it uses the standby by itself.
	AtOnce Path = "at once"
	// Promoted: it waits until the operator has promoted the standby.
	Promoted Path = "when the operator has promoted it"
	// Unknown: it was neither tested nor read.
	Unknown Path = "in a way that is not known"
)

// consumer is an ingress controller or a gateway that reads endpoints.
type consumer struct {
	name string
	path Path
	// upstream is the annotation by which it uses the ClusterIP or the NodePort, and
	// with it the standby at once; onService says where it is set. Its value is "true"
	// unless value says otherwise.
	upstream, value string
	onService       bool
}

// consumersByController are those that are known, by the beginning of the name by
// which an IngressClass or a GatewayClass calls its controller.
var consumersByController = map[string]consumer{
	"k8s.io/ingress-nginx":                          {name: "ingress-nginx", path: Promoted, upstream: "nginx.ingress.kubernetes.io/service-upstream"},
	"traefik.io/ingress-controller":                 {name: "Traefik", path: Promoted, upstream: "traefik.ingress.kubernetes.io/service.nativelb", onService: true},
	"haproxy-ingress.github.io/controller":          {name: "HAProxy Ingress", path: Promoted, upstream: "haproxy-ingress.github.io/service-upstream", onService: true},
	"projectcontour.io/":                            {name: "Contour", path: Promoted},
	"istio.io/":                                     {name: "Istio", path: Promoted},
	"ingress.k8s.aws/alb":                           {name: "AWS Load Balancer Controller", path: Promoted, upstream: "alb.ingress.kubernetes.io/target-type", value: "instance"},
	"traefik.io/gateway-controller":                 {name: "Traefik", path: Promoted},
	"gateway.envoyproxy.io/gatewayclass-controller": {name: "Envoy Gateway", path: Unknown},
}

func (c consumer) wanted() string { return cmp.Or(c.value, "true") }

func consumerOf(controller string) consumer {
	for _, prefix := range slices.Sorted(maps.Keys(consumersByController)) {
		if strings.HasPrefix(controller, prefix) {
			return consumersByController[prefix]
		}
	}
	if controller == "" {
		return consumer{name: "a controller that is not known", path: Unknown}
	}
	return consumer{name: controller, path: Unknown}
}

// atOnce is the finding of clients that do not wait for the operator. Where nothing is
// known to stand by, there is none.
func atOnce(s *Service, what string) []Finding {
	if !s.hasStandby() {
		return nil
	}
	return ok(checkConsumer, what)
}

// clusterIP reports how clients inside the cluster fail over.
func clusterIP(_ *World, s *Service) []Finding {
	if s.headless() {
		return []Finding{{
			Check: checkConsumer, Severity: Warning, What: "the Service is headless: its clients find Pods by DNS, and dial the target port itself",
			Why: "DNS gives the fallback's address only when the operator has promoted it, and up to 30 s later; only a podTemplate that listens on the target port can answer",
			Fix: "keep two replicas of the operator; give clients that must fail over at once a Service with a ClusterIP",
		}}
	}
	return atOnce(s, "clients of the ClusterIP fail over at once, through kube-proxy or Cilium")
}

// loadBalancer reports how clients outside the cluster fail over.
func loadBalancer(w *World, s *Service) []Finding {
	switch {
	case s.Spec.Type == corev1.ServiceTypeNodePort:
		return atOnce(s, "clients of the NodePort fail over at once, through kube-proxy or Cilium")
	case s.Spec.Type != corev1.ServiceTypeLoadBalancer:
		return nil
	}
	direct := map[string]func(string) bool{
		"service.beta.kubernetes.io/aws-load-balancer-nlb-target-type": func(v string) bool { return v == "ip" || v == "nlb-ip" },
		"service.beta.kubernetes.io/aws-load-balancer-type":            func(v string) bool { return v == "nlb-ip" },
		"cloud.google.com/neg": func(v string) bool { return v != "" },
	}
	for _, key := range slices.Sorted(maps.Keys(direct)) {
		if value, found := s.Annotations[key]; found && direct[key](value) {
			return needsPromotion(w, fmt.Sprintf("the load balancer sends to Pods (annotation %s): it reaches the fallback %s", key, Promoted), "")
		}
	}
	return atOnce(s, "the load balancer sends to nodes: its clients fail over at once, through kube-proxy or Cilium")
}

// needsPromotion is the finding of a consumer that waits for the operator: all is
// well while there is an operator in reserve.
func needsPromotion(w *World, what, alternative string) []Finding {
	if len(w.Operators.Value) == 1 && ptr.Deref(w.Operators.Value[0].Spec.Replicas, 1) > 1 {
		return ok(checkConsumer, what)
	}
	fix := "set 2 replicas of the operator, so that one is always there"
	if alternative != "" {
		fix += "; or " + alternative
	}
	return []Finding{{Check: checkConsumer, Severity: Warning, What: what, Why: "its clients wait for an operator that runs, and there is only one replica, or none, or it was not found", Fix: fix}}
}

// localPolicies looks for traffic policies that use endpoints of one node only.
func localPolicies(_ *World, s *Service) []Finding {
	var policies []string
	if ptr.Deref(s.Spec.InternalTrafficPolicy, "") == corev1.ServiceInternalTrafficPolicyLocal {
		policies = append(policies, "internalTrafficPolicy")
	}
	if s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		policies = append(policies, "externalTrafficPolicy")
	}
	if len(policies) == 0 || !s.hasStandby() {
		return nil
	}
	standing := nodesOf(s, endpoints.Fallback)
	var bare []string
	for node := range nodesOf(s, endpoints.Application) {
		if !standing[node] {
			bare = append(bare, node)
		}
	}
	slices.Sort(bare)
	what := strings.Join(policies, " and ") + " Local"
	if len(bare) == 0 {
		return ok(checkTraffic, what+": every node that has Pods of the application has a standby")
	}
	return []Finding{{
		Check: checkTraffic, Severity: Warning, What: fmt.Sprintf("%s: no standby is on %s, where Pods of the application are", what, strings.Join(bare, ", ")),
		Why: "clients that come through these nodes get no answer in an outage, promoted or not", Fix: "use the policy Cluster, or raise the replicas of the page until every such node has one",
	}}
}

func nodesOf(s *Service, source endpoints.Source) map[string]bool {
	nodes := map[string]bool{}
	for _, endpoint := range s.endpoints() {
		if endpoint.Source == source && endpoint.Node != "" {
			nodes[endpoint.Node] = true
		}
	}
	return nodes
}

// addresses reports what else of a Service changes how clients fail over.
func addresses(_ *World, s *Service) []Finding {
	var findings []Finding
	if s.Spec.PublishNotReadyAddresses {
		findings = append(findings, Finding{
			Check: checkAddress, Severity: Warning, What: "publishNotReadyAddresses is set: Pods that are not ready count as ready endpoints",
			Why: "the fallback answers only when all Pods are gone, not when all are broken", Fix: "unset publishNotReadyAddresses, or move what needs it to a headless Service of its own",
		})
	}
	if s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		findings = append(findings, ok(checkAddress, "sessionAffinity ClientIP: a client that met the fallback may stay with it until the operator has demoted it")...)
	}
	return findings
}

// ingresses reports how clients of each Ingress fail over.
func ingresses(w *World, s *Service) []Finding {
	if s.Home.Ingresses.Problem != "" {
		return unchecked(checkConsumer, "Ingresses: "+s.Home.Ingresses.Problem, "run it with the right to list ingresses in the namespace")
	}
	var findings []Finding
	for _, ingress := range s.Home.Ingresses.Value {
		if !routesTo(ingress, s.Name) {
			continue
		}
		if w.Classes.Problem != "" {
			findings = append(findings, unchecked(checkConsumer, fmt.Sprintf("the controller of Ingress %s: %s", ingress.Name, w.Classes.Problem), "run it with the right to list ingressclasses")...)
			continue
		}
		findings = append(findings, ingressFinding(w, s, ingress)...)
	}
	return findings
}

func ingressFinding(w *World, s *Service, ingress networkingv1.Ingress) []Finding {
	class, controller := classOf(w, ingress)
	by := consumerOf(controller)
	intro := fmt.Sprintf("Ingress %s (class %s, %s)", ingress.Name, class, by.name)
	holder := ingress.Annotations
	place := "Ingress " + ingress.Name
	if by.onService {
		holder, place = s.Annotations, "Service "+s.Name
	}
	switch {
	case by.upstream != "" && holder[by.upstream] == by.wanted():
		return atOnce(s, intro+" sends to the Service, and not to its endpoints: its clients fail over at once")
	case by.path == Unknown:
		return unknownPath(intro)
	}
	alternative := ""
	if by.upstream != "" {
		alternative = fmt.Sprintf(`set the annotation %s: %q on %s, so that it sends to the Service (it then no longer balances by itself)`, by.upstream, by.wanted(), place)
	}
	return needsPromotion(w, fmt.Sprintf("%s reaches the fallback %s", intro, by.path), alternative)
}

func unknownPath(intro string) []Finding {
	return []Finding{{
		Check: checkConsumer, Severity: Warning, What: fmt.Sprintf("%s reaches the fallback %s", intro, Unknown),
		Why: "most such programs read ready endpoints only, and see the fallback when the operator has promoted it; this one is untested",
		Fix: "try it: kubectl critsvc drill --live; " + output.Docs + "consumers.md lists those that are known",
	}}
}

// classOf is the class of an Ingress, and the controller that serves it.
func classOf(w *World, ingress networkingv1.Ingress) (class, controller string) {
	const oldAnnotation, defaultAnnotation = "kubernetes.io/ingress.class", "ingressclass.kubernetes.io/is-default-class"
	class = ptr.Deref(ingress.Spec.IngressClassName, ingress.Annotations[oldAnnotation])
	for _, candidate := range w.Classes.Value {
		if candidate.Name == class || class == "" && candidate.Annotations[defaultAnnotation] == "true" {
			return candidate.Name, candidate.Spec.Controller
		}
	}
	if class == "" {
		return "none", ""
	}
	return class, ""
}

func routesTo(ingress networkingv1.Ingress, service string) bool {
	leads := func(backend *networkingv1.IngressBackend) bool {
		return backend != nil && backend.Service != nil && backend.Service.Name == service
	}
	if leads(ingress.Spec.DefaultBackend) {
		return true
	}
	return slices.ContainsFunc(ingress.Spec.Rules, func(rule networkingv1.IngressRule) bool {
		return rule.HTTP != nil && slices.ContainsFunc(rule.HTTP.Paths, func(path networkingv1.HTTPIngressPath) bool { return leads(&path.Backend) })
	})
}

// routes reports how clients of each route of the Gateway API fail over.
func routes(w *World, s *Service) []Finding {
	var findings []Finding
	if w.Routes.Problem != "" {
		findings = append(findings, unchecked(checkConsumer, "routes of the Gateway API: "+w.Routes.Problem, "run it with the right to list them")...)
	}
	for _, route := range w.Routes.Value {
		if !slices.Contains(route.Backends, s.Namespace+"/"+s.Name) {
			continue
		}
		for _, parent := range route.Parents {
			by := consumerOf(gatewayController(w, parent))
			intro := fmt.Sprintf("%s %s/%s (Gateway %s, %s)", route.Kind, route.Namespace, route.Name, parent, by.name)
			if by.path == Unknown {
				findings = append(findings, unknownPath(intro)...)
				continue
			}
			findings = append(findings, needsPromotion(w, fmt.Sprintf("%s reaches the fallback %s", intro, by.path), "")...)
		}
	}
	return findings
}

func gatewayController(w *World, name string) string {
	for _, gateway := range w.Gateways.Value {
		if gateway.Namespace+"/"+gateway.Name == name {
			return gateway.Controller
		}
	}
	return ""
}
