package decide

import (
	"fmt"
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// plannedCause explains an outage that is planned; nil if it is not.
func (p *Plan) plannedCause() *criticalv2.OutageCause {
	switch m := p.Maintenance; {
	case m != nil && m.Workload != nil:
		return &criticalv2.OutageCause{Reason: criticalv2.CauseMaintenance,
			Message: fmt.Sprintf("The outage is planned: a maintenance is announced%s, and %s was scaled to 0.", ending(m), m.Workload)}
	case m != nil:
		return &criticalv2.OutageCause{Reason: criticalv2.CauseMaintenance,
			Message: "The outage is planned: a maintenance is announced" + ending(m) + "."}
	case p.Drill != nil:
		return &criticalv2.OutageCause{Reason: criticalv2.CauseDrill,
			Message: fmt.Sprintf("The outage is a live drill: %s was scaled to 0, and gets its replicas back%s.", p.Drill.Workload, by(p.Drill))}
	}
	return nil
}

// by is the last moment of a maintenance, in words.
func by(m *criticalv2.Maintenance) string {
	if m.Until == nil {
		return ""
	}
	return " at " + m.Until.UTC().Format(time.RFC3339) + " at the latest"
}
