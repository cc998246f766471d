//go:build linux

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/certificate"
	"github.com/critical-service/operator/hack/devcluster/internal/controlplane"
	"github.com/critical-service/operator/hack/devcluster/internal/debian"
	"github.com/critical-service/operator/hack/devcluster/internal/footprint"
	"github.com/critical-service/operator/hack/devcluster/internal/kubeapi"
	"github.com/critical-service/operator/hack/devcluster/internal/network"
	"github.com/critical-service/operator/hack/devcluster/internal/node"
	"github.com/critical-service/operator/hack/devcluster/internal/process"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// Choice is what a cluster may be asked to be. What is left out is that of the existing
// cluster, or the default.
type Choice struct {
	ProxyMode node.ProxyMode
	Nodes     int
	Families  topology.Families
	// NetworkPolicies says whether they are enforced.
	NetworkPolicies *bool
}

// Up brings the cluster up: it keeps one that runs, repairs one that lost a
// component, and starts afresh otherwise.
func (c *Cluster) Up(ctx context.Context, choice Choice) error {
	version, err := c.build(ctx, choice)
	if err != nil {
		return err
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()

	begin := time.Now()
	existing, err := c.load()
	if err != nil {
		return err
	}
	mode := cmp.Or(choice.ProxyMode, defaultMode(existing, version))
	if err := c.choose(choice); err != nil {
		return errors.Join(err, c.disclaim())
	}
	if err := c.install(ctx, mode); err != nil {
		return errors.Join(err, c.disclaim())
	}
	wanted, err := c.wanted(version, mode)
	if err != nil {
		return err
	}
	if existing != nil {
		done, err := c.reuse(ctx, existing, wanted)
		if err != nil || done {
			return err
		}
	}
	if err := c.checkMachine(ctx); err != nil {
		// Nothing has been changed yet, so nothing is left behind.
		return errors.Join(err, c.disclaim())
	}
	if err := c.start(ctx, wanted); err != nil {
		return fmt.Errorf("%w\n(`devcluster logs` shows more, `devcluster up` tries again, `devcluster down` removes everything)", err)
	}
	c.print("Kubernetes %s is up after %s", wanted.Version, seconds(time.Since(begin)))
	c.printHints()
	return nil
}

// build makes what the cluster runs, and returns the version of Kubernetes.
func (c *Cluster) build(ctx context.Context, choice Choice) (version string, err error) {
	if version, err = c.builder.Version(build.Kubelet); err != nil {
		return "", err
	}
	if err := checkMode(choice.ProxyMode, version); err != nil {
		return "", err
	}
	if err := c.builder.Ensure(ctx, build.All()...); err != nil {
		return "", err
	}
	return version, c.builder.Prune()
}

// install makes sure of what only some clusters run, and of the programs of the distribution.
func (c *Cluster) install(ctx context.Context, mode node.ProxyMode) error {
	if c.networkPolicies {
		if err := c.builder.Ensure(ctx, build.KubeRouter); err != nil {
			return err
		}
	}
	return debian.Ensure(ctx, debian.Requirements(mode == node.IPTables, c.networkPolicies), c.out)
}

// choose takes what the cluster is to be; what is left out stays that of the existing cluster, which load has found.
func (c *Cluster) choose(choice Choice) error {
	if choice.Nodes > 0 {
		c.nodes = topology.Nodes(choice.Nodes)
	}
	if choice.Families != nil {
		c.families = choice.Families
	}
	if choice.NetworkPolicies != nil {
		c.networkPolicies = *choice.NetworkPolicies
	}
	if len(c.nodes) > 1 && c.families.HaveIPv6() {
		return fmt.Errorf("%d nodes and the IP families %s: only a cluster of one node has IPv6", len(c.nodes), c.families)
	}
	return nil
}

// checkMode refuses a mode that the kube-proxy of a version lacks before anything is built.
func checkMode(mode node.ProxyMode, version string) error {
	if modes := node.ProxyModes(version); mode != "" && !slices.Contains(modes, mode) {
		return fmt.Errorf("the kube-proxy of Kubernetes %s has no mode %s: choose %s", version, mode, modes[0])
	}
	return nil
}

// defaultMode is that of the existing cluster, if the version has it.
func defaultMode(existing *record, version string) node.ProxyMode {
	modes := node.ProxyModes(version)
	if existing != nil && slices.Contains(modes, existing.ProxyMode) {
		return existing.ProxyMode
	}
	return modes[0]
}

func (c *Cluster) wanted(version string, mode node.ProxyMode) (record, error) {
	binaries, err := c.builder.Folder(build.Kubelet)
	return record{
		Phase: starting, BootID: process.BootID(), Binaries: filepath.Base(binaries),
		Version: version, ProxyMode: mode, Nodes: len(c.nodes), Families: c.families.String(), NetworkPolicies: c.networkPolicies, Started: time.Now(),
	}, err
}

// cannotKeep says why the existing cluster cannot be kept, or nothing if it can.
func cannotKeep(existing, wanted record) string {
	switch {
	case existing.BootID != wanted.BootID:
		return "the machine was rebooted"
	case existing.Phase != running:
		return "its last start was interrupted"
	case existing.Binaries != wanted.Binaries:
		return fmt.Sprintf("it runs %s, and %s is wanted", existing.Binaries, wanted.Binaries)
	case existing.ProxyMode != wanted.ProxyMode:
		return fmt.Sprintf("its proxy mode is %s", existing.ProxyMode)
	case existing.Nodes != wanted.Nodes:
		return fmt.Sprintf("the number of its nodes is %d", existing.Nodes)
	case existing.Families != wanted.Families:
		return fmt.Sprintf("its IP families are %s", existing.Families)
	case existing.NetworkPolicies != wanted.NetworkPolicies:
		return fmt.Sprintf("that it enforces NetworkPolicies is %t", existing.NetworkPolicies)
	}
	return ""
}

// reuse keeps the existing cluster, or removes it if that is not possible. Where
// there is no record nothing has been changed yet, and nothing is to be removed.
func (c *Cluster) reuse(ctx context.Context, existing *record, wanted record) (done bool, err error) {
	obstacle := cannotKeep(*existing, wanted)
	if obstacle == "" {
		err := c.retryEnded(func() error { return c.repair(ctx, existing) })
		if err == nil || ctx.Err() != nil {
			return true, err
		}
		obstacle = "it does not recover: " + err.Error()
	}
	c.print("Starting the cluster afresh: %s", obstacle)
	if err := c.clean(ctx, existing); err != nil {
		return false, fmt.Errorf("remove the earlier cluster: %w", err)
	}
	return false, nil
}

// retryEnded repeats a repair during which a component ended that was found running: one
// that was killed has its memory to give back first, and is seen until then. One that this
// command started will not do better a second time.
func (c *Cluster) retryEnded(repair func() error) error {
	for {
		err := repair()
		ended, isEnded := errors.AsType[*endedError](err)
		if !isEnded || slices.Contains(c.started, ended.component) {
			return err
		}
	}
}

// repair starts the components that ended.
func (c *Cluster) repair(ctx context.Context, existing *record) error {
	begin := time.Now()
	c.expected = nil
	client, err := kubeapi.NewClient(c.state)
	if err != nil {
		return err
	}
	if err := network.Up(ctx, c.state, c.nodes, c.families); err != nil {
		return err
	}
	// The clients end if they do not find an API server, so that comes first.
	if err := c.ensureStarted(c.foundation()); err != nil {
		return err
	}
	if err := c.awaitHealthy(ctx, client, apiServerName, repairTimeout); err != nil {
		return err
	}
	// A containerd that finds Pods of before listens only after a while, and a kubelet ends without it.
	for _, n := range c.nodes {
		if err := c.awaitHealthy(ctx, client, n.Component(containerdName), repairTimeout); err != nil {
			return err
		}
	}
	if err := c.ensureStarted(c.clients()); err != nil {
		return err
	}
	if err := c.ensureEnforced(ctx, client, repairTimeout); err != nil {
		return err
	}
	if len(c.started) > 0 {
		c.print("Started again: %s", strings.Join(c.started, ", "))
	}
	if err := c.awaitReady(ctx, client, repairTimeout); err != nil {
		return err
	}
	c.print("Kubernetes %s is up already (%s)", existing.Version, seconds(time.Since(begin)))
	c.printHints()
	return nil
}

// checkMachine refuses a machine on which something else uses what we need.
func (c *Cluster) checkMachine(ctx context.Context) error {
	others, err := c.supervisor.OtherClusters()
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return fmt.Errorf("a devcluster with the state folder %[1]s runs on this machine, which can have only one: "+
			"use that (--state-dir %[1]s), or remove it with `devcluster down --state-dir %[1]s`", others[0])
	}
	tables, err := network.Tables(ctx)
	if err != nil {
		return err
	}
	return errors.Join(checkPorts(topology.Ports()), network.CheckFree(c.families), network.CheckNoKubeProxy(ctx, tables))
}

