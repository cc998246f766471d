// Package access is what every command of the plugin needs of the cluster: a
// client by the usual flags of kubectl, the namespace, and the Service that an
// argument names.
package access

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// ErrNo is returned by a command that was carried out and whose answer is no: a
// doctor that found problems, for example. Its output says what is wrong.
var ErrNo = errors.New("the answer is no")

// Access reaches the cluster as the flags of the command line say.
type Access struct {
	// Flags are those of kubectl: --context, --namespace, --kubeconfig, ...
	Flags *genericclioptions.ConfigFlags
	genericiooptions.IOStreams
}

// New makes an Access with kubectl's flags.
func New(streams genericiooptions.IOStreams) *Access {
	return &Access{Flags: genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag(), IOStreams: streams}
}

// Scheme knows every kind that a command reads or writes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, criticalv2.AddToScheme)
	return scheme, add.AddToScheme(scheme)
}

// RESTConfig is how the API server is reached.
func (a *Access) RESTConfig() (*rest.Config, error) {
	config, err := a.Flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	config.QPS = -1 // The API server's priority and fairness limits requests.
	config.WarningHandler = rest.NewWarningWriter(a.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	return config, nil
}

// Client reads and writes objects, and can watch them.
func (a *Access) Client() (client.WithWatch, error) {
	config, err := a.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// Namespace is that of --namespace, or of the current context.
func (a *Access) Namespace() (string, error) {
	namespace, _, err := a.Flags.ToRawKubeConfigLoader().Namespace()
	return namespace, err
}

// OneService is the Args of a command that is about one Service.
func OneService(_ *cobra.Command, arguments []string) error {
	switch len(arguments) {
	case 1:
		return nil
	case 0:
		return errors.New("name a Service: svc/NAME")
	default:
		return fmt.Errorf("name one Service, svc/NAME, and not %d: %s", len(arguments), strings.Join(arguments, " "))
	}
}

// Service reads an argument that names a Service of the namespace: svc/NAME,
// service/NAME, services/NAME, or NAME alone.
func (a *Access) Service(argument string) (types.NamespacedName, error) {
	kind, name, found := strings.Cut(argument, "/")
	if !found {
		kind, name = "svc", argument
	}
	switch kind {
	case "svc", "service", "services":
	default:
		return types.NamespacedName{}, fmt.Errorf("%q is not a Service: name it svc/NAME", argument)
	}
	if len(validation.IsDNS1123Label(name)) > 0 {
		return types.NamespacedName{}, fmt.Errorf("%q is not the name of a Service: name it svc/NAME", argument)
	}
	namespace, err := a.Namespace()
	return types.NamespacedName{Namespace: namespace, Name: name}, err
}
