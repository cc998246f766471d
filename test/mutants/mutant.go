package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mutant is a bug that a patch seeds.
type mutant struct {
	name, patch string
	// sentence says what goes wrong, and files are those that it changes.
	sentence string
	files    []string
}

// changed are the files of a patch.
var changed = regexp.MustCompile(`(?m)^\+{3} b/(.+)$`)

// load reads the patches of a folder: those of these names, or all.
func load(folder string, names []string) ([]mutant, error) {
	patches, err := filepath.Glob(filepath.Join(folder, "*.patch"))
	if err != nil {
		return nil, err
	}
	var mutants []mutant
	for _, patch := range patches {
		name := strings.TrimSuffix(filepath.Base(patch), ".patch")
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		text, err := os.ReadFile(patch)
		if err != nil {
			return nil, err
		}
		m := mutant{name: name, patch: patch}
		m.sentence, _, _ = strings.Cut(string(text), "\n")
		for _, match := range changed.FindAllStringSubmatch(string(text), -1) {
			m.files = append(m.files, match[1])
		}
		mutants = append(mutants, m)
	}
	return mutants, nil
}

// seed applies the patch to copies of its files in a folder, and returns an overlay of the repository at a root, which
// `go test` takes: the repository stays as it is.
func (m mutant) seed(ctx context.Context, root, folder string) (overlay string, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	patch, err := filepath.Abs(m.patch)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, file := range m.files {
		original, mutated := filepath.Join(root, file), filepath.Join(folder, file)
		content, err := os.ReadFile(original)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(mutated), 0o750), os.WriteFile(mutated, content, 0o600))
		if err != nil {
			return "", err
		}
		replace[original] = mutated
	}
	apply := exec.CommandContext(ctx, "git", "apply", patch)
	// No repository around the folder decides about it.
	apply.Dir, apply.Env = folder, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(folder))
	if said, err := apply.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the patch does not apply any more: change it with the code that it mutates: %w: %s", err, said)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}
