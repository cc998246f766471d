package checkup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

func TestNothingIsWrongInAGoodWorld(t *testing.T) {
	g := NewWithT(t)
	report := Examine(good(t))
	for _, finding := range report.Findings {
		g.Expect(finding.Severity).To(Equal(OK), "%+v", finding)
		g.Expect(finding.Why+finding.Fix).To(BeEmpty(), "what is fine needs no advice: %+v", finding)
	}
	g.Expect(report.Verdict).To(Equal(OK))
	g.Expect(report.Services).To(Equal(1))
	checks := map[string]bool{}
	for _, finding := range report.Findings {
		checks[finding.Check] = true
	}
	for _, check := range []string{
		checkDefinition, checkOperator, checkVersion, checkCertificate, checkPermissions, checkResponder, checkBudget,
		checkProtected, checkStandby, checkPort, checkListening, checkSelfTest, checkConsumer, checkNetworkPolicy,
	} {
		g.Expect(checks).To(HaveKey(check))
	}
}

// finding is what a case expects besides what is fine.
type finding struct {
	check    string
	severity Severity
	words    string
}

func (f finding) matcher() gomegatypes.GomegaMatcher {
	return And(HaveField("Check", f.check), HaveField("Severity", f.severity), HaveField("What", ContainSubstring(f.words)))
}

