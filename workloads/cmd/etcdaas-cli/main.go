// Command etcdaas-cli is the program of the workshop "Extend the Kubernetes API with your own
// services", with its flags. It does what `kubectl critsvc etcd` does, by the same code.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/critical-service/operator/internal/etcd/console"
	"github.com/critical-service/operator/internal/etcd/remote"
	"github.com/critical-service/operator/internal/text/terminal"
)

// exitError is the exit code of a command that could not be carried out.
const exitError = 2

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, console.Console{Out: os.Stdout, ErrOut: os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// request is what the flags ask for.
type request struct {
	create, list, remove, backup bool
	instance                     types.NamespacedName
	replicas                     int64
	tls                          bool
}

// run carries out a command line, and returns the exit code.
func run(ctx context.Context, to console.Console, arguments []string) int {
	r := &request{}
	flags := flag.NewFlagSet("etcdaas-cli", flag.ContinueOnError)
	flags.SetOutput(to.ErrOut)
	flags.BoolVar(&r.create, "create", false, "create an etcd")
	flags.BoolVar(&r.list, "list", false, "list the etcds of the namespace")
	flags.BoolVar(&r.remove, "delete", false, "delete an etcd")
	flags.BoolVar(&r.backup, "backup", false, "write a snapshot of an etcd to the output")
	flags.StringVar(&r.instance.Name, "name", "", "the name of the etcd")
	flags.StringVar(&r.instance.Namespace, "namespace", "default", "its namespace")
	flags.Int64Var(&r.replicas, "replicas", 1, "how many members it has, for -create")
	flags.BoolVar(&r.tls, "enable-tls", false, "reach members and clients over TLS, for -create")
	switch err := flags.Parse(arguments); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitError // The flags have said why.
	}
	if err := r.carryOut(ctx, to, flags.Args()); err != nil {
		fmt.Fprintln(to.ErrOut, "error:", terminal.Lines(err.Error()))
		return exitError
	}
	return 0
}

// carryOut does the one thing that is asked for.
func (r *request) carryOut(ctx context.Context, to console.Console, rest []string) error {
	asked := 0
	for _, is := range []bool{r.create, r.list, r.remove, r.backup} {
		if is {
			asked++
		}
	}
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q is no flag: the name of the etcd is given by -name", rest[0])
	case asked != 1:
		return errors.New("say one of -create, -list, -delete and -backup")
	case !r.list && r.instance.Name == "":
		return errors.New("say by -name which etcd is meant")
	}
	// As kubectl finds it: KUBECONFIG, then ~/.kube/config.
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	client, err := remote.New(config)
	switch {
	case err != nil:
		return err
	case r.create:
		return to.Create(ctx, client, r.instance, &remote.Spec{Replicas: &r.replicas, TLS: r.tls})
	case r.remove:
		return to.Delete(ctx, client, r.instance)
	case r.backup:
		return to.Backup(ctx, client, r.instance, "", false)
	default:
		return list(ctx, client, r.instance.Namespace, to.Out)
	}
}

// list prints what the workshop's program prints, in the form of JSON: that printed the fields of
// structs, and had them as Go writes them.
func list(ctx context.Context, client *remote.Client, namespace string, to io.Writer) error {
	found, err := client.List(ctx, namespace)
	if err != nil {
		return fmt.Errorf("list ETCDInstances: %w", err)
	}
	for i := range found {
		spec, failedSpec := json.Marshal(found[i].Object["spec"])
		status, failedStatus := json.Marshal(found[i].Object["status"])
		if err := errors.Join(failedSpec, failedStatus); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(to, "%s:\n\tspec: %s, \n\tstatus: %s\n", found[i].GetName(), terminal.OneLine(string(spec)), terminal.OneLine(string(status))); err != nil {
			return err
		}
	}
	return nil
}
