package status

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
	"github.com/critical-service/operator/internal/protection"
)

// View is what the command found, as -o json prints it.
type View struct {
	// Services are the protected Services, the most urgent first.
	Services []Service `json:"services"`
	// CriticalServices and ServiceFallbacks are those that have a Service in the list.
	CriticalServices []Policy `json:"criticalServices"`
	ServiceFallbacks []Policy `json:"serviceFallbacks,omitempty"`
	// Summary counts the Services of the list by state.
	Summary Summary `json:"summary"`
	// Notices are sentences about what the list cannot show, or what is wrong.
	Notices []string `json:"notices,omitempty"`
}

// Service is one protected Service.
type Service struct {
	Namespace string                  `json:"namespace"`
	Name      string                  `json:"name"`
	State     criticalv2.ServiceState `json:"state"`
	Reason    string                  `json:"reason"`
	Message   string                  `json:"message,omitempty"`
	Since     metav1.Time             `json:"since"`
	// Cause explains the outage; absent while there is none, or nothing is known.
	Cause *criticalv2.OutageCause `json:"cause,omitempty"`
	// Endpoints counts those of the application, never the fallback's; absent if
	// they may not be read.
	Endpoints *Endpoints `json:"endpoints,omitempty"`
	// Fallback is what answers, or would; absent for a Service that is ignored.
	Fallback *Fallback `json:"fallback,omitempty"`
	// Governor is what governs the Service, and CriticalService its name if it is one.
	Governor        access.Governor `json:"governor"`
	CriticalService string          `json:"criticalService,omitempty"`
	// FailoverReady reports whether the fallback would answer, as far as it is known:
	// True, False or Unknown; absent for a Service that is ignored.
	FailoverReady metav1.ConditionStatus `json:"failoverReady,omitempty"`
	// Outdated means that the status says that the Service is up, and that it has had no
	// ready endpoint for longer than the operator needs to report that: it does not seem
	// to run. While the operator is about to, it is late.
	Outdated bool `json:"outdated,omitempty"`
	late     bool
	// Planned is a maintenance that was announced for the outage; absent if there is
	// none.
	Planned *criticalv2.Announcement `json:"planned,omitempty"`
}

// Endpoints counts the endpoints of an application.
type Endpoints struct {
	Ready int `json:"ready"`
	Total int `json:"total"`
}

// Fallback is what stands in for a Service.
type Fallback struct {
	// Kind is page, podTemplate or service.
	Kind string `json:"kind"`
	// Service is the backup Service, of a service.
	Service string `json:"service,omitempty"`
}

// Policy is a CriticalService or a ServiceFallback that governs Services of the list.
type Policy struct {
	// Namespace is that of a ServiceFallback.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Matched is how many Services it matches, in all namespaces, and Listed how
	// many of them its status lists.
	Matched int32 `json:"matched"`
	Listed  int   `json:"listed"`
	// FailoverReady reports whether the standbys answered the last self-test.
	FailoverReady Condition `json:"failoverReady"`
}

// Condition is a condition of a policy.
type Condition struct {
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason,omitempty"`
	Message string                 `json:"message,omitempty"`
}

// Summary counts Services by state.
type Summary struct {
	Total   int `json:"total"`
	Exposed int `json:"exposed"`
	Covered int `json:"covered"`
	Arming  int `json:"arming"`
	Armed   int `json:"armed"`
	Ignored int `json:"ignored"`
}

// scope is which Services are asked for.
type scope struct {
	// namespace is empty for all.
	namespace string
	// names are Services of the namespace; none means all.
	names []string
}

func (s scope) has(namespace, name string) bool {
	return (s.namespace == "" || s.namespace == namespace) && (len(s.names) == 0 || slices.Contains(s.names, name))
}

