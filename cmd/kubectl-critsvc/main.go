// Command kubectl-critsvc is the kubectl plugin of the Critical Service Operator:
// `kubectl critsvc`.
package main

import (
	"os"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/plugin"
)

func main() {
	// What a person must know is in the output; libraries have nothing to add.
	ctrl.SetLogger(logr.Discard())
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	os.Exit(plugin.Run(ctrl.SetupSignalHandler(), streams, os.Args[1:]))
}
