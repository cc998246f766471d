// Package dns is the cluster's DNS: the manifests of CoreDNS, and a question to it.
package dns

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net"
	"text/template"
	"time"

	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

//go:embed coredns.yaml
var manifests string

// Manifests renders the objects of CoreDNS, with a Service in one IP family. Without forward it answers only for
// the cluster, which is all it can do on a machine without DNS servers.
func Manifests(family topology.Family, forward bool) ([]byte, error) {
	t, err := template.New("coredns").Parse(manifests)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"ClusterDomain": topology.ClusterDomain,
		"Image":         topology.CoreDNSImage,
		"ServiceIP":     family.DNSServiceIP,
		"NodeName":      topology.NodeName,
		"Forward":       forward,
	})
	return b.Bytes(), err
}

// Answers asks the cluster's DNS, through its Service, for the API server. An
// answer proves the node, kube-proxy and CoreDNS together.
func Answers(ctx context.Context, family topology.Family) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	resolver := &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(family.DNSServiceIP, "53"))
		},
	}
	// The final dot keeps the machine's own search domains out of it.
	addresses, err := resolver.LookupHost(ctx, "kubernetes.default.svc."+topology.ClusterDomain+".")
	if err != nil {
		return fmt.Errorf("cluster DNS: %w", err)
	}
	if len(addresses) != 1 || addresses[0] != family.APIServiceIP {
		return fmt.Errorf("cluster DNS: kubernetes.default is %v, not %s", addresses, family.APIServiceIP)
	}
	return nil
}
