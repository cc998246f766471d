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
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
	"github.com/critical-service/operator/internal/protection"
)

// View is what the command found, as -o json prints it.
type View struct {
	// Services are the protected Services, the most urgent first.
	Services []Service `json:"services"`
	// CriticalServices are those that have a Service in the list.
	CriticalServices []CriticalService `json:"criticalServices"`
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
	// CriticalService governs the Service.
	CriticalService string `json:"criticalService"`
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

// CriticalService is one that governs Services of the list.
type CriticalService struct {
	Name string `json:"name"`
	// Matched is how many Services it matches, in all namespaces, and Listed how
	// many of them its status lists.
	Matched int32 `json:"matched"`
	Listed  int   `json:"listed"`
	// FailoverReady reports whether the standbys answered the last self-test.
	FailoverReady Condition `json:"failoverReady"`
}

// Condition is a condition of a CriticalService.
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
	view := View{Services: []Service{}, CriticalServices: []CriticalService{}}
	policies := slices.SortedFunc(slices.Values(found.policies), func(a, b criticalv2.CriticalService) int { return strings.Compare(a.Name, b.Name) })
	policies = slices.DeleteFunc(policies, func(policy criticalv2.CriticalService) bool { return !protection.IsActive(&policy) })
	for i := range policies {
		for _, detail := range policies[i].Status.Details {
			if scope.has(detail.Namespace, detail.Name) {
				view.add(serviceOf(&policies[i], detail, found))
			}
		}
	}
	slices.SortFunc(view.Services, func(a, b Service) int {
		return cmp.Or(cmp.Compare(a.urgency(), b.urgency()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for i := range policies {
		if governs := view.governedBy(policies[i].Name); governs || misdirected(&policies[i]) != nil {
			view.describe(&policies[i], governs)
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

// add adds a Service, unless a CriticalService before said more of it: where
// several match, all but the first by name say only that they are overridden.
func (v *View) add(service Service) {
	i := slices.IndexFunc(v.Services, func(s Service) bool { return s.Namespace == service.Namespace && s.Name == service.Name })
	switch {
	case i < 0:
		v.Services = append(v.Services, service)
	case v.Services[i].Reason == criticalv2.ReasonOverridden:
		v.Services[i] = service
	}
}

func serviceOf(policy *criticalv2.CriticalService, detail criticalv2.ServiceStatus, found facts) Service {
	service := Service{
		Namespace: detail.Namespace, Name: detail.Name,
		State: detail.State, Reason: detail.Reason, Message: detail.Message, Since: detail.Since, Cause: detail.Cause,
		CriticalService: policy.Name,
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
func fallbackOf(policy *criticalv2.CriticalService, own []discoveryv1.EndpointSlice) *Fallback {
	for i := range own {
		if kind := own[i].Labels[criticalv2.LabelFallbackKind]; protection.IsStandby(&own[i]) && kind != "" {
			return &Fallback{Kind: kind, Service: own[i].Annotations[criticalv2.AnnotationBackup]}
		}
	}
	switch wanted := policy.Spec.Fallback; {
	case wanted.PodTemplate != nil:
		return &Fallback{Kind: criticalv2.FallbackKindPodTemplate}
	case wanted.Service != nil:
		return &Fallback{Kind: criticalv2.FallbackKindService, Service: wanted.Service.Name}
	default:
		return &Fallback{Kind: criticalv2.FallbackKindPage}
	}
}

func (v *View) governedBy(policy string) bool {
	return slices.ContainsFunc(v.Services, func(s Service) bool { return s.CriticalService == policy })
}

// describe adds a CriticalService, and says what is to be known about it.
func (v *View) describe(policy *criticalv2.CriticalService, governs bool) {
	status := &policy.Status
	ready := failover(policy)
	if governs {
		v.CriticalServices = append(v.CriticalServices, CriticalService{
			Name: policy.Name, Matched: status.Services.Total, Listed: len(status.Details), FailoverReady: ready,
		})
	}
	if condition := misdirected(policy); condition != nil {
		v.Notices = append(v.Notices, fmt.Sprintf("CriticalService %s: %s", policy.Name, condition.Message))
	}
	if governs && ready.Status == metav1.ConditionFalse {
		v.Notices = append(v.Notices, fmt.Sprintf("CriticalService %s: the next failover may not work. %s", policy.Name, ready.Message))
	}
	if hidden := int(status.Services.Total) - len(status.Details); hidden > 0 {
		v.Notices = append(v.Notices, fmt.Sprintf("CriticalService %s matches %d Services, and its status lists the %d most urgent of them: "+
			"%d are not shown (%s).", policy.Name, status.Services.Total, len(status.Details), hidden, hiddenStates(status)))
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

// misdirected finds the condition of a CriticalService that keeps it from matching what
// it should.
func misdirected(policy *criticalv2.CriticalService) *metav1.Condition {
	ready := meta.FindStatusCondition(policy.Status.Conditions, criticalv2.ConditionReady)
	if ready != nil && (ready.Reason == criticalv2.ConditionReasonSelectorInvalid || ready.Reason == criticalv2.ConditionReasonNamespaceNotWatched) {
		return ready
	}
	return nil
}

func failover(policy *criticalv2.CriticalService) Condition {
	condition := meta.FindStatusCondition(policy.Status.Conditions, criticalv2.ConditionFailoverReady)
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
