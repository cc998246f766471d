//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/kubeapi"
	"github.com/critical-service/operator/hack/devcluster/internal/olm"
)

// OLMDown removes OLM from the running cluster, with the operators that it installed.
// What those made themselves stays, their CustomResourceDefinitions included.
func (c *Cluster) OLMDown(ctx context.Context) error {
	if err := c.RequireRunning(); err != nil {
		return err
	}
	// The kinds to remove are read from what OLM is built from.
	if err := c.builder.Ensure(ctx, build.OLMResources); err != nil {
		return err
	}
	unlock, err := c.lockRunning()
	if err != nil {
		return err
	}
	defer unlock()
	client, err := kubeapi.NewClient(c.state)
	if err != nil {
		return err
	}
	begin := time.Now()
	there, err := olm.IsThere(ctx, client)
	if err != nil {
		return err
	}
	if !there {
		c.print("OLM is not in the cluster")
		return nil
	}
	definitions, err := c.olmDefinitions(ctx)
	if err != nil {
		return err
	}
	if err := c.removeOLM(ctx, definitions); err != nil {
		return fmt.Errorf("%w\n(`devcluster olm down` may be repeated)", err)
	}
	c.print("OLM is removed after %s", seconds(time.Since(begin)))
	return nil
}

// removeOLM follows the order of the dependencies: OLM must still run when its
// ClusterServiceVersions go, because it has to clean up after each of them; and it
// must not reinstall what has just been removed.
func (c *Cluster) removeOLM(ctx context.Context, definitions []byte) error {
	for _, kinds := range olm.RemovalOrder() {
		if err := c.removeAll(ctx, kinds); err != nil {
			return err
		}
	}
	steps := []struct {
		input []byte
		args  []string
	}{
		{olm.Manifests(), []string{"delete", "--ignore-not-found", "--timeout=2m", "-f", "-"}},
		{definitions, []string{"delete", "--ignore-not-found", "--timeout=1m", "-f", "-"}},
		{nil, []string{"delete", "--ignore-not-found", "apiservices.apiregistration.k8s.io", olm.PackagesAPI}},
	}
	for _, step := range steps {
		// Without the definitions kubectl knows no mapping for some of the objects, which are then gone.
		if _, err := c.kubectl(ctx, step.input, step.args...); err != nil && !strings.Contains(err.Error(), "no matches for kind") {
			return err
		}
	}
	return c.removeTraces(ctx)
}

// removeAll removes all objects of some kinds. Those whose finalizer is not served
// any more, as after an OLM that was removed in the wrong order, lose it.
func (c *Cluster) removeAll(ctx context.Context, kinds string) error {
	_, err := c.kubectl(ctx, nil, "delete", kinds, "--all-namespaces", "--all", "--ignore-not-found", "--timeout=1m")
	if err == nil || isUnknownKind(err) {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.print("Some %s do not go by themselves: removing their finalizers", kinds)
	left, listErr := c.kubectl(ctx, nil, "get", kinds, "--all-namespaces", "-o",
		`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.namespace}{"\n"}{end}`)
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	for line := range strings.Lines(left) {
		object, namespace, _ := strings.Cut(strings.TrimSpace(line), " ")
		_, patchErr := c.kubectl(ctx, nil, "patch", object, "--namespace", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		if patchErr != nil && !strings.Contains(patchErr.Error(), "NotFound") {
			return errors.Join(err, patchErr)
		}
	}
	_, err = c.kubectl(ctx, nil, "delete", kinds, "--all-namespaces", "--all", "--ignore-not-found", "--timeout=1m")
	return err
}

func isUnknownKind(err error) bool {
	return strings.Contains(err.Error(), "doesn't have a resource type")
}

// removeTraces removes what OLM makes outside of its namespaces and leaves behind.
func (c *Cluster) removeTraces(ctx context.Context) error {
	for _, label := range olm.Labels() {
		const kinds = "clusterroles,clusterrolebindings,roles,rolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations"
		if _, err := c.kubectl(ctx, nil, "delete", kinds, "--all-namespaces", "--selector", label, "--ignore-not-found"); err != nil {
			return err
		}
	}
	names, err := c.kubectl(ctx, nil, "get", "clusterroles,clusterrolebindings", "-o", "name")
	if err != nil {
		return err
	}
	if traces := olm.Traces(strings.Fields(names)); len(traces) > 0 {
		_, err = c.kubectl(ctx, nil, append([]string{"delete", "--ignore-not-found"}, traces...)...)
	}
	return err
}
