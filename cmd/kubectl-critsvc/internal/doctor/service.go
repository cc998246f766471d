package doctor

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor/checkup"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor/tunnel"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/installation"
	"github.com/critical-service/operator/internal/probe"
	"github.com/critical-service/operator/internal/protection"
)

const (
	// askTimeout is how long one question may take.
	askTimeout = 10 * time.Second
	// maxAsked is of how many Pods a port is asked.
	maxAsked = 3

	defaultTemplate = "critical-service-pod-template"
)

// namespaced reads what the Services of a namespace share.
func (c *collector) namespaced(ctx context.Context, n *checkup.Namespace) {
	in := client.InNamespace(n.Name)
	deployment := &appsv1.Deployment{}
	n.Responder = reading(deployment, c.Get(ctx, client.ObjectKey{Namespace: n.Name, Name: criticalv2.ResponderName}, deployment))
	var policies networkingv1.NetworkPolicyList
	n.NetworkPolicies = list(ctx, c, &policies, func() []networkingv1.NetworkPolicy { return policies.Items }, in)
	var budgets policyv1.PodDisruptionBudgetList
	n.Budgets = list(ctx, c, &budgets, func() []policyv1.PodDisruptionBudget { return budgets.Items }, in)
	var quotas corev1.ResourceQuotaList
	n.Quotas = list(ctx, c, &quotas, func() []corev1.ResourceQuota { return quotas.Items }, in)
	var ingresses networkingv1.IngressList
	n.Ingresses = list(ctx, c, &ingresses, func() []networkingv1.Ingress { return ingresses.Items }, in)
	var pods corev1.PodList
	n.Fallbacks = list(ctx, c, &pods, func() []corev1.Pod {
		return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !protection.IsOurs(&pod) })
	}, in, client.HasLabels{criticalv2.LabelFallbackFor})
}

// backups reads the slices of a Service, and those Pods behind its standby that are
// not the operator's: the endpoints of a backup Service.
func (c *collector) backups(ctx context.Context, s *checkup.Service) {
	var found discoveryv1.EndpointSliceList
	s.Slices = list(ctx, c, &found, func() []discoveryv1.EndpointSlice { return found.Items },
		client.InNamespace(s.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: s.Name})
	if s.Home.Fallbacks.Problem != "" {
		return
	}
	for _, target := range protection.Targets(&s.Service, s.Slices.Value) {
		known := slices.ContainsFunc(s.Home.Fallbacks.Value, func(p corev1.Pod) bool { return p.Name == target.Pod() })
		var pod corev1.Pod
		if !known && c.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: target.Pod()}, &pod) == nil {
			s.Home.Fallbacks.Value = append(s.Home.Fallbacks.Value, pod)
		}
	}
}

// template reads the PodTemplate of the fallback, and asks the API server whether it
// would admit a Pod of it.
func (c *collector) template(ctx context.Context, w *checkup.World, s *checkup.Service) {
	policy := w.Governor(s)
	if policy == nil || policy.Protection().Fallback.PodTemplate == nil {
		return
	}
	home := installation.UsualNamespace
	if len(w.Operators.Value) > 0 {
		home = w.Operators.Value[0].Namespace
	}
	templates := protection.Templates{OperatorNamespace: home, Default: types.NamespacedName{
		Namespace: cmp.Or(w.Settings["POD_TEMPLATE_NS"], home), Name: cmp.Or(w.Settings["POD_TEMPLATE"], defaultTemplate),
	}}
	template := &corev1.PodTemplate{}
	s.Template = reading(template, c.Get(ctx, templates.Named(policy), template))
	if s.Template.Problem != "" || s.Template.Missing {
		return
	}
	if err := c.mayCreatePods(ctx, s.Namespace); err != nil {
		s.Admission.Problem = err.Error()
		return
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, GenerateName: "critical-service-doctor-", Annotations: template.Template.Annotations},
		Spec:       *template.Template.Spec.DeepCopy(),
	}
	if pod.Spec.AutomountServiceAccountToken == nil {
		pod.Spec.AutomountServiceAccountToken = new(false) // As the operator does.
	}
	if err := c.Create(ctx, pod, client.DryRunAll); err != nil {
		s.Admission.Value = err.Error()
	}
}

// question is a standby endpoint that is to be asked.
type question struct {
	service *checkup.Service
	target  protection.Target
	answer  checkup.Answer
}

// ask asks the standby endpoints of all Services, each in the protocol of its port.
func (c *collector) ask(ctx context.Context, w *checkup.World) {
	byPod := map[types.NamespacedName][]*question{}
	var all []*question
	for _, service := range w.Services {
		count := map[string]int{}
		for _, target := range protection.Targets(&service.Service, service.Slices.Value) {
			port := protection.PortName(target.Port)
			count[port]++
			if count[port] > maxAsked || target.Pod() == "" {
				continue
			}
			q := &question{service: service, target: target, answer: checkup.Answer{Port: port, Pod: target.Pod(), Protocol: string(target.Protocol)}}
			key := types.NamespacedName{Namespace: service.Namespace, Name: target.Pod()}
			byPod[key], all = append(byPod[key], q), append(all, q)
		}
	}
	pods := make([]types.NamespacedName, 0, len(byPod))
	for pod := range byPod {
		pods = append(pods, pod)
	}
	each(len(pods), func(i int) { c.askPod(ctx, pods[i], byPod[pods[i]]) })
	for _, q := range all {
		q.service.Answers = append(q.service.Answers, q.answer)
	}
}

func (c *collector) askPod(ctx context.Context, pod types.NamespacedName, questions []*question) {
	through, err := tunnel.Open(c.config, pod)
	if err != nil {
		for _, q := range questions {
			q.answer.Unchecked = err.Error()
		}
		return
	}
	defer func() { _ = through.Close() }()
	for _, q := range questions {
		askThrough(ctx, through, q)
	}
}

func askThrough(ctx context.Context, through *tunnel.Tunnel, q *question) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var conn *tunnel.Conn
	result := probe.Ask(ctx, probe.Target{
		Address: q.target.Address(), Protocol: q.target.Protocol, Host: protection.Host(&q.service.Service),
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			made, err := through.Dial(ctx, q.target.Number)
			if err != nil {
				return nil, err
			}
			conn = made
			return made, nil
		},
	})
	q.answer.Answered, q.answer.Status, q.answer.Problem = result.Answered, result.Status, result.Problem
	if conn == nil {
		return
	}
	// Where nothing was sent, only the end of a connection shows that there was none.
	if refused := conn.Refused(ctx); refused != "" {
		q.answer.Answered, q.answer.Problem = false, plainly(refused)
	}
}

// plainly shortens the message of a container runtime about a port to which it could
// not connect: it names sandboxes and network namespaces, and repeats itself for both
// IP families.
func plainly(message string) string {
	_, reason, found := strings.Cut(message, "connect: ")
	if !found {
		return message
	}
	reason, _, _ = strings.Cut(reason, " IPv6")
	return strings.TrimRight(reason, " .,;")
}
