// Command manager is the Critical Service Operator.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/internal/operator"
	"github.com/critical-service/operator/internal/operator/check"
	"github.com/critical-service/operator/internal/operator/manager"
	"github.com/critical-service/operator/internal/operator/settings"
)

func main() {
	command := manager.Command("Keep critical Services answering when all their Pods are gone", settings.Bind, operator.Run)
	command.AddCommand(check.Command(check.CriticalServices...))
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}
