package access

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// completionTimeout is how long the completion of an argument may take.
const completionTimeout = 3 * time.Second

// CompleteServices completes the arguments of a command that takes any number of
// Services. Use it as the ValidArgsFunction of a command.
func (a *Access) CompleteServices(command *cobra.Command, arguments []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := a.serviceNames(command.Context(), begun)
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(arguments, name) }), cobra.ShellCompDirectiveNoFileComp
}

// CompleteService completes the argument of a command that takes one Service.
func (a *Access) CompleteService(command *cobra.Command, arguments []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(arguments) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.serviceNames(command.Context(), begun), cobra.ShellCompDirectiveNoFileComp
}

// serviceNames lists the Services of the namespace that continue what was typed,
// in the same way of naming them. A cluster that does not answer completes nothing.
func (a *Access) serviceNames(ctx context.Context, begun string) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	reader, err := a.Client()
	if err != nil {
		return nil
	}
	namespace, err := a.Namespace()
	if err != nil {
		return nil
	}
	var services corev1.ServiceList
	if err := reader.List(ctx, &services, client.InNamespace(namespace)); err != nil {
		return nil
	}
	kind, _, found := strings.Cut(begun, "/")
	if !found {
		kind = "svc"
	}
	var names []cobra.Completion
	for i := range services.Items {
		if name := kind + "/" + services.Items[i].Name; strings.HasPrefix(name, begun) || strings.HasPrefix(services.Items[i].Name, begun) {
			names = append(names, name)
		}
	}
	return names
}
