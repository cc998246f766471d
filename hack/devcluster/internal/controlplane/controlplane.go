//go:build linux

// Package controlplane says how etcd, the API server, the controller manager and
// the scheduler are started, and with which certificates.
package controlplane

import (
	"fmt"
	"strconv"

	"github.com/critical-service/operator/hack/devcluster/internal/certificate"
	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/process"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// frontProxyUser is whom aggregated API servers trust to name the real user.
const frontProxyUser = "front-proxy-client"

// Certificates are all that a cluster of some nodes needs, clients' and servers'.
func Certificates(nodes []topology.Node, families topology.Families) []certificate.Request {
	own := families.Each(func(f topology.Family) string { return f.NodeIP })
	local := append([]string{"127.0.0.1", topology.NodeIP}, own...)
	requests := []certificate.Request{
		{Name: "etcd", CommonName: "etcd", IPs: local, DNSNames: []string{"localhost"}},
		{
			Name: "apiserver", CommonName: "kube-apiserver",
			IPs: append(families.Each(func(f topology.Family) string { return f.APIServiceIP }), local...),
			DNSNames: []string{
				"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
				"kubernetes.default.svc." + topology.ClusterDomain,
			},
		},
		{Name: "apiserver-kubelet-client", CommonName: "kube-apiserver-kubelet-client", Organizations: []string{"system:masters"}},
		{Name: "front-proxy-client", CommonName: frontProxyUser},
		{Name: "admin", CommonName: "admin", Organizations: []string{"system:masters"}},
		{Name: "kube-controller-manager", CommonName: "system:kube-controller-manager", IPs: local, DNSNames: []string{"localhost"}},
		{Name: "kube-scheduler", CommonName: "system:kube-scheduler", IPs: local, DNSNames: []string{"localhost"}},
	}
	for _, node := range nodes {
		addresses := []string{"127.0.0.1", node.IP}
		if node.IsHost() {
			addresses = local
		}
		requests = append(requests,
			certificate.Request{
				Name: node.Component("kubelet"), CommonName: "system:node:" + node.Name, Organizations: []string{"system:nodes"},
				IPs: addresses, DNSNames: []string{node.Name},
			},
			certificate.Request{Name: node.Component("kube-proxy"), CommonName: "system:kube-proxy"},
			certificate.Request{Name: node.Component("kube-router"), CommonName: "kube-router", Organizations: []string{"system:masters"}},
		)
	}
	return requests
}

// ServiceAccountKey is the name of the key pair that signs ServiceAccount tokens.
const ServiceAccountKey = "service-account"

// Etcd keeps its data without syncing it to disk: the cluster is disposable.
func Etcd(state layout.State, binary string) process.Spec {
	client := "https://127.0.0.1:" + strconv.Itoa(topology.EtcdClient.Number)
	peer := "https://127.0.0.1:" + strconv.Itoa(topology.EtcdPeer.Number)
	pki := pkiOf(state)
	return process.Spec{
		Name: "etcd", Path: binary, NoProxy: true,
		Args: []string{
			"--name=" + topology.NodeName,
			"--data-dir=" + state.Path("etcd"),
			"--unsafe-no-fsync",
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=" + topology.NodeName + "=" + peer,
			// Certificates keep the other users of the machine out of the cluster's data.
			"--client-cert-auth", "--trusted-ca-file=" + pki("ca.crt"),
			"--cert-file=" + pki("etcd.crt"), "--key-file=" + pki("etcd.key"),
			"--peer-client-cert-auth", "--peer-trusted-ca-file=" + pki("ca.crt"),
			"--peer-cert-file=" + pki("etcd.crt"), "--peer-key-file=" + pki("etcd.key"),
			"--log-level=warn",
		},
	}
}

// APIServer authorises by Node and RBAC and serves aggregated APIs.
func APIServer(state layout.State, binary string, families topology.Families) process.Spec {
	pki := pkiOf(state)
	return process.Spec{
		Name: "kube-apiserver", Path: binary, NoProxy: true,
		Args: []string{
			fmt.Sprintf("--etcd-servers=https://127.0.0.1:%d", topology.EtcdClient.Number),
			"--etcd-cafile=" + pki("ca.crt"), "--etcd-certfile=" + pki("etcd.crt"), "--etcd-keyfile=" + pki("etcd.key"),
			"--advertise-address=" + families[0].NodeIP,
			fmt.Sprintf("--secure-port=%d", topology.APIServer.Number),
			"--service-cluster-ip-range=" + families.Join(func(f topology.Family) string { return f.ServiceCIDR }),
			"--client-ca-file=" + pki("ca.crt"),
			"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
			"--service-account-issuer=https://kubernetes.default.svc." + topology.ClusterDomain,
			"--service-account-key-file=" + pki(ServiceAccountKey+".pub"),
			"--service-account-signing-key-file=" + pki(ServiceAccountKey+".key"),
			"--authorization-mode=Node,RBAC",
			"--allow-privileged",
			// Reading logs and executing commands: by address, because the node's name is not resolved.
			"--kubelet-preferred-address-types=InternalIP",
			"--kubelet-certificate-authority=" + pki("ca.crt"),
			"--kubelet-client-certificate=" + pki("apiserver-kubelet-client.crt"),
			"--kubelet-client-key=" + pki("apiserver-kubelet-client.key"),
			"--enable-aggregator-routing",
			"--requestheader-client-ca-file=" + pki("ca.crt"),
			"--requestheader-allowed-names=" + frontProxyUser,
			"--requestheader-username-headers=X-Remote-User",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + pki("front-proxy-client.crt"),
			"--proxy-client-key-file=" + pki("front-proxy-client.key"),
		},
	}
}

// ControllerManager keeps the default limits of API requests, as a real one has.
func ControllerManager(state layout.State, binary string) process.Spec {
	const name = "kube-controller-manager"
	pki := pkiOf(state)
	args := append(client(state, name, topology.ControllerManager),
		"--service-account-private-key-file="+pki(ServiceAccountKey+".key"),
		"--root-ca-file="+pki("ca.crt"),
		"--cluster-signing-cert-file="+pki("ca.crt"),
		"--cluster-signing-key-file="+pki("ca.key"),
		"--use-service-account-credentials",
		"--flex-volume-plugin-dir="+state.Path("kubelet", "volume-plugins"),
	)
	return process.Spec{Name: name, Path: binary, NoProxy: true, Args: args}
}

// Scheduler runs with its defaults.
func Scheduler(state layout.State, binary string) process.Spec {
	const name = "kube-scheduler"
	return process.Spec{Name: name, Path: binary, NoProxy: true, Args: client(state, name, topology.Scheduler)}
}

// client is what the controller manager and the scheduler have in common. There
// is one of each, so that an election would only delay the start.
func client(state layout.State, name string, port topology.Port) []string {
	kubeconfig, pki := state.ComponentKubeconfig(name), pkiOf(state)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port.Number),
		"--tls-cert-file=" + pki(name+".crt"),
		"--tls-private-key-file=" + pki(name+".key"),
	}
}

func pkiOf(state layout.State) func(string) string {
	return func(file string) string { return state.Path("pki", file) }
}
