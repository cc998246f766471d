package decide

import (
	"fmt"
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// maintenanceRemarks add what is known of a maintenance, whatever rule applies.
var maintenanceRemarks = []remark{preparingPage, maintenanceAnnounced}

// preparingPage adds that the page of a maintenance is not there yet.
func preparingPage(d *decision, said standing) standing {
	if d.maintenance != nil && d.want.preparing {
		said.message += fmt.Sprintf(" A maintenance is announced%s, and its page is being prepared: %s", ending(d.maintenance), first(pageRules, d).message(d))
	}
	return said
}

// maintenanceAnnounced says that the outage is announced, instead of what a Service
// in good order is said to be, and before what else has to be known.
func maintenanceAnnounced(d *decision, said standing) standing {
	if d.maintenance == nil || d.want.preparing {
		return said
	}
	text := "A maintenance is announced" + ending(d.maintenance)
	if d.maintenance.IsOver(d.Now) {
		text = "A maintenance was announced" + ending(d.maintenance) + ", and the application is not back yet"
	}
	needsAction := protection.NeedsAction(said.reason)
	switch {
	case !needsAction && said.state == criticalv2.StateArmed:
		said.reason = criticalv2.ReasonMaintenance
		said.message = fmt.Sprintf("%s. %s; %s would answer in their place at once.", text, d.stillServing(), d.answerer())
	case !needsAction && said.state == criticalv2.StateCovered:
		said.reason = criticalv2.ReasonMaintenance
		said.message = fmt.Sprintf("%s; %s answers.", text, d.answerer())
	default:
		said.message = text + ". " + said.message
	}
	return said
}

// stillServing says how many endpoints a maintenance does not take away: that would
// change what is the user's.
func (d *decision) stillServing() string {
	if d.own != 1 {
		return fmt.Sprintf("%d endpoints of the Service's own still take the traffic", d.own)
	}
	return "1 endpoint of the Service's own still takes the traffic"
}

func ending(m *criticalv2.Maintenance) string {
	end := m.End()
	if end == nil {
		return ""
	}
	return " until " + end.UTC().Format(time.RFC3339)
}