// viewOf makes the list from what was read.
func viewOf(found facts, scope scope) View {
	view := View{Services: []Service{}, CriticalServices: []Policy{}}
	policies := slices.SortedFunc(slices.Values(found.policies), func(a, b criticalv2.Policy) int {
		return cmp.Or(strings.Compare(a.GetName(), b.GetName()), strings.Compare(a.GetNamespace(), b.GetNamespace()))
	})
	policies = slices.DeleteFunc(policies, func(policy criticalv2.Policy) bool { return !protection.IsActive(policy) })
	for _, policy := range policies {
		for _, detail := range policy.Observed().Details {
			if scope.has(detail.Namespace, detail.Name) {
				view.add(serviceOf(policy, detail, found))
			}
		}
	}
	slices.SortFunc(view.Services, func(a, b Service) int {
		return cmp.Or(cmp.Compare(a.urgency(), b.urgency()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, policy := range policies {
		if governs := view.governedBy(policy); governs || access.Misdirected(policy) != nil {
			view.describe(policy, governs)
		}
	}
	view.count()
	view.Notices = append(view.Notices, view.outdated()...)
	view.Notices = append(view.Notices, found.refused.notices()...)
	return view
}

var urgency = map[criticalv2.ServiceState]int{
	criticalv2.StateExposed: 0, criticalv2.StateCovered: 1, criticalv2.StateArming: 2,
	criticalv2.StateArmed: 3, criticalv2.StateIgnored: 4,
}

// urgency sorts Services. What the operator has not noticed comes first.
func (s *Service) urgency() int {
	if s.Outdated || s.late {
		return -1
	}
	return urgency[s.State]
}

// add adds a Service, unless a policy before said more of it: where several match, all but
// the one that governs it say only that they are overridden.
func (v *View) add(service Service) {
	i := slices.IndexFunc(v.Services, func(s Service) bool { return s.Namespace == service.Namespace && s.Name == service.Name })
	switch {
	case i < 0:
		v.Services = append(v.Services, service)
	case v.Services[i].Reason == criticalv2.ReasonOverridden:
		v.Services[i] = service
	}
}

func serviceOf(policy criticalv2.Policy, detail criticalv2.ServiceStatus, found facts) Service {
	service := Service{
		Namespace: detail.Namespace, Name: detail.Name,
		State: detail.State, Reason: detail.Reason, Message: detail.Message, Since: detail.Since, Cause: detail.Cause,
		Governor: access.GovernorOf(policy, &detail),
	}
	if service.Governor.Kind == criticalv2.CriticalServiceKind.Kind {
		service.CriticalService = service.Governor.Name
	}
	var own []discoveryv1.EndpointSlice
	for i := range found.slices {
		slice := &found.slices[i]
		if slice.Namespace == detail.Namespace && slice.Labels[discoveryv1.LabelServiceName] == detail.Name {
			own = append(own, *slice)
		}
	}
	if detail.State != criticalv2.StateIgnored {
		service.Fallback, service.FailoverReady = fallbackOf(policy, own), readiness(&detail)
	}
	if !found.refused.slices && !found.refused.services {
		var fallbacks []corev1.Pod
		for i := range found.fallbacks {
			if found.fallbacks[i].Namespace == detail.Namespace {
				fallbacks = append(fallbacks, found.fallbacks[i])
			}
		}
		ready, total := endpoints.Count(endpoints.Of(found.service(detail.Namespace, detail.Name), own, fallbacks), endpoints.Application)
		service.Endpoints = &Endpoints{Ready: ready, Total: total}
		outdated := endpoints.IsOutdated(detail.State, detail.Reason, ready)
		service.late = found.doubts.holds(types.NamespacedName{Namespace: detail.Namespace, Name: detail.Name}, outdated, found.at)
		service.Outdated = outdated && !service.late
	}
	down := detail.State == criticalv2.StateExposed || detail.State == criticalv2.StateCovered
	if down && detail.Cause != nil && detail.Cause.Reason == criticalv2.CauseMaintenance {
		service.Planned = plannedOf(own)
	}
	return service
}

// readiness reports whether the fallback of one Service would answer: without one that is
// ready it would not, and otherwise the last self-test shows it.
func readiness(detail *criticalv2.ServiceStatus) metav1.ConditionStatus {
	switch {
	case detail.State == criticalv2.StateExposed || detail.State == criticalv2.StateArming:
		return metav1.ConditionFalse
	case detail.Failover == nil:
		return metav1.ConditionUnknown
	default:
		return detail.Failover.Status
	}
}

// plannedOf is the maintenance as the standby slice announces it. Without one it is
// known only that there is a maintenance.
func plannedOf(own []discoveryv1.EndpointSlice) *criticalv2.Announcement {
	planned := &criticalv2.Announcement{}
	for i := range own {
		text := own[i].Annotations[criticalv2.AnnotationMaintenance]
		if protection.IsStandby(&own[i]) && text != "" && json.Unmarshal([]byte(text), planned) == nil {
			break
		}
	}
	return planned
}

// fallbackOf is what is published for a Service, or else what is wanted: where the
// wanted one is not to be had, the page stands in for it.
func fallbackOf(policy criticalv2.Policy, own []discoveryv1.EndpointSlice) *Fallback {
	for i := range own {
		if kind := own[i].Labels[criticalv2.LabelFallbackKind]; protection.IsStandby(&own[i]) && kind != "" {
			return &Fallback{Kind: kind, Service: own[i].Annotations[criticalv2.AnnotationBackup]}
		}
	}
	switch wanted := policy.Protection().Fallback; {
	case wanted.PodTemplate != nil:
		return &Fallback{Kind: criticalv2.FallbackKindPodTemplate}
	case wanted.Service != nil:
		return &Fallback{Kind: criticalv2.FallbackKindService, Service: wanted.Service.Name}
	default:
		return &Fallback{Kind: criticalv2.FallbackKindPage}
	}
}

func (v *View) governedBy(policy criticalv2.Policy) bool {
	return slices.ContainsFunc(v.Services, func(s Service) bool {
		return s.Governor.Kind == policy.PolicyKind().Kind && s.Governor.Name == policy.GetName() && criticalv2.ReachesNamespace(policy, s.Namespace)
	})
}

// describe adds a policy, and says what is to be known about it.
func (v *View) describe(policy criticalv2.Policy, governs bool) {
	status, title := policy.Observed(), access.Title(policy)
	ready := failover(status)
	if governs {
		described := Policy{
			Namespace: policy.GetNamespace(), Name: policy.GetName(), Matched: status.Services.Total, Listed: len(status.Details), FailoverReady: ready,
		}
		if described.Namespace == "" {
			v.CriticalServices = append(v.CriticalServices, described)
		} else {
			v.ServiceFallbacks = append(v.ServiceFallbacks, described)
		}
	}
	if condition := access.Misdirected(policy); condition != nil {
		v.Notices = append(v.Notices, fmt.Sprintf("%s: %s", title, condition.Message))
	}
	if governs && ready.Status == metav1.ConditionFalse {
		v.Notices = append(v.Notices, fmt.Sprintf("%s: the next failover may not work. %s", title, ready.Message))
	}
	if hidden := int(status.Services.Total) - len(status.Details); hidden > 0 {
		v.Notices = append(v.Notices, fmt.Sprintf("%s matches %d Services, and its status lists the %d most urgent of them: "+
			"%d are not shown (%s).", title, status.Services.Total, len(status.Details), hidden, hiddenStates(status)))
	}
}

// hiddenStates counts the Services that a status does not list, by state.
func hiddenStates(status *criticalv2.ProtectionStatus) string {
	counts := map[criticalv2.ServiceState]int32{
		criticalv2.StateExposed: status.Services.Exposed, criticalv2.StateCovered: status.Services.Covered,
		criticalv2.StateArming: status.Services.Arming, criticalv2.StateArmed: status.Services.Armed,
		criticalv2.StateIgnored: status.Services.Ignored,
	}
	for _, detail := range status.Details {
		counts[detail.State]--
	}
	var texts []string
	for _, state := range []criticalv2.ServiceState{
		criticalv2.StateExposed, criticalv2.StateCovered, criticalv2.StateArming, criticalv2.StateArmed, criticalv2.StateIgnored,
	} {
		if counts[state] > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", counts[state], state))
		}
	}
	return strings.Join(texts, ", ")
}

func failover(status *criticalv2.ProtectionStatus) Condition {
	condition := meta.FindStatusCondition(status.Conditions, criticalv2.ConditionFailoverReady)
	if condition == nil {
		return Condition{Status: metav1.ConditionUnknown}
	}
	return Condition{Status: condition.Status, Reason: condition.Reason, Message: condition.Message}
}

func (v *View) count() {
	v.Summary.Total = len(v.Services)
	for i := range v.Services {
		switch v.Services[i].State {
		case criticalv2.StateExposed:
			v.Summary.Exposed++
		case criticalv2.StateCovered:
			v.Summary.Covered++
		case criticalv2.StateArming:
			v.Summary.Arming++
		case criticalv2.StateArmed:
			v.Summary.Armed++
		case criticalv2.StateIgnored:
			v.Summary.Ignored++
		}
	}
}
