// Package versions is the command that prints the version of the plugin, and of the
// operator in the cluster.
package versions

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/installation"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/version"
)

// View is what the command found, as -o json prints it.
type View struct {
	Plugin Plugin `json:"plugin"`
	// Operators are the Pods of the operator; absent with --client.
	Operators []Operator `json:"operators,omitempty"`
}

// Plugin is this program.
type Plugin struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
}

// Operator is a Pod of the operator.
type Operator struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Image     string `json:"image"`
	Ready     bool   `json:"ready"`
}

// Command is `kubectl critsvc version`.
func Command(to *access.Access) *cobra.Command {
	var format *output.Flags
	alone := false
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this plugin, and the image of the operator in the cluster",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			view := View{Plugin: Plugin{Version: version.Version, Commit: version.Commit}}
			namespace, failed := "", error(nil)
			if !alone {
				namespace, view.Operators, failed = operators(command.Context(), to)
			}
			return show(to, format, view, namespace, failed)
		},
	}
	format = output.AddTo(command, output.JSON, output.YAML)
	command.Flags().BoolVar(&alone, "client", false, "Print the version of the plugin only, and ask no cluster")
	return command
}

// operators are the Pods of the operator, in the namespace of the installation.
func operators(ctx context.Context, to *access.Access) (namespace string, found []Operator, err error) {
	reader, err := to.Client()
	if err != nil {
		return "", nil, err
	}
	if namespace, err = installation.Namespace(ctx, reader); err != nil {
		return "", nil, err
	}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.InNamespace(namespace), installation.Labels); err != nil {
		return "", nil, fmt.Errorf("look for the operator's Pods in namespace %s: %w", namespace, err)
	}
	found = make([]Operator, 0, len(pods.Items))
	for i := range pods.Items {
		found = append(found, operatorOf(&pods.Items[i]))
	}
	slices.SortFunc(found, func(a, b Operator) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod))
	})
	return namespace, found, nil
}

func operatorOf(pod *corev1.Pod) Operator {
	result := Operator{Namespace: pod.Namespace, Pod: pod.Name}
	for i := range pod.Spec.Containers {
		if container := &pod.Spec.Containers[i]; container.Name == installation.Container || result.Image == "" {
			result.Image = container.Image
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			result.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	return result
}

// show prints the plugin's version even where the cluster's cannot be found. The
// namespace is that in which the operator was looked for; empty if it was not.
func show(to *access.Access, format *output.Flags, view View, namespace string, failed error) error {
	if format.Structured() {
		if err := format.Document(to.Out, view); err != nil {
			return err
		}
		return failed
	}
	fmt.Fprintf(to.Out, "Plugin:    %s (commit %s)\n", view.Plugin.Version, view.Plugin.Commit)
	for _, operator := range view.Operators {
		state := "not ready"
		if operator.Ready {
			state = "ready"
		}
		fmt.Fprintf(to.Out, "Operator:  %s (Pod %s/%s, %s)\n", operator.Image, operator.Namespace, operator.Pod, state)
	}
	if namespace != "" && len(view.Operators) == 0 {
		fmt.Fprintf(to.Out, "Operator:  no Pod of it in namespace %s\n", namespace)
	}
	return failed
}
