// Command backup measures what a backup costs the API server of the workloads operator, side by
// side with `etcdctl snapshot save` from the member: how long it takes, and how much memory the server
// has at most. Both write a file into the same folder.
//
// It starts an etcd with that much data, kube-apiserver, and the server as a process with the
// permissions that it is installed with.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/critical-service/operator/internal/etcd/console"
	"github.com/critical-service/operator/internal/etcd/remote"
	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/test/testenv"
	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/internal/operator"
	"github.com/critical-service/operator/workloads/test/aggregated"
)

// target is the most memory that the server may have, in bytes.
const target = 100 << 20

func main() {
	process.Main(aggregated.Serve, func() int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		ctrllog.SetLogger(logr.Discard())
		if err := command().ExecuteContext(ctx); err != nil {
			return 1
		}
		return 0
	})
}

func command() *cobra.Command {
	mebibytes, rounds, etcdctl := 2000, 3, ""
	command := &cobra.Command{
		Use: "backup", Short: "Measure what a backup costs", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			return run(command.Context(), mebibytes, rounds, etcdctl)
		},
	}
	command.Flags().IntVar(&mebibytes, "mebibytes", mebibytes, "how much the etcd holds")
	command.Flags().IntVar(&rounds, "rounds", rounds, "how often each is measured")
	command.Flags().StringVar(&etcdctl, "etcdctl", etcdctl, "the path of etcdctl")
	return command
}

func run(ctx context.Context, mebibytes, rounds int, etcdctl string) (err error) {
	cluster, err := testenv.Start(testenv.Installation{
		Config: "workloads/config", Namespace: operator.Namespace, Account: operator.Name, Definitions: []string{"config/crd/bases"},
		Conversion: func() (http.Handler, error) { return http.NotFoundHandler(), nil }, Aggregates: true,
	}, must(controllers.Scheme()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	setup, err := aggregated.Prepare(ctx, cluster, mebibytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(setup.Folder)) }()
	server, err := serve(ctx, cluster, setup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.End()) }()
	client, err := remote.New(cluster.Admin)
	if err != nil {
		return err
	}
	before, err := memory(server.PID)
	if err != nil {
		return err
	}
	name := types.NamespacedName{Namespace: aggregated.Namespace, Name: aggregated.Instance}
	var ours, theirs []time.Duration
	var bytes int64
	for range rounds {
		took, err := timed(func() (err error) {
			bytes, err = byServer(ctx, client, name, filepath.Join(setup.Folder, "ours.db"))
			return err
		})
		if err != nil {
			return err
		}
		ours = append(ours, took)
		if took, err = timed(func() error { return byEtcdctl(ctx, etcdctl, setup.Endpoint, filepath.Join(setup.Folder, "theirs.db")) }); err != nil {
			return err
		}
		theirs = append(theirs, took)
	}
	after, err := memory(server.PID)
	if err != nil {
		return err
	}
	report(bytes, ours, theirs, before, after)
	if after > target {
		return fmt.Errorf("the server had %s, and may have %s", console.Size(after), console.Size(target))
	}
	return nil
}

// serve starts the server, and waits until kube-apiserver reaches it.
func serve(ctx context.Context, cluster *testenv.Cluster, setup *aggregated.Setup) (*process.Process, error) {
	kubeconfig := setup.Folder + "/kubeconfig"
	if err := os.WriteFile(kubeconfig, cluster.OperatorKubeconfig, 0o600); err != nil {
		return nil, err
	}
	environment, err := setup.Environment()
	if err != nil {
		return nil, err
	}
	// As config/manager has it: a collection of garbage costs little here, and keeps the memory low.
	server, err := process.Launch(os.Args[0], kubeconfig, operator.Namespace, process.AsOperator, environment, "GOGC=50", "GOMEMLIMIT=512MiB")
	if err != nil {
		return nil, err
	}
	return server, wait.PollUntilContextTimeout(ctx, time.Second/10, time.Minute, true, func(ctx context.Context) (bool, error) {
		status, err := setup.Available(ctx, cluster)
		return status == "True", err
	})
}

// byServer takes a backup as the CLI does, verified and synced to the disk, and says how long it is.
func byServer(ctx context.Context, client *remote.Client, name types.NamespacedName, path string) (bytes int64, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(path)) }()
	taken, err := client.Backup(ctx, name, file, func(int64, int64) {})
	if err != nil {
		return 0, err
	}
	return taken.Bytes, file.Sync()
}

func byEtcdctl(ctx context.Context, etcdctl, endpoint, path string) error {
	said, err := exec.CommandContext(ctx, etcdctl, "--endpoints="+endpoint, "snapshot", "save", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("etcdctl snapshot save: %w: %s", err, said)
	}
	return os.Remove(path)
}

func timed(do func() error) (time.Duration, error) {
	began := time.Now()
	err := do()
	return time.Since(began), err
}

var most = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// memory is the most that a process has had, in bytes.
func memory(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	found := most.FindSubmatch(status)
	if found == nil {
		return 0, errors.New("the kernel does not say how much memory a process has had")
	}
	kilobytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	return kilobytes << 10, err
}

func report(bytes int64, ours, theirs []time.Duration, before, after int64) {
	fmt.Printf("snapshot: %s\n", console.Size(bytes))
	ratio := 0.0
	for i := range ours {
		ratio += ours[i].Seconds() / theirs[i].Seconds() / float64(len(ours))
		fmt.Printf("round %d: by the API server %s, by etcdctl snapshot save %s\n", i+1, ours[i].Round(time.Millisecond), theirs[i].Round(time.Millisecond))
	}
	fmt.Printf("ratio: %.2f\nmost memory of the server: %s before, %s after\n", ratio, console.Size(before), console.Size(after))
}

// must is for what cannot fail.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
