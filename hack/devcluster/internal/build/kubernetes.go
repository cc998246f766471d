package build

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// KubernetesVariable is the minor version of Kubernetes, unless a flag says another.
const KubernetesVariable = "KUBERNETES"

// olderKubernetes begins the names of the sets of Kubernetes but the newest.
const olderKubernetes = kubernetesSet + "-"

// SelectKubernetes makes the builder build a minor version, such as 1.28; without one it stays the newest.
func (b *Builder) SelectKubernetes(minor string) error {
	if minor == "" {
		return nil
	}
	sets, err := b.kubernetesSets()
	if err != nil {
		return err
	}
	set, isThere := sets[minor]
	if !isThere {
		versions := slices.SortedFunc(maps.Keys(sets), func(a, b string) int { return semver.Compare("v"+a, "v"+b) })
		return fmt.Errorf("there is no Kubernetes %q in hack/devcluster/components: choose %s, or none for the newest",
			minor, strings.Join(versions, ", "))
	}
	b.kubernetes = set
	return nil
}

// kubernetesSets are the sets of Kubernetes, by minor version.
func (b *Builder) kubernetesSets() (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(b.repo.Module(), "components", kubernetesSet+"*", "go.mod"))
	if err != nil {
		return nil, err
	}
	sets := make(map[string]string, len(files))
	for _, file := range files {
		version, err := requiredVersion(file, recipes[kubernetesSet].module)
		if err != nil {
			return nil, err
		}
		sets[strings.TrimPrefix(semver.MajorMinor(version), "v")] = filepath.Base(filepath.Dir(file))
	}
	return sets, nil
}

// setOf is the set that a component is built from.
func (b *Builder) setOf(c Component) string {
	if c.set == kubernetesSet {
		return b.kubernetes
	}
	return c.set
}

// sets are the names of all sets.
func (b *Builder) sets() ([]string, error) {
	kubernetes, err := b.kubernetesSets()
	if err != nil {
		return nil, err
	}
	names := slices.Collect(maps.Values(kubernetes))
	for name := range recipes {
		if name != kubernetesSet {
			names = append(names, name)
		}
	}
	return names, nil
}
