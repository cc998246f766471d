// Package cluster is what the demo, the benchmarks, the soak and the end-to-end tests need of a Kubernetes cluster: to
// find it, to apply manifests as a user would, and to say what a workload is waiting for.
package cluster

import (
	"context"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Cluster is a connection to a cluster.
type Cluster struct {
	client.Client
	// Clientset is for what Client cannot do: logs, versions, tables.
	Clientset kubernetes.Interface
	Config    *rest.Config
	// Kubeconfig is the file that leads to the cluster; empty when the default places do.
	Kubeconfig string
	// Version of the API server, for example "v1.37.1".
	Version string
}

// Connect finds the cluster as kubectl does: the file given, else $KUBECONFIG, else ~/.kube/config.
// It asks for the server's version, so that a wrong address is known at once. Its client knows the kinds of Kubernetes,
// those of the core, and more of them.
func Connect(kubeconfig string, more ...func(*runtime.Scheme) error) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster: %w; give one with --kubeconfig FILE or KUBECONFIG=FILE, or run 'make demo', which starts one", err)
	}
	// The tests poll: waiting for the client's own limit would only blur what they measure.
	config.QPS, config.Burst = 100, 200

	scheme := runtime.NewScheme()
	known := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, criticalv1.AddToScheme, criticalv2.AddToScheme)
	known.Register(more...)
	if err := known.AddToScheme(scheme); err != nil {
		return nil, err
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("the cluster at %s does not answer: %w", config.Host, err)
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	version, err := clientset.DiscoveryClient.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("the cluster at %s does not answer: %w", config.Host, err)
	}
	return &Cluster{
		Client: reader, Clientset: clientset, Config: config,
		Kubeconfig: kubeconfig, Version: version.GitVersion,
	}, nil
}

// As is a client that acts as a user, who has what is bound to this name, and to everyone who is known.
func (c *Cluster) As(user string) (client.Client, error) {
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	return client.New(config, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
}

// Binding gives a user a ClusterRole in a namespace. It has the name of the user.
func Binding(namespace, user, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
}

// AddressesAreRouted finds out whether this machine can reach a ClusterIP, as scenarios that are clients of Services must.
func (c *Cluster) AddressesAreRouted(ctx context.Context) error {
	var service corev1.Service
	if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "kubernetes"}, &service); err != nil {
		return err
	}
	address := net.JoinHostPort(service.Spec.ClusterIP, "443")
	connection, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("the ClusterIP %s cannot be reached from here (%w): run the tests on a node of the cluster, "+
			"for example on the devcluster", address, err)
	}
	return connection.Close()
}
