package explain

import (
	"fmt"
	"slices"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/endpoints"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

// answer says what answers now, and what would.
func (v *View) answer(found *facts) {
	if len(found.slices) == 0 {
		v.Answers = Answers{answersUnknown, "Kubernetes has published no EndpointSlice for the Service, or you may not read it."}
		return
	}
	ready := v.names(func(e endpoints.Endpoint) bool { return e.Source == endpoints.Application && e.Ready })
	promoted := v.names(isPromoted)
	standby := v.names(func(e endpoints.Endpoint) bool { return e.Source == endpoints.Fallback && e.Serving })
	if len(ready) == 0 {
		if v.Status != nil {
			v.Status.Outdated = endpoints.IsOutdated(v.Status.State, v.Status.Reason, 0)
		}
		v.answerInOutage(promoted, standby)
		return
	}
	v.Answers = Answers{answersApplication, fmt.Sprintf("The application answers: %s.", listed(ready))}
	if len(promoted) > 0 {
		v.Answers.Message += fmt.Sprintf(" Beside it, the fallback answers a part of the requests (%s), until it is demoted.", listed(promoted))
	}
	v.Next = v.next(standby)
}

// answerInOutage says what answers while no endpoint of the application is ready.
func (v *View) answerInOutage(promoted, standby []string) {
	leaving := v.names(func(e endpoints.Endpoint) bool {
		return e.Source == endpoints.Application && !e.Ready && e.Serving && e.Terminating
	})
	switch {
	case len(promoted) > 0:
		v.Answers = Answers{answersFallback, fmt.Sprintf("The fallback answers, not the application: %s.", listed(promoted))}
	case len(standby) > 0:
		v.Answers = Answers{answersFallback, fmt.Sprintf("The fallback answers, not the application: %s. It is not promoted: only clients that go through "+
			"kube-proxy or Cilium are answered, and not those of consumers that use ready endpoints alone, as most ingress controllers.", listed(standby))}
	case len(leaving) > 0:
		v.Answers = Answers{answersApplication, fmt.Sprintf("Only Pods that are shutting down answer, and not for long: %s.", listed(leaving))}
	default:
		v.Answers = Answers{answersNothing, "Nothing answers: there is no endpoint that is ready, neither of the application nor of a fallback."}
	}
	if v.Answers.By == answersFallback && len(leaving) > 0 {
		v.Answers.Message += fmt.Sprintf(" Pods of the application that are shutting down may still answer a part of the requests: %s.", listed(leaving))
	}
}

// next says what would happen in an outage.
func (v *View) next(standby []string) string {
	switch {
	case v.Governor == nil && v.partial:
		return "It is not known: see the notices."
	case v.Governor == nil:
		return "Nothing would answer: no CriticalService or ServiceFallback matches the Service."
	case v.Status == nil:
		return "It is not known: see the notices."
	case v.Status.State == criticalv2.StateIgnored:
		return "Nothing would answer: the Service is ignored."
	case len(standby) > 0 && v.isSilent():
		return fmt.Sprintf("The fallback stands by (%s), and may not answer: it did not pass the last self-test.", listed(standby))
	case v.Status.State == criticalv2.StateArming:
		return "Nothing would answer: " + v.Status.Message
	case len(standby) > 0:
		return fmt.Sprintf("The fallback would answer at once: %s.", listed(standby))
	default:
		return "A fallback Pod would be made then, which takes as long as a Pod takes to start."
	}
}

// names are the Pods of some endpoints, or their addresses where no Pod is named.
func (v *View) names(chosen func(endpoints.Endpoint) bool) []string {
	var names []string
	for _, endpoint := range v.Endpoints {
		name := "Pod " + endpoint.Pod
		if endpoint.Pod == "" {
			name = endpoint.Address
		}
		if chosen(endpoint) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// mostListed is how many names a sentence has.
const mostListed = 3

func listed(names []string) string { return output.Names(names, mostListed) }

// isPromoted reports whether an endpoint of the fallback is a ready one.
func isPromoted(endpoint endpoints.Endpoint) bool {
	return endpoint.Source == endpoints.Fallback && endpoint.Ready
}

// isStandby reports whether an endpoint waits for an outage.
func isStandby(endpoint endpoints.Endpoint) bool {
	return endpoint.Source == endpoints.Fallback && !endpoint.Ready && endpoint.Serving && endpoint.Terminating
}
