// Package cluster is what the demo and the end-to-end tests both need of a Kubernetes cluster: to
// find it, to apply manifests as a user would, and to say what a workload is waiting for.
package cluster

import (
	"errors"
	"fmt"

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
// It asks for the server's version, so that a wrong address is known at once.
func Connect(kubeconfig string) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster: %w; give one with --kubeconfig FILE or KUBECONFIG=FILE, or run 'make demo', which starts one", err)
	}
	// The tests poll: waiting for the client's own limit would only blur what they measure.
	config.QPS, config.Burst = 100, 200

	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := errors.Join(criticalv1.AddToScheme(scheme), criticalv2.AddToScheme(scheme)); err != nil {
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
