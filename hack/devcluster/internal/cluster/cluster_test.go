//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/node"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

func TestCannotKeep(t *testing.T) {
	wanted := record{Phase: starting, BootID: "boot", Binaries: "v1-key", ProxyMode: node.NFTables, Nodes: 1, Families: "ipv4"}
	sound := wanted
	sound.Phase = running
	changed := func(change func(*record)) record {
		r := sound
		change(&r)
		return r
	}
	for name, tc := range map[string]struct {
		existing record
		want     string
	}{
		"a sound cluster is kept":       {sound, ""},
		"a start that was interrupted":  {changed(func(r *record) { r.Phase = starting }), "interrupted"},
		"a reboot":                      {changed(func(r *record) { r.BootID = "earlier" }), "rebooted"},
		"another version of Kubernetes": {changed(func(r *record) { r.Binaries = "v0-key" }), "v0-key"},
		"another proxy mode was asked":  {changed(func(r *record) { r.ProxyMode = node.IPTables }), "iptables"},
		"fewer nodes were asked":        {changed(func(r *record) { r.Nodes = 3 }), "nodes is 3"},
		"another IP family was asked":   {changed(func(r *record) { r.Families = "ipv6,ipv4" }), "IP families are ipv6,ipv4"},
		"NetworkPolicies were asked":    {changed(func(r *record) { r.NetworkPolicies = true }), "enforces NetworkPolicies is true"},
	} {
		t.Run(name, func(t *testing.T) {
			got := cannotKeep(tc.existing, wanted)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want something with %q", got, tc.want)
			}
		})
	}
}

func TestWhatIsLeftOutStaysAsItIs(t *testing.T) {
	both := topology.Families{topology.IPv6, topology.IPv4}
	// A cluster of an earlier program has one node and IPv4, and enforces nothing.
	for record, want := range map[string]string{
		`{"phase":"running"}`: "1 ipv4 false",
		`{"phase":"running","nodes":1,"ipFamilies":"ipv6,ipv4","networkPolicies":true}`: "1 ipv6,ipv4 true",
	} {
		c := New(layout.State(t.TempDir()), nil, io.Discard)
		if err := os.WriteFile(c.recordFile(), []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.load(); err != nil {
			t.Fatal(err)
		}
		if err := c.choose(Choice{}); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(len(c.nodes), " ", c.families, " ", c.networkPolicies); got != want {
			t.Errorf("%s: got %s, want %s", record, got, want)
		}
	}
	for name, tc := range map[string]struct {
		choice       Choice
		nodes        int
		families, no string
	}{
		"nothing is chosen":           {Choice{}, 1, "ipv4", ""},
		"nodes":                       {Choice{Nodes: 3}, 3, "ipv4", ""},
		"IP families":                 {Choice{Families: both}, 1, "ipv6,ipv4", ""},
		"IPv6 on more nodes than one": {Choice{Nodes: 2, Families: both}, 2, "ipv6,ipv4", "only a cluster of one node has IPv6"},
		"IPv4 alone on more than one": {Choice{Nodes: 2, Families: both[1:]}, 2, "ipv4", ""},
	} {
		c := New(layout.State(t.TempDir()), nil, io.Discard)
		err := c.choose(tc.choice)
		if len(c.nodes) != tc.nodes || c.families.String() != tc.families || (err == nil) != (tc.no == "") || err != nil && !strings.Contains(err.Error(), tc.no) {
			t.Errorf("%s: %d nodes, %s, %v", name, len(c.nodes), c.families, err)
		}
	}
}

func TestUpWithoutAModeKeepsThatOfTheCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		existing *record
		version  string
		want     node.ProxyMode
	}{
		"a new cluster":               {nil, "v1.37.2", node.NFTables},
		"an existing one":             {&record{ProxyMode: node.IPTables}, "v1.37.2", node.IPTables},
		"a new one without nftables":  {nil, "v1.28.15", node.IPTables},
		"one that becomes so old":     {&record{ProxyMode: node.NFTables}, "v1.28.15", node.IPTables},
		"the first that has nftables": {nil, "v1.31.0", node.NFTables},
	} {
		if got := defaultMode(tc.existing, tc.version); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestAModeThatKubeProxyLacksIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		mode          node.ProxyMode
		version, want string
	}{
		"nftables before it was there":         {node.NFTables, "v1.28.15", "the kube-proxy of Kubernetes v1.28.15 has no mode nftables: choose iptables"},
		"nftables since then":                  {node.NFTables, "v1.31.4", ""},
		"iptables, which every kube-proxy has": {node.IPTables, "v1.28.15", ""},
		"no mode, which leaves the choice":     {"", "v1.28.15", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkMode(tc.mode, tc.version); (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestTheStateFolderIsNeverAnothers(t *testing.T) {
	dir := t.TempDir()
	for name, prepare := range map[string]func(state string) error{
		"a folder with files": func(state string) error {
			return os.WriteFile(filepath.Join(state, "thesis.txt"), []byte("precious"), 0o644)
		},
		"an empty folder": func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			if err := os.Mkdir(state, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := prepare(state); err != nil {
				t.Fatal(err)
			}
			unlock, err := New(layout.State(state), nil, io.Discard).lock()
			if refused := err != nil; refused != (name == "a folder with files") {
				t.Errorf("got %v", err)
			}
			if unlock != nil {
				unlock()
			}
			if err == nil {
				// What has been claimed once is recognised with files in it.
				if err := os.WriteFile(filepath.Join(state, "cluster.json"), nil, 0o644); err != nil {
					t.Fatal(err)
				}
				unlock, err := New(layout.State(state), nil, io.Discard).lock()
				if err != nil {
					t.Fatal(err)
				}
				unlock()
			}
		})
	}
}

func TestAForeignListenerIsNamedByPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := topology.Port{Number: listener.Addr().(*net.TCPAddr).Port, User: "etcd"}
	if err := checkPorts([]topology.Port{port}); err == nil || !strings.Contains(err.Error(), "etcd") {
		t.Errorf("got %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := checkPorts([]topology.Port{port}); err != nil {
		t.Errorf("a free port was refused: %v", err)
	}
}

func TestAComponentThatEndsDuringARepairIsStartedOnce(t *testing.T) {
	ended := &endedError{component: apiServerName, awaited: "Node"}
	for name, tc := range map[string]struct {
		// found says whether each repair finds the component running, which then ends; the
		// last one succeeds.
		found []bool
		want  error
	}{
		"nothing ends":                         {nil, nil},
		"it was killed just before":            {[]bool{true}, nil},
		"it was started, and ended at once":    {[]bool{false}, ended},
		"it was killed, and cannot be started": {[]bool{true, false}, ended},
	} {
		t.Run(name, func(t *testing.T) {
			c, repairs := New(layout.State(t.TempDir()), nil, io.Discard), 0
			err := c.retryEnded(func() error {
				repairs++
				if repairs > len(tc.found) {
					return nil
				}
				if !tc.found[repairs-1] {
					c.started = append(c.started, apiServerName)
				}
				return fmt.Errorf("repair: %w", ended)
			})
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}
