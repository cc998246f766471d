// Package etcd is the command that makes, lists, deletes, backs up and restores ETCDInstances, the
// etcd clusters of the workloads operator, and verifies their snapshots.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/etcd/console"
	"github.com/critical-service/operator/internal/etcd/remote"
	"github.com/critical-service/operator/internal/etcd/snapshot"
)

// Command is `kubectl critsvc etcd`.
func Command(to *access.Access) *cobra.Command {
	command := &cobra.Command{
		Use:   "etcd",
		Short: "Make, list, delete, back up and restore etcd clusters",
		Long: `Make, list, delete, back up and restore ETCDInstances, the etcd clusters of Critical Service Workloads, and
verify snapshots of them. Backups need the API server of that operator, which an administrator turns on.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(createCommand(to), listCommand(to), deleteCommand(to), backupCommand(to), restoreCommand(to), verifyCommand(to))
	return command
}

// oneName is the Args of a command about one ETCDInstance.
func oneName(_ *cobra.Command, arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("name one ETCDInstance")
	}
	return nil
}

// reach is a client, and the instance that an argument names.
func reach(to *access.Access, argument string) (*remote.Client, types.NamespacedName, error) {
	namespace, err := to.Namespace()
	if err != nil {
		return nil, types.NamespacedName{}, err
	}
	config, err := to.RESTConfig()
	if err != nil {
		return nil, types.NamespacedName{}, err
	}
	client, err := remote.New(config)
	return client, types.NamespacedName{Namespace: namespace, Name: argument}, err
}

// about is the RunE of a command about one ETCDInstance.
func about(to *access.Access, do func(context.Context, *remote.Client, types.NamespacedName) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, arguments []string) error {
		client, name, err := reach(to, arguments[0])
		if err != nil {
			return err
		}
		return do(command.Context(), client, name)
	}
}

func consoleOf(to *access.Access) console.Console {
	return console.Console{Out: to.Out, ErrOut: to.ErrOut}
}

func createCommand(to *access.Access) *cobra.Command {
	spec := &remote.Spec{}
	command := &cobra.Command{
		Use:     "create NAME",
		Short:   "Make an ETCDInstance",
		Example: `  kubectl critsvc etcd create my-super-etcd --replicas 3 --enable-tls --storage 1Gi`,
		Args:    oneName,
		RunE: about(to, func(ctx context.Context, client *remote.Client, name types.NamespacedName) error {
			return consoleOf(to).Create(ctx, client, name, spec)
		}),
	}
	addSpec(command, spec)
	return command
}

// addSpec adds the flags that say what a new instance is to be.
func addSpec(command *cobra.Command, spec *remote.Spec) {
	replicas := command.Flags().Int64("replicas", 1, "How many members it has, 1 to 9")
	command.PreRun = func(*cobra.Command, []string) {
		if command.Flags().Changed("replicas") {
			spec.Replicas = replicas
		}
	}
	command.Flags().BoolVar(&spec.TLS, "enable-tls", false, "Reach members and clients over TLS")
	command.Flags().StringVar(&spec.Storage, "storage", "", "The size of the volume of each member, for example 1Gi; none by default")
	command.Flags().StringVar(&spec.StorageClass, "storage-class", "", "The StorageClass of these volumes; the cluster's default by default")
	command.Flags().StringVar(&spec.Image, "image", "", "The image of the members; the operator's by default")
	command.Flags().StringVar(&spec.From, "from", "", "Begin with the data of another ETCDInstance of the namespace")
}

func listCommand(to *access.Access) *cobra.Command {
	everywhere := false
	command := &cobra.Command{
		Use:   "list",
		Short: "List ETCDInstances",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			client, name, err := reach(to, "")
			if err != nil {
				return err
			}
			if everywhere {
				name.Namespace = ""
			}
			return consoleOf(to).List(command.Context(), client, name.Namespace)
		},
	}
	command.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "List those of all namespaces")
	return command
}

func deleteCommand(to *access.Access) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete an ETCDInstance. Its volumes are kept, unless its storage says otherwise",
		Args:  oneName,
		RunE: about(to, func(ctx context.Context, client *remote.Client, name types.NamespacedName) error {
			return consoleOf(to).Delete(ctx, client, name)
		}),
	}
}

func backupCommand(to *access.Access) *cobra.Command {
	file, replace, store := "", false, false
	command := &cobra.Command{
		Use:   "backup NAME",
		Short: "Write a snapshot of an ETCDInstance to a file or to the output, or store it in the cluster",
		Long: `Write a snapshot of an ETCDInstance, with all that was acknowledged before, to a file or to the output. A file
gets its name when the snapshot is whole and verified. The connection is one that the API server of the cluster
does not cut after 60 s, as it does with "kubectl get --raw". With --store the snapshot stays in the cluster, in
the PersistentVolumeClaim NAME-backup.`,
		Example: `  kubectl critsvc etcd backup my-super-etcd -f my-super-etcd.db
  kubectl critsvc etcd backup my-super-etcd --store`,
		Args: oneName,
		RunE: about(to, func(ctx context.Context, client *remote.Client, name types.NamespacedName) error {
			if store {
				return consoleOf(to).Store(ctx, client, name)
			}
			return consoleOf(to).Backup(ctx, client, name, file, replace)
		}),
	}
	command.Flags().BoolVar(&store, "store", false, "Store the snapshot in the claim NAME-backup")
	command.Flags().StringVarP(&file, "file", "f", "", "Where the snapshot is written; the output by default, unless that is a terminal")
	command.Flags().BoolVar(&replace, "overwrite", false, "Replace a file that exists")
	command.MarkFlagsMutuallyExclusive("store", "file")
	command.MarkFlagsMutuallyExclusive("store", "overwrite")
	return command
}

func restoreCommand(to *access.Access) *cobra.Command {
	spec := &remote.Spec{}
	restoration := &console.Restoration{Spec: spec}
	command := &cobra.Command{
		Use:   "restore NAME",
		Short: "Restore a snapshot into a new ETCDInstance",
		Long: `Restore a snapshot into an ETCDInstance that has no data, and wait until it has. The snapshot is a file, or taken
of another ETCDInstance of the namespace. The ETCDInstance is made if it does not exist. A file is verified
before it is sent: if it is not whole, nothing is made, and the exit code is 1.`,
		Example: `  kubectl critsvc etcd restore my-new-etcd --file my-super-etcd.db --replicas 3 --storage 1Gi
  kubectl critsvc etcd restore my-new-etcd --from my-super-etcd --storage 1Gi`,
		Args: oneName,
		RunE: about(to, func(ctx context.Context, client *remote.Client, name types.NamespacedName) error {
			restoration.Instance, spec.Upload = name, spec.From == ""
			err := consoleOf(to).Restore(ctx, client, restoration)
			if snapshot.IsVerdict(err) {
				fmt.Fprintf(to.ErrOut, "%s: %v\n", restoration.File, err)
				return access.ErrNo
			}
			return err
		}),
	}
	addSpec(command, spec)
	command.Flags().StringVarP(&restoration.File, "file", "f", "", "The snapshot")
	command.Flags().DurationVar(&restoration.Within, "timeout", 10*time.Minute, "How long the operator is waited for, before and after the snapshot is sent")
	command.MarkFlagsMutuallyExclusive("file", "from")
	command.MarkFlagsOneRequired("file", "from")
	return command
}

func verifyCommand(to *access.Access) *cobra.Command {
	var format *output.Flags
	command := &cobra.Command{
		Use:   "verify FILE",
		Short: "Verify that a snapshot is whole, and print what it holds. It asks no cluster",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, arguments []string) error {
			contents, err := snapshot.Inspect(arguments[0])
			switch {
			case snapshot.IsVerdict(err):
				fmt.Fprintf(to.ErrOut, "%s: %v\n", arguments[0], err)
				return access.ErrNo
			case err != nil:
				return err
			case format.Structured():
				return format.Document(to.Out, contents)
			}
			return consoleOf(to).Describe(arguments[0], contents)
		},
	}
	format = output.AddTo(command, output.JSON, output.YAML)
	return command
}
