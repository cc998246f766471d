package decide

import (
	"fmt"
	"strings"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// backupRules say why a backup Service cannot answer.
var backupRules = []rule{
	{
		when:  func(d *decision) bool { return d.backup.itself },
		state: unprotected, reason: criticalv2.ReasonBackupUnsuitable,
		message: says("The Service cannot back itself up: name another in spec.fallback.service."),
	},
	{
		when:  func(d *decision) bool { return d.backup.missing },
		state: unprotected, reason: criticalv2.ReasonBackupNotFound,
		message: func(d *decision) string {
			return fmt.Sprintf("Backup Service %q does not exist in namespace %q: create it, or name another in spec.fallback.service.",
				d.backup.name, d.Service.Namespace)
		},
	},
	{
		when:  func(d *decision) bool { return len(d.backup.lacking) > 0 },
		state: unprotected, reason: criticalv2.ReasonBackupUnsuitable,
		message: func(d *decision) string {
			return fmt.Sprintf("Backup Service %q has no port for %s: it must have ports of the same names, or both Services a single one.",
				d.backup.name, strings.Join(d.backup.lacking, ", "))
		},
	},
	{
		when:  func(d *decision) bool { return d.backup.foreign > 0 },
		state: unprotected, reason: criticalv2.ReasonBackupUnsuitable,
		message: func(d *decision) string {
			return fmt.Sprintf("The endpoints of backup Service %q are not Pods of namespace %q that its selector chose, and no others are published: give it a selector, and no EndpointSlice or Endpoints of its own.",
				d.backup.name, d.Service.Namespace)
		},
	},
	{
		when: always, state: unprotected, reason: criticalv2.ReasonBackupNotReady,
		message: func(d *decision) string {
			return fmt.Sprintf("Backup Service %q has no ready endpoint of its own.", d.backup.name)
		},
	},
}
