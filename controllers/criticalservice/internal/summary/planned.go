package summary

import (
	"fmt"
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
)

// plannedCause explains an outage that is planned; nil if it is not.
func plannedCause(plan *decide.Plan) *criticalv2.OutageCause {
	switch m := plan.Maintenance; {
	case m != nil && m.Spec.Restore != nil:
		return &criticalv2.OutageCause{Reason: criticalv2.CauseMaintenance,
			Message: fmt.Sprintf("The outage is planned: a maintenance is announced%s, and %s was scaled to 0.", end(m, " until %s"), m.Spec.Restore)}
	case m != nil:
		return &criticalv2.OutageCause{Reason: criticalv2.CauseMaintenance,
			Message: "The outage is planned: a maintenance is announced" + end(m, " until %s") + "."}
	case plan.Drill != nil:
		return &criticalv2.OutageCause{Reason: criticalv2.CauseDrill,
			Message: fmt.Sprintf("The outage is a live drill: %s was scaled to 0, and gets its replicas back%s.",
				plan.Drill.Spec.Restore, end(plan.Drill, " at %s at the latest"))}
	}
	return nil
}

// end says when a maintenance ends; it is empty for one without an end.
func end(m *criticalv2.Maintenance, format string) string {
	at := m.End()
	if at == nil {
		return ""
	}
	return fmt.Sprintf(format, at.UTC().Format(time.RFC3339))
}
