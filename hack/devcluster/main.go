// Command devcluster builds and runs a real one-node Kubernetes on this machine
// from Go modules and distribution packages alone.
package main

import (
	"os"

	"github.com/critical-service/operator/hack/devcluster/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:]))
}
