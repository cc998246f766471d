package decide

import (
	"fmt"
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// pageRules say why the responder of the namespace does not listen on the Service's
// ports yet.
var pageRules = []rule{
	{
		when:  func(d *decision) bool { return d.Settings.NoResponder != "" },
		state: unprotected, reason: criticalv2.ReasonResponderFailing,
		message: func(d *decision) string { return d.Settings.NoResponder },
	},
	{
		when:  func(d *decision) bool { return d.responderProblem() != "" },
		state: unprotected, reason: criticalv2.ReasonResponderFailing,
		message: func(d *decision) string {
			return d.theResponder("does not come up: " + d.responderProblem() + d.remedy())
		},
	},
	{
		when:  func(d *decision) bool { return d.Responder.Deployment == nil && d.responderIsLate() },
		state: unprotected, reason: criticalv2.ReasonResponderFailing,
		message: func(d *decision) string {
			return d.theResponder("has not been made: the events of the CriticalService say why.")
		},
	},
	{
		when:  func(d *decision) bool { return d.Responder.Deployment == nil },
		state: unprotected, reason: criticalv2.ReasonResponderStarting,
		message:   func(d *decision) string { return d.theResponder("is being made.") },
		changesIn: responderDue,
	},
	{
		when:  func(d *decision) bool { return d.lacksListener() && d.responderIsLate() },
		state: unprotected, reason: criticalv2.ReasonResponderFailing,
		message: func(d *decision) string {
			return d.theResponder("has no listener for the Service: the events of the Service say why.")
		},
	},
	{
		when: always, state: unprotected, reason: criticalv2.ReasonResponderStarting,
		message:   func(d *decision) string { return d.theResponder("does not listen on the Service's ports yet.") },
		changesIn: responderDue,
	},
}

func responderDue(d *decision) time.Duration { return d.responderDueIn() }

// responderIsLate reports whether the responder's controller has had its time.
func (d *decision) responderIsLate() bool { return d.responderDueIn() <= 0 }

// theResponder begins a sentence about the responder of the namespace.
func (d *decision) theResponder(predicate string) string {
	return fmt.Sprintf("The responder, Deployment %q in namespace %q, %s", criticalv2.ResponderName, d.Service.Namespace, predicate)
}
