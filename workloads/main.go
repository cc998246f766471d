// Command manager is the Critical Service Workloads operator.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/internal/operator/check"
	"github.com/critical-service/operator/internal/operator/manager"
	"github.com/critical-service/operator/workloads/internal/operator"
	"github.com/critical-service/operator/workloads/internal/settings"
)

func main() {
	command := manager.Command("Run the usual parts of a critical application, born protected", settings.Bind, operator.Run)
	command.AddCommand(check.Command(operator.Webhooks...))
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}
