package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

// Builder builds components into the repository's bin folder.
type Builder struct {
	repo     layout.Repository
	progress *Progress
	folders  map[string]string
	// kubernetes is the set that the components of Kubernetes are built from.
	kubernetes string
}

// NewBuilder returns a builder that reports to progress. It builds the newest Kubernetes.
func NewBuilder(repo layout.Repository, progress *Progress) *Builder {
	return &Builder{repo: repo, progress: progress, folders: map[string]string{}, kubernetes: kubernetesSet}
}

// Bin is the folder for the user's PATH.
func (b *Builder) Bin() string { return b.repo.Bin() }

// currentLink is the stable name of the Kubernetes binaries that were asked for last.
const currentLink = "current"

// Folder is where a component's binary is or will be.
func (b *Builder) Folder(c Component) (string, error) { return b.folder(b.setOf(c)) }

func (b *Builder) folder(set string) (string, error) {
	if dir, ok := b.folders[set]; ok {
		return dir, nil
	}
	s, err := b.loadSet(set)
	if err != nil {
		return "", err
	}
	key, err := s.key()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.repo.Bin(), "k8s", s.name+"-"+s.version+"-"+key)
	b.folders[set] = dir
	return dir, nil
}

// Binary is the path of a component's binary.
func (b *Builder) Binary(c Component) (string, error) {
	dir, err := b.Folder(c)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, c.Name), nil
}

// Version is the version of a component's module.
func (b *Builder) Version(c Component) (string, error) {
	s, err := b.loadSet(b.setOf(c))
	return s.version, err
}

// Ensure builds the components that are not there yet.
func (b *Builder) Ensure(ctx context.Context, components ...Component) error {
	start := time.Now()
	missing, err := b.missing(components)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		b.progress.Done("%s already built (%s)", plural(len(components), "component"), shortly(time.Since(start)))
		return b.link(components)
	}
	unlock, err := b.lock()
	if err != nil {
		return err
	}
	defer unlock()

	for i, c := range components {
		if err := b.buildOne(ctx, c, fmt.Sprintf("[%d/%d] %s", i+1, len(components), c.Name)); err != nil {
			return err
		}
	}
	b.progress.Done("%s built in %s", plural(len(missing), "component"), shortly(time.Since(start)))
	return b.link(components)
}

func (b *Builder) missing(components []Component) ([]Component, error) {
	var missing []Component
	for _, c := range components {
		binary, err := b.Binary(c)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(binary); err != nil {
			missing = append(missing, c)
		}
	}
	return missing, nil
}

func (b *Builder) buildOne(ctx context.Context, c Component, label string) error {
	binary, err := b.Binary(c)
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err == nil {
		b.progress.Done("%s already built", label)
		return nil
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return errors.New("the components are not built yet, and there is no go in PATH to build them: " +
			"install Go (or, under sudo, keep the PATH: sudo env \"PATH=$PATH\" ...)")
	}
	s, err := b.loadSet(b.setOf(c))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return err
	}
	// The final name appears only when the binary is complete.
	partial := binary + ".partial"
	defer func() { _ = os.Remove(partial) }()

	cmd := exec.CommandContext(ctx, goTool, "build", "-v", "-buildvcs=false", "-tags", s.tags, "-ldflags", s.ldflags, "-o", partial, c.pkg)
	cmd.Dir = s.dir
	// An interrupted go ends its compilers too; a killed one would leave them running.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	// No -trimpath and no cgo: so the packages that the operator has in common
	// with Kubernetes are compiled once for both.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+s.goos, "GOARCH="+runtime.GOARCH)
	if err := b.progress.Run(label, cmd); err != nil {
		return fmt.Errorf("build %s: %w", c.Name, err)
	}
	return os.Rename(partial, binary)
}

// KubectlLink is the kubectl of the Kubernetes that was asked for last.
func (b *Builder) KubectlLink() string { return filepath.Join(b.repo.Bin(), Kubectl.Name) }

// link points bin/k8s/current and bin/kubectl at a Kubernetes that was built.
func (b *Builder) link(components []Component) error {
	if !slices.Contains(components, Kubectl) {
		return nil
	}
	folder, err := b.Folder(Kubectl)
	if err != nil {
		return err
	}
	if err := replaceLink(filepath.Base(folder), filepath.Join(b.repo.Bin(), "k8s", currentLink)); err != nil {
		return err
	}
	return replaceLink(filepath.Join("k8s", currentLink, Kubectl.Name), b.KubectlLink())
}

func replaceLink(target, link string) error {
	if existing, err := os.Readlink(link); err == nil && existing == target {
		return nil
	}
	fresh := fmt.Sprintf("%s.%d", link, os.Getpid())
	if err := os.Symlink(target, fresh); err != nil {
		return err
	}
	return os.Rename(fresh, link)
}

// Prune removes the binaries of other keys: each set of them takes most of a gigabyte.
// The other versions of Kubernetes that can be asked for are kept.
func (b *Builder) Prune() error {
	names, err := b.sets()
	if err != nil {
		return err
	}
	for _, name := range names {
		current, err := b.folder(name)
		if err != nil {
			return err
		}
		dirs, err := filepath.Glob(filepath.Join(b.repo.Bin(), "k8s", name+"-v*"))
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			if dir == current {
				continue
			}
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}
