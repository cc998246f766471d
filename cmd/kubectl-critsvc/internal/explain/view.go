package explain

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
)

// View is what the command found, as -o json prints it.
type View struct {
	Service Service `json:"service"`
	// Protected reports whether a policy governs the Service, and does not ignore it, as
	// far as that is known.
	Protected bool `json:"protected"`
	// Status is how the Service stands by the status of the policy that governs it; absent if none does, or its status does not list it.
	Status *Status `json:"status,omitempty"`
	// Cause explains the outage; absent where the Service has a ready endpoint.
	Cause *Cause `json:"cause,omitempty"`
	// Answers is what answers now.
	Answers Answers `json:"answers"`
	// Next is what would happen if the application went down now; empty in an outage.
	Next string `json:"next,omitempty"`
	// Failover is the result of the last self-test of the Service's standby; absent if the
	// status has none.
	Failover *criticalv2.Failover `json:"failover,omitempty"`
	// Maintenance is a planned outage; absent if none is announced.
	Maintenance *Maintenance `json:"maintenance,omitempty"`
	// Governor is the policy that governs the Service; Others match as well.
	Governor *Match  `json:"governor,omitempty"`
	Others   []Match `json:"others,omitempty"`
	// Nearest are policies that nearly match, where none does.
	Nearest []Near `json:"nearest,omitempty"`
	// Fallback is what stands in for the application.
	Fallback *Fallback `json:"fallback,omitempty"`
	// Ports are those of the Service.
	Ports []Port `json:"ports"`
	// Endpoints are those of the application, and of the fallback.
	Endpoints []endpoints.Endpoint `json:"endpoints"`
	// Outages counts those that are recorded and over.
	Outages int `json:"outages"`
	// Events are the latest about the Service, the newest first.
	Events []Event `json:"events"`
	// Notices are sentences about what cannot be said, or what is wrong.
	Notices []string `json:"notices,omitempty"`
	// partial means that policies may match that could not be read.
	partial bool
}

// Service names the Service.
type Service struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Type      string            `json:"type"`
	ClusterIP string            `json:"clusterIP,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Selector  map[string]string `json:"selector,omitempty"`
}

// Status is how a Service stands.
type Status struct {
	State   criticalv2.ServiceState `json:"state"`
	Reason  string                  `json:"reason"`
	Message string                  `json:"message,omitempty"`
	Since   metav1.Time             `json:"since"`
	// Outdated means that it says that the Service is up, and that the Service has had no
	// ready endpoint for longer than the operator needs to report that: it does not seem
	// to run.
	Outdated bool `json:"outdated,omitempty"`
}

// Cause explains an outage.
type Cause struct {
	criticalv2.OutageCause `json:",inline"`
	// By is who found it: operator, or plugin (with the rights of the user).
	By string `json:"by"`
}

// Who found a cause.
const (
	byOperator = "operator"
	byPlugin   = "plugin"
)

// Answers is what answers now.
type Answers struct {
	// By is application, fallback, nothing or unknown.
	By string `json:"by"`
	// Message says the same in a sentence, with the Pods named.
	Message string `json:"message"`
}

// What answers.
const (
	answersApplication = "application"
	answersFallback    = "fallback"
	answersNothing     = "nothing"
	answersUnknown     = "unknown"
)

// Maintenance is a planned outage.
type Maintenance struct {
	// Name is that of the Maintenance; absent if Maintenances may not be read.
	Name string `json:"name,omitempty"`
	// Reason is why it is announced, or not.
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
	Until   *metav1.Time `json:"until,omitempty"`
	// Workload is owed Replicas, as RESOURCE.GROUP/NAME.
	Workload string `json:"workload,omitempty"`
	Replicas int32  `json:"replicas,omitempty"`
	// Silent means that clients are not informed: it is a live drill.
	Silent bool `json:"silent,omitempty"`
	// Over means that its end has passed.
	Over bool `json:"over,omitempty"`
}

// Match is a policy that matches.
type Match struct {
	access.Governor `json:",inline"`
	Why             string `json:"why"`
}

// text names the policy, with its tier and why it matches.
func (m *Match) text() string {
	tier := ""
	if m.Tier != "" {
		tier = "tier " + m.Tier + ": "
	}
	return fmt.Sprintf("%s %s (%s%s)", m.Kind, m.Name, tier, m.Why)
}

// Near is a policy that would match if the Service were changed, or the policy.
type Near struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Missing is what would have to hold, one entry each.
	Missing []string `json:"missing"`
}

// Fallback is what stands in for the application.
type Fallback struct {
	// Kind is what is published: page, podTemplate or service.
	Kind string `json:"kind"`
	// Wanted is what the policy asks for, where that is another.
	Wanted string `json:"wanted,omitempty"`
	// Message describes it.
	Message string `json:"message"`
	// Promoted reports whether its endpoints are ready ones for all consumers.
	Promoted bool `json:"promoted"`
}

// Port is a port of the Service.
type Port struct {
	Name     string `json:"name,omitempty"`
	Protocol string `json:"protocol"`
	Port     int32  `json:"port"`
	NodePort int32  `json:"nodePort,omitempty"`
	// TargetPort is that of the Service, a number or a name, and ApplicationPorts the
	// numbers that the application's endpoints have for it.
	TargetPort       string  `json:"targetPort"`
	ApplicationPorts []int32 `json:"applicationPorts,omitempty"`
	// FallbackPort is the number on which the fallback listens; absent if it does not.
	FallbackPort int32 `json:"fallbackPort,omitempty"`
	// Message says why there is no FallbackPort.
	Message string `json:"message,omitempty"`
}

// Event is an event about the Service.
type Event struct {
	// At is when it happened last.
	At      metav1.Time `json:"at"`
	Type    string      `json:"type"`
	Reason  string      `json:"reason"`
	Action  string      `json:"action,omitempty"`
	Note    string      `json:"note"`
	Count   int32       `json:"count"`
	From    string      `json:"from,omitempty"`
	Related string      `json:"related,omitempty"`
}