func TestWhatIsWrongIsFound(t *testing.T) {
	front := func(w *World) *Service { return w.Services[0] }
	status := func(w *World) *criticalv2.ServiceStatus { return &w.Policies.Value[0].Observed().Details[0] }
	ingress := func(w *World, class, controller string) *networkingv1.Ingress {
		w.Classes.Value = []networkingv1.IngressClass{{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: networkingv1.IngressClassSpec{Controller: controller}}}
		home := front(w).Home
		home.Ingresses.Value = []networkingv1.Ingress{{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{{
				IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
					Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "front"}},
				}}}},
			}}},
		}}
		return &home.Ingresses.Value[0]
	}
	alone := func(w *World) { w.Operators.Value[0].Spec.Replicas = new(int32(1)) }
	quota := func(w *World, name corev1.ResourceName, hard, used string) {
		front(w).Home.Quotas.Value = []corev1.ResourceQuota{{
			ObjectMeta: metav1.ObjectMeta{Name: "small"},
			Status: corev1.ResourceQuotaStatus{
				Hard: corev1.ResourceList{name: resource.MustParse(hard)}, Used: corev1.ResourceList{name: resource.MustParse(used)},
			},
		}}
	}
	tested := func(w *World, result metav1.ConditionStatus, message string) {
		reason := map[metav1.ConditionStatus]string{
			metav1.ConditionFalse: criticalv2.ConditionReasonStandbySilent, metav1.ConditionUnknown: criticalv2.ConditionReasonNotTested,
		}[result]
		w.Policies.Value[0].Observed().Details[0].Failover = &criticalv2.Failover{Status: result, Reason: reason, Message: message}
	}
	down := func(w *World) {
		front(w).Slices.Value[0].Endpoints[0].Conditions.Ready = new(false)
	}
	none := []finding(nil)
	for sentence, test := range map[string]struct {
		change func(w *World)
		want   []finding
	}{
		"no CustomResourceDefinition":        {func(w *World) { w.Definition.Missing = true }, []finding{{checkDefinition, Problem, "does not exist"}}},
		"no definition of Maintenances":      {func(w *World) { w.Undefined = []string{"maintenances.mycrd.com"} }, []finding{{checkDefinition, Problem, "maintenances.mycrd.com does not exist"}}},
		"one that does not serve v2":         {func(w *World) { w.Definition.Value.Spec.Versions[1].Served = false }, []finding{{checkDefinition, Problem, "does not serve and store"}}},
		"one that is not established":        {func(w *World) { w.Definition.Value.Status.Conditions = nil }, []finding{{checkDefinition, Problem, "not established"}}},
		"objects that may be stored as v1":   {func(w *World) { w.Definition.Value.Status.StoredVersions = []string{"v1", "v2"} }, []finding{{checkDefinition, Warning, "v1 and v2"}}},
		"one that may not be read":           {func(w *World) { w.Definition.Problem = "forbidden" }, []finding{{checkDefinition, Warning, "not checked: the CustomResourceDefinition: forbidden"}}},
		"no operator":                        {func(w *World) { w.Operators.Value, w.Needs.Missing, w.Served.Missing = nil, true, true }, []finding{{checkOperator, Problem, "no Deployment"}}},
		"an operator that is stopped":        {func(w *World) { w.Operators.Value[0].Spec.Replicas = new(int32(0)) }, []finding{{checkOperator, Problem, "scaled to 0"}}},
		"an operator that does not run":      {func(w *World) { w.Operators.Value[0].Status.AvailableReplicas = 0 }, []finding{{checkOperator, Problem, "0 of 2"}}},
		"half an operator":                   {func(w *World) { w.Operators.Value[0].Status.AvailableReplicas = 1 }, []finding{{checkOperator, Warning, "1 of 2"}}},
		"two operators":                      {func(w *World) { w.Operators.Value = append(w.Operators.Value, *w.Operators.Value[0].DeepCopy()) }, []finding{{checkOperator, Problem, "installed 2 times"}}},
		"an old Kubernetes":                  {func(w *World) { w.ServerVersion.Value = "v1.27.9" }, []finding{{checkVersion, Problem, "v1.27.9"}}},
		"a plugin of another version":        {func(w *World) { w.PluginVersion = "v1.5.0" }, []finding{{checkVersion, Warning, "plugin is v1.5.0"}}},
		"a plugin that was built for a test": {func(w *World) { w.PluginVersion = "dev" }, none},
		"nodes of Windows":                   {func(w *World) { w.WindowsNodes.Value = 2 }, []finding{{checkNodes, Warning, "2 nodes run Windows"}}},
		"an API that no one answers": {func(w *World) {
			w.APIs.Value = []API{{"v1alpha1.subresources.mycrd.com", "MissingEndpoints: no endpoints"}}
		},
			[]finding{{checkAPIs, Warning, "APIService v1alpha1.subresources.mycrd.com is not available: MissingEndpoints: no endpoints"}}},
		"an API that is answered":        {func(w *World) { w.APIs.Value = []API{{Name: "v1alpha1.subresources.mycrd.com"}} }, none},
		"APIs that may not be read":      {func(w *World) { w.APIs.Problem = "forbidden" }, []finding{{checkAPIs, Warning, "not checked"}}},
		"a responder of another version": {func(w *World) { front(w).Home.Responder.Value.Spec.Template.Spec.Containers[0].Image = "other:v1" }, []finding{{checkResponder, Warning, "other:v1"}}},
		"another image on purpose": {func(w *World) {
			front(w).Home.Responder.Value.Spec.Template.Spec.Containers[0].Image = "other:v1"
			w.Settings = map[string]string{"RESPONDER_IMAGE": "other:v1"}
		}, none},
		"a responder that does not run":        {func(w *World) { front(w).Home.Responder.Value.Status.AvailableReplicas = 0 }, []finding{{checkResponder, Problem, "0 of 2"}}},
		"no responder, though there is a page": {func(w *World) { front(w).Home.Responder = Reading[*appsv1.Deployment]{Missing: true} }, []finding{{checkResponder, Problem, "no Deployment"}}},
		"an empty caBundle": {func(w *World) { w.Definition.Value.Spec.Conversion.Webhook.ClientConfig.CABundle = nil },
			[]finding{{checkCertificate, Problem, "conversion of CriticalServices is not valid: it holds no certificate"}}},
		"a caBundle that has ended": {func(w *World) {
			w.Webhook.Value.Webhooks[0].ClientConfig.CABundle = authority(NewWithT(t), now.Add(-time.Hour))
		},
			[]finding{{checkCertificate, Warning, "validation of CriticalServices ended"}}},
		"a caBundle that ends soon": {func(w *World) {
			w.Definition.Value.Spec.Conversion.Webhook.ClientConfig.CABundle = authority(NewWithT(t), now.Add(24*time.Hour))
		}, []finding{{checkCertificate, Warning, "conversion of CriticalServices ends at 2026-01-03"}}},
		"no conversion, hence no caBundle": {func(w *World) {
			w.Definition.Value.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
		}, none},
		"a certificate that is not trusted": {func(w *World) { w.Served.Value.Untrusted = "signed by an unknown authority" }, []finding{{checkCertificate, Problem, "signed by an unknown authority"}}},
		"a certificate that ends today":     {func(w *World) { w.Served.Value.NotAfter = now.Add(time.Hour) }, []finding{{checkCertificate, Warning, "ends at"}}},
		"a permission that is missing":      {func(w *World) { w.Needs.Value[0].Allowed = false }, []finding{{checkPermissions, Problem, "may not: get services"}}},
		"no right to run fallback Pods": {func(w *World) {
			for i := range w.Needs.Value {
				w.Needs.Value[i].Allowed = w.Needs.Value[i].For != runPods
			}
		}, none},
		"half of the right to run fallback Pods": {func(w *World) {
			for i := range w.Needs.Value {
				w.Needs.Value[i].Allowed = w.Needs.Value[i].For != runPods || w.Needs.Value[i].Verb != "delete"
			}
		}, []finding{{checkPermissions, Problem, "may not: delete pods"}}},
		"permissions that may not be asked for": {func(w *World) { w.Needs.Problem = "forbidden" }, []finding{{checkPermissions, Warning, "not checked"}}},
		"an operator that may not be read": {func(w *World) {
			w.Operators = Reading[[]appsv1.Deployment]{Problem: "forbidden"}
			w.Needs = Reading[[]Need]{Problem: "forbidden"}
		}, []finding{{checkOperator, Warning, "not checked"}, {checkPermissions, Warning, "its Deployment, which names its ServiceAccount"}}},

		"no CriticalService matches": {func(w *World) { w.Policies.Value = nil }, []finding{{checkProtected, Problem, "no CriticalService or ServiceFallback matches the Service"}}},
		"the first by name governs": {func(w *World) {
			first := policy("a-first")
			first.Status.Details[0].State, first.Status.Details[0].Message = criticalv2.StateArming, "the responder does not run"
			w.Policies.Value = append(w.Policies.Value, first)
		}, []finding{{checkProtected, Problem, "CriticalService a-first (tier Default): the Service is Arming (StandbyReady): the responder does not run"}}},
		"a status that does not name it": {func(w *World) { w.Policies.Value[0].Observed().Details = nil }, []finding{{checkProtected, Warning, "does not name it"}}},
		"an outage that the operator has not noticed": {func(w *World) { down(w) },
			[]finding{{checkProtected, Warning, "says Armed (StandbyReady), and the Service has no ready endpoint of its own: the status is old"}}},
		"the same without a fallback": {func(w *World) { down(w); status(w).State = criticalv2.StateArming },
			[]finding{{checkProtected, Problem, "the status is old"}}},
		"an outage that is covered":     {func(w *World) { status(w).State = criticalv2.StateCovered }, []finding{{checkProtected, Warning, "Covered"}}},
		"an outage that is not covered": {func(w *World) { status(w).State = criticalv2.StateExposed }, []finding{{checkProtected, Problem, "Exposed"}}},
		"an owner who opted out":        {func(w *World) { status(w).State, status(w).Reason = criticalv2.StateIgnored, criticalv2.ReasonOptedOut }, []finding{{checkProtected, Problem, "OptedOut"}}},
		"a condition that is False": {func(w *World) {
			w.Policies.Value[0].Observed().Conditions[0].Status, w.Policies.Value[0].Observed().Conditions[0].Message = metav1.ConditionFalse, "1 of 2 is Arming"
		}, []finding{{checkCondition, Warning, "is not Ready (): 1 of 2 is Arming"}}},
		"a reason that the status of the Service gives as well": {func(w *World) {
			const denied = "The fallback Pod is refused: exceeded quota."
			status(w).State, status(w).Reason, status(w).Message = criticalv2.StateArming, criticalv2.ReasonCreateDenied, denied
			w.Policies.Value[0].Observed().Conditions[0].Status, w.Policies.Value[0].Observed().Conditions[0].Message = metav1.ConditionFalse, "1 of 1 is Arming"
			w.Policies.Value[0].Observed().Conditions = append(w.Policies.Value[0].Observed().Conditions, metav1.Condition{
				Type: criticalv2.ConditionFallbackReady, Status: metav1.ConditionFalse, Reason: criticalv2.ReasonCreateDenied, Message: "Service shop/front: " + denied,
			})
		}, []finding{{checkProtected, Problem, "exceeded quota"}, {checkCondition, Warning, "1 of 1 is Arming"}}},
		"a condition of two Services": {func(w *World) {
			w.Policies.Value[0].Observed().Conditions[0].Status, w.Policies.Value[0].Observed().Conditions[0].Message = metav1.ConditionFalse, "1 of 3 is Arming"
			w.Policies.Value[0].Observed().Details = append(w.Policies.Value[0].Observed().Details, *status(w).DeepCopy())
			w.Policies.Value[0].Observed().Details[1].Name = "back"
			back := *front(w)
			back.Service = *back.DeepCopy()
			back.Name = "back"
			w.Services = append(w.Services, &back)
		}, []finding{{checkCondition, Warning, "1 of 3 is Arming"}}},
		"CriticalServices that may not be read, and no Service was named": {func(w *World) {
			w.Policies, w.Services, w.Namespaces = Reading[[]criticalv2.Policy]{Problem: "forbidden"}, nil, nil
		}, []finding{{checkServices, Warning, "not checked"}}},
		"CriticalServices that may not be read": {func(w *World) { w.Policies = Reading[[]criticalv2.Policy]{Problem: "forbidden"} },
			[]finding{{checkProtected, Warning, "not checked"}}},
		"no Services": {func(w *World) { w.Services, w.Namespaces = nil, nil }, []finding{{checkServices, Warning, "no CriticalService or ServiceFallback matches a Service here"}}},

		"no standby": {func(w *World) { front(w).Slices.Value = front(w).Slices.Value[:1] }, []finding{{checkStandby, Problem, "nothing stands by"}}},
		"no standby, as the Pod is made on demand": {func(w *World) {
			w.withTemplate(criticalv2.ActivationOnDemand)
			front(w).Slices.Value = front(w).Slices.Value[:1]
		}, []finding{{checkStandby, Warning, "made in an outage"}}},
		"a port without a standby": {func(w *World) {
			front(w).Spec.Ports = append(front(w).Spec.Ports, corev1.ServicePort{Name: "admin", Port: 81})
		}, []finding{{checkPort, Problem, "admin (81)"}}},
		"a port of UDP": {func(w *World) {
			front(w).Spec.Ports = append(front(w).Spec.Ports, corev1.ServicePort{Name: "dns", Port: 53, Protocol: "UDP"})
		}, []finding{{checkPort, Warning, "is UDP"}}},
		"a standby that is silent": {func(w *World) {
			front(w).Answers[0] = Answer{Port: "http", Pod: "responder-1", Protocol: "http", Problem: "refused"}
		}, []finding{{checkListening, Problem, "does not answer in http: refused"}}},
		"a standby that cannot be asked": {func(w *World) { front(w).Answers = nil }, []finding{{checkListening, Warning, "not checked: what the standby answers"}}},
		"a standby that is not asked":    {func(w *World) { front(w).Answers[0].Unchecked = "forbidden" }, []finding{{checkListening, Warning, "not checked: port http of Pod responder-1: forbidden"}}},
		"a self-test that failed": {func(w *World) { tested(w, metav1.ConditionFalse, "port http: refused") },
			[]finding{{checkSelfTest, Problem, "the operator's last self-test was not answered: port http: refused"}}},
		"a self-test of another that failed": {func(w *World) {
			status := w.Policies.Value[0].Observed()
			status.Conditions = append(status.Conditions, metav1.Condition{Type: criticalv2.ConditionFailoverReady, Status: metav1.ConditionFalse})
		}, none},
		"no fallback that could be tested": {func(w *World) {
			status := &w.Policies.Value[0].Observed().Details[0]
			status.State, status.Reason = criticalv2.StateArming, criticalv2.ReasonCreateDenied
			tested(w, metav1.ConditionFalse, "No fallback works: CreateDenied.")
			status.Failover.Reason = criticalv2.ConditionReasonNotProtected
		}, []finding{{checkProtected, Problem, "Arming"}, {checkSelfTest, Problem, "nothing to test: No fallback works: CreateDenied."}}},
		"a standby that was not tested": {func(w *World) { tested(w, metav1.ConditionUnknown, "No standby was tested.") },
			[]finding{{checkSelfTest, Warning, "has not tested the standby: No standby was tested."}}},
		"a Pod on demand, which cannot be tested": {func(w *World) {
			tested(w, metav1.ConditionUnknown, "No standby was tested.")
			w.withTemplate(criticalv2.ActivationOnDemand)
		}, none},
		"an operator without self-test": {func(w *World) { w.Policies.Value[0].Observed().Details[0].Failover = nil }, []finding{{checkSelfTest, Warning, "no result of a self-test"}}},

		"a PodTemplate that would be admitted": {func(w *World) { w.withTemplate(criticalv2.ActivationStandby) }, none},
		"a PodTemplate that does not exist":    {func(w *World) { w.withTemplate(criticalv2.ActivationStandby).Template.Missing = true }, []finding{{checkTemplate, Warning, "does not exist"}}},
		"a PodTemplate that is refused": {func(w *World) { w.withTemplate(criticalv2.ActivationStandby).Admission.Value = "violates PodSecurity" },
			[]finding{{checkTemplate, Problem, "violates PodSecurity"}}},
		"a PodTemplate that may not be tried": {func(w *World) {
			w.withTemplate(criticalv2.ActivationStandby).Admission.Problem = "you may not create pods"
		},
			[]finding{{checkTemplate, Warning, "you may not create pods"}}},
		"no room for a Pod on demand": {func(w *World) { w.withTemplate(criticalv2.ActivationOnDemand); quota(w, corev1.ResourcePods, "3", "3") },
			[]finding{{checkQuota, Problem, "pods: 0 of 3 left, 1 needed"}, {checkQuota, Warning, "second set of responder Pods"}}},
		"no room for an upgrade":   {func(w *World) { quota(w, corev1.ResourcePods, "4", "3") }, []finding{{checkQuota, Warning, "pods: 1 of 4 left, 2 needed"}}},
		"a quota that was lowered": {func(w *World) { quota(w, corev1.ResourcePods, "3", "16") }, []finding{{checkQuota, Warning, "pods: 0 of 3 left, 2 needed"}}},
		"too little memory for an upgrade": {func(w *World) {
			quota(w, corev1.ResourceLimitsMemory, "512Mi", "256Mi")
			container := &front(w).Home.Responder.Value.Spec.Template.Spec.Containers[0]
			container.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("200Mi")}
		}, []finding{{checkQuota, Warning, "limits.memory: 256Mi of 512Mi left, 400Mi needed"}}},
		"a quota of something else": {func(w *World) { quota(w, "services", "1", "1") }, none},
		"a quota for other Pods": {func(w *World) {
			quota(w, corev1.ResourcePods, "1", "1")
			front(w).Home.Quotas.Value[0].Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
		}, none},
		"two budgets over a responder": {func(w *World) {
			all := policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}
			front(w).Home.Budgets.Value = []policyv1.PodDisruptionBudget{
				{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: all}, {ObjectMeta: metav1.ObjectMeta{Name: "ours"}, Spec: all},
			}
		}, []finding{{checkBudget, Warning, "2 PodDisruptionBudgets: all, ours"}}},

		"a headless Service": {func(w *World) { front(w).Spec.ClusterIP = corev1.ClusterIPNone }, []finding{{checkConsumer, Warning, "headless"}}},
		"a load balancer":    {func(w *World) { front(w).Spec.Type = corev1.ServiceTypeLoadBalancer }, none},
		"one that sends to Pods": {func(w *World) {
			alone(w)
			front(w).Spec.Type = corev1.ServiceTypeLoadBalancer
			front(w).Annotations = map[string]string{"service.beta.kubernetes.io/aws-load-balancer-nlb-target-type": "ip"}
		}, []finding{{checkConsumer, Warning, "sends to Pods"}}},
		"an Ingress of nginx":        {func(w *World) { ingress(w, "nginx", "k8s.io/ingress-nginx") }, none},
		"the same with one operator": {func(w *World) { alone(w); ingress(w, "nginx", "k8s.io/ingress-nginx") }, []finding{{checkConsumer, Warning, "Ingress web (class nginx, ingress-nginx) reaches the fallback when"}}},
		"nginx that uses the ClusterIP": {func(w *World) {
			alone(w)
			ingress(w, "nginx", "k8s.io/ingress-nginx").Annotations = map[string]string{"nginx.ingress.kubernetes.io/service-upstream": "true"}
		}, none},
		"Traefik that uses the ClusterIP": {func(w *World) {
			alone(w)
			ingress(w, "t", "traefik.io/ingress-controller")
			front(w).Annotations = map[string]string{"traefik.ingress.kubernetes.io/service.nativelb": "true"}
		}, none},
		"HAProxy, by its controller's name": {func(w *World) { alone(w); ingress(w, "h", "haproxy-ingress.github.io/controller/outside") },
			[]finding{{checkConsumer, Warning, "HAProxy Ingress"}}},
		"an ALB that sends to Pods": {func(w *World) { alone(w); ingress(w, "alb", "ingress.k8s.aws/alb") }, []finding{{checkConsumer, Warning, "AWS Load Balancer Controller"}}},
		"an ALB that sends to nodes": {func(w *World) {
			alone(w)
			ingress(w, "alb", "ingress.k8s.aws/alb").Annotations = map[string]string{"alb.ingress.kubernetes.io/target-type": "instance"}
		}, none},
		"a controller that is not known": {func(w *World) { ingress(w, "x", "example.com/own") }, []finding{{checkConsumer, Warning, "example.com/own) reaches the fallback in a way that is not known"}}},
		"an Ingress of another Service": {func(w *World) {
			alone(w)
			ingress(w, "x", "y").Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "back"
		}, none},
		"classes that may not be read":  {func(w *World) { ingress(w, "x", "y"); w.Classes.Problem = "forbidden" }, []finding{{checkConsumer, Warning, "the controller of Ingress web"}}},
		"a route of a Gateway":          {func(w *World) { route(w, "istio.io/gateway-controller"); alone(w) }, []finding{{checkConsumer, Warning, "HTTPRoute shop/web (Gateway infra/edge, Istio)"}}},
		"a route of Envoy Gateway":      {func(w *World) { route(w, "gateway.envoyproxy.io/gatewayclass-controller") }, []finding{{checkConsumer, Warning, "not known"}}},
		"routes that may not be read":   {func(w *World) { w.Routes.Problem = "forbidden" }, []finding{{checkConsumer, Warning, "not checked"}}},
		"Local traffic, standby beside": {func(w *World) { front(w).Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal) }, none},
		"Local traffic, standby far away": {func(w *World) {
			front(w).Spec.ExternalTrafficPolicy = "Local"
			front(w).Slices.Value[0].Endpoints[0].NodeName = new("node-b")
		}, []finding{{checkTraffic, Warning, "no standby is on node-b"}}},
		"publishNotReadyAddresses": {func(w *World) { front(w).Spec.PublishNotReadyAddresses = true }, []finding{{checkAddress, Warning, "publishNotReadyAddresses"}}},
		"session affinity":         {func(w *World) { front(w).Spec.SessionAffinity = corev1.ServiceAffinityClientIP }, none},
		"a policy that denies": {func(w *World) {
			front(w).Home.NetworkPolicies.Value = []networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "deny"}}}
		}, []finding{{checkNetworkPolicy, Problem, "NetworkPolicy deny allows no connection to TCP port 20001 of Pod responder-1, which stands by for port http (80)"}}},
		"policies that may not be read": {func(w *World) { front(w).Home.NetworkPolicies.Problem = "forbidden" }, []finding{{checkNetworkPolicy, Warning, "not checked"}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			w := good(t)
			test.change(w)
			var got []Finding
			for _, finding := range Examine(w).Findings {
				if finding.Severity == OK {
					continue
				}
				got = append(got, finding)
				g.Expect(finding.Why).NotTo(BeEmpty(), "why does it matter? %+v", finding)
				g.Expect(finding.Fix).NotTo(BeEmpty(), "what is to be done? %+v", finding)
				g.Expect(strings.Count(finding.Fix, "docs/")).To(Equal(strings.Count(finding.Fix, output.Docs)), "who reads it has no checkout: %s", finding.Fix)
				if _, page, found := strings.Cut(finding.Fix, output.Docs); found {
					g.Expect(filepath.Join("../../../../../docs", strings.Fields(page)[0])).To(BeARegularFile())
				}
			}
			var want []any
			for _, finding := range test.want {
				want = append(want, finding.matcher())
			}
			g.Expect(got).To(ConsistOf(want...))
		})
	}
}

