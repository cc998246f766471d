// Package check is `manager check`: it asks the API server, by dry runs that create nothing, whether it reaches an
// operator's webhooks. The chart's test runs it in a Pod.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
)

const retryPeriod = time.Second

// Part is what one webhook is for. Its check asks the API server for something that only that webhook can answer.
type Part struct {
	Name string
	// Check creates objects by Create, in this namespace if they are of one.
	Check func(ctx context.Context, client dynamic.Interface, namespace string) error
}

// Command is the subcommand that checks these parts.
func Command(parts ...Part) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "check", Short: "Check, by dry runs, that the API server reaches the operator's webhooks", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := ctrl.GetConfig()
			if err != nil {
				return fmt.Errorf("find the cluster: %w", err)
			}
			// In a Pod, its own.
			namespace, _, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).Namespace()
			if err != nil {
				return fmt.Errorf("find the namespace: %w", err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return Webhooks(ctx, config, namespace, cmd.OutOrStdout(), parts...)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to retry")
	return cmd
}

// Webhooks checks the parts until the context ends, and reports what is well. It needs the permission to create the
// objects of the parts only.
func Webhooks(ctx context.Context, config *rest.Config, namespace string, report io.Writer, parts ...Part) error {
	config = rest.CopyConfig(config)
	// Of what the object would do, if it were created.
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	for _, part := range parts {
		if err := retry(ctx, func(ctx context.Context) error { return part.Check(ctx, client, namespace) }); err != nil {
			return fmt.Errorf("%s: %w; the API server must reach the port webhook of the operator's Pods", part.Name, err)
		}
		_, _ = fmt.Fprintf(report, "%s: the API server reaches the operator's webhook\n", part.Name)
	}
	return nil
}

// retry repeats a check until it succeeds. After the end it is the last failure that was not the end itself.
func retry(ctx context.Context, check func(context.Context) error) error {
	var failed error
	ended := wait.PollUntilContextCancel(ctx, retryPeriod, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if err != nil && (failed == nil || ctx.Err() == nil) {
			failed = err
		}
		return err == nil, nil
	})
	if ended == nil {
		return nil
	}
	return errors.Join(failed, ended)
}

// Create creates an object with a spec, as a dry run.
func Create(ctx context.Context, resource dynamic.ResourceInterface, kind schema.GroupVersionKind, spec map[string]any) error {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(kind)
	object.SetGenerateName("check-")
	_, err := resource.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
