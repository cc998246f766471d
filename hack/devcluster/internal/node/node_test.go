//go:build linux

package node

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var onlyIPv4 = topology.Families{topology.IPv4}

func TestRenderedConfiguration(t *testing.T) {
	values := New("/state", topology.Host(), onlyIPv4).settings("/usr/lib/cni", NFTables, "v1.37.2")
	// These two depend on the machine that the test runs on.
	values.Snapshotter, values.RestrictOOMScore = "overlayfs", false
	for _, name := range []string{"containerd.toml", "hosts.toml", "cni.conflist", "kubelet.yaml", "kube-proxy.yaml"} {
		t.Run(name, func(t *testing.T) {
			got, err := render(name, values)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("differs from %s (go test ./internal/node -update rewrites it):\n%s", golden, got)
			}
		})
	}
}

func TestANodeHasAddressesOfEachFamilyOfTheCluster(t *testing.T) {
	const v4, v6 = `[{"subnet": "10.244.0.0/18", "gateway": "10.244.0.1"}]`, `[{"subnet": "fd00:10:244::/64", "gateway": "fd00:10:244::1"}]`
	ips := map[string]string{"ipv4,ipv6": "10.244.0.1,fd00:10:244::1", "ipv6": "fd00:10:244::1"}
	for families, files := range map[string]map[string]string{
		"ipv4,ipv6": {
			"cni.conflist":    `"ranges": [` + v4 + ", " + v6 + "],\n" + `        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]`,
			"kube-proxy.yaml": "\nclusterCIDR: 10.244.0.0/18,fd00:10:244::/64\n",
			"kubelet.yaml":    "\naddress: 10.244.0.1\n",
		},
		"ipv6": {
			"cni.conflist":    `"ranges": [` + v6 + "],\n" + `        "routes": [{"dst": "::/0"}]`,
			"kube-proxy.yaml": "\nclusterCIDR: fd00:10:244::/64\n",
			"kubelet.yaml":    "\nclusterDNS:\n- fd00:10:96::a\n",
		},
	} {
		parsed, err := topology.ParseFamilies(families)
		if err != nil {
			t.Fatal(err)
		}
		host := New("/state", topology.Host(), parsed)
		for name, want := range files {
			got, err := render(name, host.settings("/usr/lib/cni", NFTables, "v1.37.2"))
			if err != nil || !strings.Contains(string(got), want) {
				t.Errorf("%s: %v, or %s has no %q:\n%s", families, err, name, want, got)
			}
		}
		if args := host.Kubelet("/bin/kubelet").Args; !slices.Contains(args, "--node-ip="+ips[families]) {
			t.Errorf("%s: %v", families, args)
		}
	}
}

func TestKubeRouterEnforcesNetworkPoliciesAndNothingElse(t *testing.T) {
	for families, wants := range map[string][]string{
		"ipv4":      {"--enable-ipv4=true", "--enable-ipv6=false", "--service-cluster-ip-range=10.96.0.0/16"},
		"ipv6,ipv4": {"--enable-ipv4=true", "--enable-ipv6=true", "--service-cluster-ip-range=fd00:10:96::/112,10.96.0.0/16"},
		"ipv6":      {"--enable-ipv4=false", "--enable-ipv6=true", "--service-cluster-ip-range=fd00:10:96::/112"},
	} {
		parsed, err := topology.ParseFamilies(families)
		if err != nil {
			t.Fatal(err)
		}
		args := New("/state", topology.Host(), parsed).KubeRouter("/bin/kube-router").Args
		for _, want := range append(wants, "--run-firewall", "--run-router=false", "--run-service-proxy=false", "--enable-cni=false") {
			if !slices.Contains(args, want) {
				t.Errorf("%s: no %s in %v", families, want, args)
			}
		}
	}
}

func TestNodePortsAnswerOnTheNodeOnlyInEveryVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		mode                ProxyMode
		kubernetes, setting string
	}{
		"by a word":                           {NFTables, "v1.31.4", "nodePortAddresses: [primary]\n"},
		"by the address before there was one": {IPTables, "v1.28.15", "nodePortAddresses: [10.244.0.1/32]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := render("kube-proxy.yaml", New("/state", topology.Host(), onlyIPv4).settings("/usr/lib/cni", tc.mode, tc.kubernetes))
			if err != nil || !strings.Contains(string(got), tc.setting) || !strings.Contains(string(got), "\nmode: "+string(tc.mode)+"\n") {
				t.Errorf("%v, or without %q:\n%s", err, tc.setting, got)
			}
		})
	}
}

func TestParseProxyMode(t *testing.T) {
	for text, valid := range map[string]bool{"nftables": true, "iptables": true, "ipvs": false, "": false} {
		if mode, err := ParseProxyMode(text); (err == nil) != valid || valid && string(mode) != text {
			t.Errorf("ParseProxyMode(%q) = %q, %v", text, mode, err)
		}
	}
}

func TestReachableServers(t *testing.T) {
	for name, tc := range map[string]struct {
		resolvConf, want string
		hasServers       bool
	}{
		"real servers are kept with everything else": {
			"search example.org\nnameserver 192.0.2.1\noptions ndots:1\n",
			"search example.org\nnameserver 192.0.2.1\noptions ndots:1\n", true,
		},
		"a stub on a loopback address is of no use in a Pod": {"nameserver 127.0.0.53\noptions edns0\n", "options edns0\n", false},
		"the real one beside a stub is":                      {"nameserver 127.0.0.53\nnameserver 192.0.2.1\n", "nameserver 192.0.2.1\n", true},
		"loopback has an IPv6 form too":                      {"nameserver ::1\n", "", false},
		"an address that is none is dropped":                 {"nameserver here\n", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, hasServers := reachableServers(tc.resolvConf)
			if got != tc.want || hasServers != tc.hasServers {
				t.Errorf("got %q, %v", got, hasServers)
			}
		})
	}
}

func TestASecondNodeSharesNothingButTheControlPlane(t *testing.T) {
	second := New("/state", topology.Nodes(2)[1], onlyIPv4)
	for name, wants := range map[string][]string{
		"containerd.toml": {`root = "/state/nodes/node2/containerd/root"`, `address = "/state/nodes/node2/containerd/containerd.sock"`},
		"hosts.toml":      {`[host."http://10.244.0.1:5000"]`},
		"cni.conflist":    {`"dataDir": "/state/nodes/node2/cni"`, `{"subnet": "10.244.64.0/18", "gateway": "10.244.64.1"}`},
		"kubelet.yaml":    {"tlsCertFile: /state/pki/kubelet-node2.crt", "cgroupRoot: /devcluster-node2", "address: 10.244.64.1", "healthzBindAddress: 10.244.64.1"},
		"kube-proxy.yaml": {"kubeconfig: /state/kubeconfigs/kube-proxy-node2.kubeconfig", "hostnameOverride: node2", "clusterCIDR: 10.244.64.0/18"},
	} {
		got, err := render(name, second.settings("/usr/lib/cni", NFTables, "v1.37.2"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(got), want) {
				t.Errorf("%s is without %q:\n%s", name, want, got)
			}
		}
	}
	if spec := second.Kubelet("/bin/kubelet"); spec.Name != "kubelet-node2" || spec.Namespace != "/state/namespaces/node2" {
		t.Errorf("got %+v", spec)
	}
}
