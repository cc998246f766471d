package drill

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/probe/command"
	"github.com/critical-service/operator/internal/protection"
)

// DryRun is what the standby of a Service answered.
type DryRun struct {
	// Good reports whether every port answered every time.
	Good bool `json:"good"`
	// Endpoints are the ports of the standby endpoints.
	Endpoints []Endpoint `json:"endpoints"`
	// Problems say what else would block a failover.
	Problems []string `json:"problems,omitempty"`
	// Notes say what was not asked, and why that is right.
	Notes []string `json:"notes,omitempty"`
}

// Endpoint is what one port of one standby endpoint answered.
type Endpoint struct {
	// Port is the name, or number, of the Service's port.
	Port     string `json:"port"`
	Protocol string `json:"protocol"`
	Pod      string `json:"pod"`
	Address  string `json:"address"`
	Tries    int    `json:"tries"`
	Answered int    `json:"answered"`
	// Status, Line, Title and Bytes are of the last answer.
	Status string `json:"status,omitempty"`
	Line   string `json:"line,omitempty"`
	Title  string `json:"title,omitempty"`
	Bytes  int    `json:"bytes,omitempty"`
	// P50 and Max are times until the whole answer.
	P50 Milliseconds `json:"p50Milliseconds"`
	Max Milliseconds `json:"maxMilliseconds"`
	// Problem is why the last question without an answer had none.
	Problem string `json:"problem,omitempty"`
	// signatures are those of all answers.
	signatures []signature
}

// Milliseconds is a duration in JSON.
type Milliseconds float64

func milliseconds(d time.Duration) Milliseconds {
	return Milliseconds(float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond))
}

// Duration is the same as a time.Duration.
func (m Milliseconds) Duration() time.Duration {
	return time.Duration(float64(m) * float64(time.Millisecond))
}

// argument is a target as the prober's command line names it.
func argument(target protection.Target) string {
	return target.Address() + "/" + string(target.Protocol)
}

// askStandby asks the standby of a Service, through a Pod in its namespace.
func askStandby(ctx context.Context, s *survey, p *prober, tries int) (*DryRun, error) {
	var options command.Options
	for _, target := range s.targets {
		options.Targets = append(options.Targets, argument(target))
	}
	options.Tries = tries
	var seen []command.Observation
	if len(options.Targets) > 0 {
		const perTry = 7 * time.Second // More than a question takes at most.
		err := p.ask(ctx, options, startTimeout+time.Duration(tries)*perTry, func(one command.Observation) bool {
			seen = append(seen, one)
			return len(seen) == tries*len(options.Targets)
		})
		if err != nil {
			return nil, err
		}
	}
	return judge(&s.service, s.targets, seen, tries), nil
}

// judge sums up what was seen. It is pure.
func judge(service *corev1.Service, targets []protection.Target, seen []command.Observation, tries int) *DryRun {
	result := &DryRun{Good: true}
	asked := map[string]bool{}
	for _, target := range targets {
		asked[protection.PortName(target.Port)] = true
		summary := summarize(target, seen, tries)
		result.Good = result.Good && summary.Answered == summary.Tries
		result.Endpoints = append(result.Endpoints, summary)
	}
	for _, port := range service.Spec.Ports {
		name := protection.PortName(port)
		switch {
		case asked[name]:
		case !protection.IsTCP(port):
			result.Notes = append(result.Notes, fmt.Sprintf("port %s is %s, and was not asked: a page does not answer it", name, port.Protocol))
		default:
			result.Good = false
			result.Problems = append(result.Problems, fmt.Sprintf("nothing stands by for port %s", name))
		}
	}
	return result
}

func summarize(target protection.Target, seen []command.Observation, tries int) Endpoint {
	summary := Endpoint{
		Port: protection.PortName(target.Port), Protocol: string(target.Protocol), Pod: target.Pod(), Address: target.Address(), Tries: tries,
	}
	var took []time.Duration
	for _, one := range seen {
		if one.Target != argument(target) {
			continue
		}
		if !one.Answered {
			summary.Problem = one.Problem
			continue
		}
		summary.Answered++
		summary.Status, summary.Line, summary.Title, summary.Bytes = one.Status, one.Line, one.Title, one.Bytes
		summary.signatures = append(summary.signatures, signatureOf(one))
		took = append(took, one.Took)
	}
	if summary.Answered < tries {
		summary.Problem = cmp.Or(summary.Problem, "it was not asked: the prober Pod ended before")
	}
	if len(took) > 0 {
		slices.Sort(took)
		summary.P50, summary.Max = milliseconds(took[(len(took)-1)/2]), milliseconds(took[len(took)-1])
	}
	return summary
}
