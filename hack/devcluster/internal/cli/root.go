// Package cli is the command line of devcluster.
package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

// Run runs the command line and returns the exit code.
func Run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		if ctx.Err() != nil {
			const interrupted = 130 // What shells report for SIGINT.
			return interrupted
		}
		return 1
	}
	return 0
}

// app is what the commands have in common.
type app struct{ stateDir, kubernetes string }

func newRoot() *cobra.Command {
	a := &app{}
	root := &cobra.Command{
		Use:   "devcluster",
		Short: "A real Kubernetes on this machine, built from Go modules",
		Long: "devcluster builds Kubernetes from pinned Go modules and runs a real control plane and\n" +
			"one to three real nodes on this machine: no container registry and no download but Go modules\n" +
			"and Debian packages. It needs Linux and root; `devcluster assets` needs neither.\n" +
			"Kubernetes is the newest of hack/devcluster/components, or the one of --kubernetes.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&a.stateDir, "state-dir", "",
		fmt.Sprintf("folder of the running cluster (default $%s or %s)", layout.StateDirVariable, layout.DefaultStateDir))
	root.AddCommand(a.build(), a.assets(), a.monitoring())
	root.AddCommand(a.clusterCommands()...)
	return root
}

func (a *app) builder() (*build.Builder, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	repo, err := layout.FindRepository(here, filepath.Dir(self))
	if err != nil {
		return nil, err
	}
	b := build.NewBuilder(repo, build.NewProgress(os.Stderr))
	if err := b.SelectKubernetes(a.kubernetes); err != nil {
		return nil, err
	}
	return b, nil
}

// choosingKubernetes gives a command that builds Kubernetes the choice of its version. The
// others find what is built and running, whatever the environment says.
func (a *app) choosingKubernetes(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.kubernetes, "kubernetes", "",
		fmt.Sprintf("minor version of Kubernetes, such as 1.28 (default $%s or the newest)", build.KubernetesVariable))
	cmd.PreRun = func(*cobra.Command, []string) {
		if a.kubernetes == "" {
			a.kubernetes = os.Getenv(build.KubernetesVariable)
		}
	}
	return cmd
}

func (a *app) build() *cobra.Command {
	return a.choosingKubernetes(&cobra.Command{
		Use:   "build",
		Short: "Build all components without starting them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.builder()
			if err != nil {
				return err
			}
			if err := b.Ensure(cmd.Context(), build.All()...); err != nil {
				return err
			}
			return b.Prune()
		},
	})
}

func (a *app) assets() *cobra.Command {
	return a.choosingKubernetes(a.folderOf("assets", "Build etcd, kube-apiserver and kubectl, and print their folder for KUBEBUILDER_ASSETS", build.TestAssets()))
}

func (a *app) monitoring() *cobra.Command {
	return a.folderOf("monitoring", "Build prometheus-operator, Prometheus and promtool, and print their folder", build.Monitoring())
}

// folderOf is a command that builds components of one set, and prints their folder.
func (a *app) folderOf(name, short string, components []build.Component) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.builder()
			if err != nil {
				return err
			}
			if err := b.Ensure(cmd.Context(), components...); err != nil {
				return err
			}
			folder, err := b.Folder(components[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), folder)
			return nil
		},
	}
}
