//go:build linux

package cluster

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/critical-service/operator/hack/devcluster/internal/image"
	"github.com/critical-service/operator/hack/devcluster/internal/realnames"
	"github.com/critical-service/operator/hack/devcluster/internal/registry"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// ExecWithRegistry becomes a command for which the real registries are the
// cluster's own. It returns only if that fails.
func (c *Cluster) ExecWithRegistry(ctx context.Context, command []string) error {
	if err := c.RequireRunning(); err != nil {
		return err
	}
	authorityFile := c.state.Path("pki", "ca.crt")
	authority, err := os.ReadFile(authorityFile)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return errors.New("the cluster's CA certificate is damaged")
	}
	if err := registry.CheckFront(ctx, topology.RegistryTLSAddress(), pool); err != nil {
		return fmt.Errorf("the cluster's registry does not answer at %s, where it stands for the real ones: %w\n"+
			"(if another program has port 443 on all addresses, end that; then `devcluster down` and `devcluster up`)",
			topology.RegistryTLSAddress(), err)
	}
	hosts, err := image.Registries(ctx)
	if err != nil {
		return err
	}
	return realnames.Exec(c.state, realnames.Request{
		Command: command, Names: slices.Concat(registry.WellKnown(), hosts),
		Address: topology.RegistryTLSIP, AuthorityFile: authorityFile,
	})
}
