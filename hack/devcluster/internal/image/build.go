package image

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// BuildRequest is a Dockerfile build.
type BuildRequest struct {
	Name       string
	Dockerfile string
	BuildArgs  []string
	Target     string
	Context    string
}

// Build builds a Dockerfile with buildah and pushes the image into the local
// registry. The vfs driver and chroot isolation work on any file system and
// without user namespaces; base images come from the local registry first.
func Build(ctx context.Context, state layout.State, env []string, request BuildRequest, output io.Writer) (Reference, error) {
	ref, err := ParseReference(request.Name)
	if err != nil {
		return Reference{}, err
	}
	dir := state.Path("buildah")
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return Reference{}, err
	}
	hosts, err := Registries(ctx)
	if err != nil {
		return Reference{}, err
	}
	registries, policy := filepath.Join(dir, "registries.conf"), filepath.Join(dir, "policy.json")
	if err := os.WriteFile(registries, []byte(registriesConfig(hosts)), 0o644); err != nil {
		return Reference{}, err
	}
	if err := os.WriteFile(policy, []byte(`{"default": [{"type": "insecureAcceptAnything"}]}`), 0o644); err != nil {
		return Reference{}, err
	}
	run := func(args ...string) error {
		storage := []string{"--storage-driver", "vfs", "--root", filepath.Join(dir, "storage"), "--runroot", filepath.Join(dir, "run")}
		cmd := exec.CommandContext(ctx, "buildah", append(storage, args...)...)
		cmd.Env = append(slices.Clone(env), "CONTAINERS_REGISTRIES_CONF="+registries, "TMPDIR="+filepath.Join(dir, "tmp"))
		cmd.Stdout, cmd.Stderr = output, output
		return cmd.Run()
	}
	if err := run(append(buildArguments(request, ref), "--signature-policy", policy, request.Context)...); err != nil {
		return Reference{}, fmt.Errorf("build %s: %w", ref.Full, err)
	}
	if err := run("push", "--quiet", "--tls-verify=false", "--signature-policy", policy, ref.Full, "docker://"+ref.Local); err != nil {
		return Reference{}, fmt.Errorf("push %s into the local registry: %w", ref.Full, err)
	}
	return ref, nil
}

func buildArguments(request BuildRequest, ref Reference) []string {
	args := []string{"build", "--format", "docker", "--isolation", "chroot", "--tag", ref.Full}
	if request.Dockerfile != "" {
		args = append(args, "--file", request.Dockerfile)
	}
	if request.Target != "" {
		args = append(args, "--target", request.Target)
	}
	for _, arg := range request.BuildArgs {
		args = append(args, "--build-arg", arg)
	}
	return args
}

// Registries lists the registries of which the local one has images.
func Registries(ctx context.Context) ([]string, error) {
	local, err := name.NewRegistry(topology.RegistryAddress(), name.Insecure)
	if err != nil {
		return nil, err
	}
	repositories, err := remote.Catalog(ctx, local)
	if err != nil {
		return nil, fmt.Errorf("the local registry does not answer: start the cluster with `devcluster up` first: %w", err)
	}
	var hosts []string
	for _, repository := range repositories {
		host, _, _ := strings.Cut(repository, "/")
		host = strings.ReplaceAll(host, "_", ":")
		if strings.ContainsAny(host, ".:") || host == "localhost" {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}

// registriesConfig makes the local registry a mirror of the registries of which
// it has images, so that FROM finds those and falls back to the real registry.
func registriesConfig(hosts []string) string {
	var b strings.Builder
	b.WriteString("unqualified-search-registries = [\"docker.io\"]\n")
	for _, host := range hosts {
		mirror := topology.RegistryAddress() + "/" + strings.ReplaceAll(host, ":", "_")
		fmt.Fprintf(&b, "\n[[registry]]\nprefix = %q\nlocation = %q\n[[registry.mirror]]\nlocation = %q\ninsecure = true\n", host, host, mirror)
	}
	return b.String()
}
