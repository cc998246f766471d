//go:build linux

// Package cluster brings the whole cluster up and down. The other packages know
// how one thing is done; this one knows the order, and what to do after a crash.
package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/footprint"
	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/node"
	"github.com/critical-service/operator/hack/devcluster/internal/process"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// Cluster is the one cluster of a state folder.
type Cluster struct {
	state      layout.State
	supervisor *process.Supervisor
	builder    *build.Builder
	out        io.Writer
	// nodes are those that the cluster has, or is to have.
	nodes []topology.Node
	// families are the IP families of its Pods and Services.
	families topology.Families
	// networkPolicies says that they are enforced.
	networkPolicies bool
	// expected are the components that run unless something is wrong with them.
	expected []string
	// started are the components that this command started.
	started []string
}

// New returns the cluster of a state folder, which may or may not run.
func New(state layout.State, builder *build.Builder, out io.Writer) *Cluster {
	supervisor := process.NewSupervisor(state)
	supervisor.Place = footprint.PlaceComponent
	return &Cluster{
		state: state, supervisor: supervisor, builder: builder, out: out,
		nodes: topology.Nodes(1), families: topology.Families{topology.IPv4},
	}
}

// phase is how far a start came.
type phase string

const (
	starting phase = "starting"
	running  phase = "running"
)

// record is what later commands must know of the cluster.
type record struct {
	Phase     phase          `json:"phase"`
	BootID    string         `json:"bootID"`
	Binaries  string         `json:"binaries"`
	Version   string         `json:"version"`
	ProxyMode node.ProxyMode `json:"proxyMode"`
	Nodes     int            `json:"nodes"`
	Families  string         `json:"ipFamilies"`
	// NetworkPolicies are enforced.
	NetworkPolicies bool      `json:"networkPolicies"`
	Started         time.Time `json:"started"`
}

func (c *Cluster) recordFile() string { return c.state.Path("cluster.json") }

// load returns nothing if there is no cluster, or only the wreck of one.
func (c *Cluster) load() (*record, error) {
	content, err := os.ReadFile(c.recordFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r record
	if json.Unmarshal(content, &r) != nil {
		return nil, nil
	}
	// A cluster of an earlier program has the one node, and the IP family, that there was.
	r.Nodes = min(max(r.Nodes, 1), topology.MaxNodes)
	c.nodes = topology.Nodes(r.Nodes)
	if families, err := topology.ParseFamilies(r.Families); err == nil {
		c.families = families
	}
	r.Families = c.families.String()
	c.networkPolicies = r.NetworkPolicies
	return &r, nil
}

func (c *Cluster) save(r record) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	partial := c.recordFile() + ".partial"
	if err := os.WriteFile(partial, content, 0o644); err != nil {
		return err
	}
	return os.Rename(partial, c.recordFile())
}

func (c *Cluster) print(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

// RequireRunning returns an error unless the cluster has been started.
func (c *Cluster) RequireRunning() error {
	r, err := c.load()
	if err != nil {
		return err
	}
	if r == nil || r.Phase != running || r.BootID != process.BootID() {
		return errors.New("the cluster is not running: start it with `devcluster up`")
	}
	return nil
}

// Environment is that of a program that `devcluster down` may end.
func (c *Cluster) Environment() []string { return c.supervisor.Environment(process.Spec{}) }