// start starts a cluster on a machine without one.
func (c *Cluster) start(ctx context.Context, wanted record) error {
	c.expected = nil
	tables, err := network.Tables(ctx)
	if err != nil {
		return err
	}
	if err := footprint.Record(c.state, tables, c.families); err != nil {
		return err
	}
	if err := c.save(wanted); err != nil {
		return err
	}
	hasDNS, err := c.prepare(ctx, wanted)
	if err != nil {
		return err
	}
	if err := c.launch(ctx, hasDNS); err != nil {
		return err
	}
	wanted.Phase = running
	return c.save(wanted)
}

// prepare makes the folders, certificates and configuration files, and the network.
func (c *Cluster) prepare(ctx context.Context, wanted record) (hasDNS bool, err error) {
	for _, dir := range []string{"logs", "processes", "config", "registry"} {
		if err := os.MkdirAll(c.state.Path(dir), 0o755); err != nil {
			return false, err
		}
	}
	// etcd insists on a folder that no other user can read.
	if err := os.MkdirAll(c.state.Path("etcd"), 0o700); err != nil {
		return false, err
	}
	authority, err := certificate.NewAuthority(c.state.Path("pki"))
	if err != nil {
		return false, err
	}
	for _, request := range controlplane.Certificates(c.nodes, c.families) {
		if err := authority.Issue(request); err != nil {
			return false, err
		}
	}
	if err := certificate.WriteKeyPair(c.state.Path("pki"), controlplane.ServiceAccountKey); err != nil {
		return false, err
	}
	if err := controlplane.WriteKubeconfigs(c.state, c.nodes); err != nil {
		return false, err
	}
	if err := giveToCaller(c.state.Kubeconfig()); err != nil {
		return false, err
	}
	for _, n := range c.nodes {
		if err := node.New(c.state, n, c.families).WriteConfig(debian.CNIFolder(), wanted.ProxyMode, wanted.Version); err != nil {
			return false, err
		}
	}
	hasDNS, err = node.WriteResolvConf(c.state)
	if err != nil {
		return false, err
	}
	return hasDNS, errors.Join(footprint.EnableForwarding(c.families), footprint.CreateCgroups(c.nodes), network.Up(ctx, c.state, c.nodes, c.families))
}

// giveToCaller lets the user who called sudo use the kubeconfig.
func giveToCaller(path string) error {
	uid, err := strconv.Atoi(os.Getenv("SUDO_UID"))
	if err != nil {
		return nil
	}
	gid, err := strconv.Atoi(os.Getenv("SUDO_GID"))
	if err != nil {
		return nil
	}
	return os.Chown(path, uid, gid)
}

func (c *Cluster) printHints() {
	c.print("\nexport KUBECONFIG=%q\nexport PATH=\"%s:$PATH\"", c.state.Kubeconfig(), c.builder.Bin())
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