func route(w *World, controller string) {
	w.Routes.Value = []Route{{Kind: "HTTPRoute", Namespace: "shop", Name: "web", Backends: []string{"shop/front"}, Parents: []string{"infra/edge"}}}
	w.Gateways.Value = []Gateway{{Namespace: "infra", Name: "edge", Controller: controller}}
}

func TestTheWorstComesFirst(t *testing.T) {
	g := NewWithT(t)
	w := good(t)
	w.Services = append(w.Services, &Service{Home: w.Services[0].Home, Service: corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "bare"}, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.2"},
	}})
	w.Operators.Value[0].Status.AvailableReplicas = 1
	report := Examine(w)
	g.Expect(report.Verdict).To(Equal(Problem))
	g.Expect(report.Problems).To(Equal(1))
	g.Expect(report.Warnings).To(Equal(1))
	var order []string
	for _, finding := range report.Findings {
		if key := fmt.Sprintf("%s %s", finding.Subject, finding.Severity); len(order) == 0 || order[len(order)-1] != key {
			order = append(order, key)
		}
	}
	g.Expect(order).To(Equal([]string{
		"installation warning", "installation ok", "service/shop/bare problem", "namespace/shop ok", "service/shop/front ok",
	}))
}

// The list of needs must not ask for what the operator is never given.
func TestTheOperatorIsGivenWhatItNeeds(t *testing.T) {
	g := NewWithT(t)
	file, err := os.Open("../../../../../config/rbac/role.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	var rules []rbacv1.PolicyRule
	for {
		var role rbacv1.ClusterRole
		if decoder.Decode(&role) != nil {
			break
		}
		rules = append(rules, role.Rules...)
	}
	g.Expect(rules).NotTo(BeEmpty())
	for _, need := range Needs("system") {
		resource := need.Resource
		if need.Subresource != "" {
			resource += "/" + need.Subresource
		}
		name := BeEmpty()
		if need.Name != "" {
			name = Or(BeEmpty(), ContainElement(need.Name))
		}
		g.Expect(rules).To(ContainElement(And(
			HaveField("APIGroups", ContainElement(need.Group)), HaveField("Resources", ContainElement(resource)),
			HaveField("Verbs", ContainElement(need.Verb)), HaveField("ResourceNames", name),
		)), need.String())
	}
}

func TestTheTagOfAnImage(t *testing.T) {
	for image, want := range map[string]string{
		"registry:5000/operator":             "",
		"registry:5000/operator:v1":          "v1",
		"quay.io/a/operator:1.2@sha256:0123": "1.2",
		"operator@sha256:0123":               "",
	} {
		NewWithT(t).Expect(tagOf(image)).To(Equal(want), image)
	}
}

func TestTheDocumentationListsEveryCheck(t *testing.T) {
	g := NewWithT(t)
	documented, err := os.ReadFile("../../../../../docs/plugin.md")
	g.Expect(err).NotTo(HaveOccurred())
	for _, check := range []string{
		checkDefinition, checkOperator, checkVersion, checkNodes, checkAPIs, checkServices, checkCertificate, checkPermissions, checkResponder, checkBudget, checkQuota,
		checkProtected, checkCondition, checkStandby, checkPort, checkListening, checkSelfTest, checkTemplate, checkConsumer, checkTraffic, checkAddress, checkNetworkPolicy,
	} {
		g.Expect(string(documented)).To(ContainSubstring("\n| `" + check + "` | "))
	}
}
