//go:build linux

package network

import (
	"net"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
)

func TestOverlapping(t *testing.T) {
	for name, tc := range map[string]struct {
		route string
		want  bool
	}{
		"another network":               {"192.0.2.0/24", false},
		"the neighbouring network":      {"10.245.0.0/16", false},
		"the very network":              {"10.244.0.0/16", true},
		"a part of it":                  {"10.244.7.0/24", true},
		"a network that contains it":    {"10.0.0.0/8", true},
		"the default route is no claim": {"0.0.0.0/0", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, dst, err := net.ParseCIDR(tc.route)
			if err != nil {
				t.Fatal(err)
			}
			got := overlapping("10.244.0.0/16", []netlink.Route{{}, {Dst: dst}})
			if (got != nil) != tc.want {
				t.Errorf("got %v, want a conflict: %v", got, tc.want)
			}
		})
	}
}

func TestHasRules(t *testing.T) {
	for name, tc := range map[string]struct {
		listing string
		want    bool
	}{
		"the empty hooks that the iptables command leaves": {
			"# Warning: table ip nat is managed by iptables-nft, do not touch!\ntable ip nat {\n\tchain PREROUTING {\n" +
				"\t\ttype nat hook prerouting priority dstnat; policy accept;\n\t}\n}\n", false,
		},
		"a rule":                        {"table ip nat {\n\tchain PREROUTING {\n\t\tcounter packets 0 bytes 0 jump X\n\t}\n}\n", true},
		"an empty chain":                {"table ip nat {\n\tchain DOCKER {\n\t}\n}\n", true},
		"a set":                         {"table ip nat {\n\tset s {\n\t}\n}\n", true},
		"an empty table is not in use":  {"table ip nat {\n}\n", false},
		"a policy that drops is a rule": {"table ip filter {\n\tchain FORWARD {\n\t\ttype filter hook forward priority filter; policy drop;\n\t}\n}\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hasRules(tc.listing); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestCheckNoKubeTables(t *testing.T) {
	if err := checkNoKubeTables([]string{"ip nat", "inet firewalld"}); err != nil {
		t.Errorf("other tables are no obstacle: %v", err)
	}
	if err := checkNoKubeTables([]string{"ip nat", "ip6 kube-proxy"}); err == nil {
		t.Error("the rules of another kube-proxy would be overwritten")
	}
}

func TestKubeSets(t *testing.T) {
	if got := kubeSets("blocklist\nKUBE-DST-A\ninet6:KUBE-SRC-B\nMY-KUBE-C\n"); !slices.Equal(got, []string{"KUBE-DST-A", "inet6:KUBE-SRC-B"}) {
		t.Errorf("got %q: only kube-router's are removed", got)
	}
}

func TestRemoval(t *testing.T) {
	for name, tc := range map[string]struct{ saved, want string }{
		"a machine without kube-proxy": {
			"*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j DOCKER\nCOMMIT\n", "",
		},
		"only kube-proxy's chains and the jumps to them go": {
			"# comment\n*filter\n:INPUT ACCEPT [6:2]\n:DOCKER - [0:0]\n:KUBE-A - [0:0]\n:KUBE-B - [0:0]\n" +
				"-A INPUT -m comment --comment \"to us\" -j KUBE-A\n-A INPUT -j DOCKER\n-A KUBE-A -j KUBE-B\nCOMMIT\n" +
				"*nat\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -j DOCKER\nCOMMIT\n" +
				"*mangle\n:KUBE-HINT - [0:0]\nCOMMIT\n",
			"*filter\n-F KUBE-A\n-F KUBE-B\n-D INPUT -m comment --comment \"to us\" -j KUBE-A\n-X KUBE-A\n-X KUBE-B\nCOMMIT\n" +
				"*mangle\n-F KUBE-HINT\n-X KUBE-HINT\nCOMMIT\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := removal(tc.saved); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}
