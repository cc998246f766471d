// Command chart writes the templates of the Helm chart of a project, that of the
// root or workloads, from what kustomize builds, so that the chart and
// config/default cannot differ: all that is not in the list of parameters
// (parameters.go) is taken over as it is.
//
// What kustomize does not know is the same for both projects (shared: the helpers
// and the ConfigMap of the settings), or is written by hand beside the generated
// folder: the notes.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	kustomize := flag.String("kustomize", "bin/tools/kustomize", "the kustomize to run")
	project := flag.String("project", ".", "the folder of the project; its config/ has the kustomizations")
	folder := flag.String("chart", "", "the folder of the chart; what is in its templates/generated is removed; empty is config/chart/NAME of the project")
	version := flag.String("version", "", "X.Y.Z of the chart and of the operator that it installs; empty leaves them")
	flag.Parse()
	err := run(context.Background(), *kustomize, *project, *folder, *version)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kustomize, project, folder, version string) error {
	name, err := nameOf(project)
	if err != nil {
		return err
	}
	config := filepath.Join(project, "config")
	if folder == "" {
		folder = filepath.Join(config, "chart", name)
	}
	plain, err := build(ctx, kustomize, filepath.Join(config, "default"))
	if err != nil {
		return err
	}
	certManager, err := build(ctx, kustomize, filepath.Join(config, "certmanager"))
	if err != nil {
		return err
	}
	namespace, err := namespaceIn(plain)
	if err != nil {
		return err
	}
	c := &chart{name: name, namespace: namespace, files: map[string]string{}}
	if err := c.templates(plain, certManager); err != nil {
		return fmt.Errorf("make templates of what kustomize builds: %w", err)
	}
	if err := c.share(plain); err != nil {
		return err
	}
	for _, extra := range extras {
		if err := fromFolder(ctx, kustomize, filepath.Join(config, extra.folder), extra.condition, c.add); err != nil {
			return err
		}
	}
	for _, each := range forEachNamespace {
		if err := fromFolder(ctx, kustomize, filepath.Join(config, each.folder), each.condition, c.addForEachNamespace); err != nil {
			return err
		}
	}
	if err := c.save(filepath.Join(folder, "templates/generated")); err != nil || version == "" {
		return err
	}
	return stamp(filepath.Join(folder, "Chart.yaml"), version)
}

// fromFolder adds what kustomize builds of a folder, if the project has it.
func fromFolder(ctx context.Context, kustomize, folder, condition string, add func([]object, string) error) error {
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	objects, err := build(ctx, kustomize, folder)
	if err != nil {
		return err
	}
	if err := add(objects, condition); err != nil {
		return fmt.Errorf("make templates of %s: %w", folder, err)
	}
	return nil
}

// projectName is the name of a project in its PROJECT: that of its operator and its chart.
var projectName = regexp.MustCompile(`(?m)^projectName: (\S+)$`)

func nameOf(project string) (string, error) {
	data, err := os.ReadFile(filepath.Join(project, "PROJECT"))
	if err != nil {
		return "", fmt.Errorf("read the name of the project: %w", err)
	}
	found := projectName.FindSubmatch(data)
	if found == nil {
		return "", fmt.Errorf("read the name of the project: %s/PROJECT has no projectName", project)
	}
	return string(found[1]), nil
}

// save writes the files of the chart, and nothing else is in their folder then.
func (c *chart) save(output string) error {
	if err := os.RemoveAll(output); err != nil {
		return fmt.Errorf("remove the templates before these: %w", err)
	}
	if err := os.MkdirAll(output, 0o755); err != nil {
		return fmt.Errorf("make the folder of the templates: %w", err)
	}
	for name, content := range c.files {
		if err := os.WriteFile(filepath.Join(output, name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("write a template: %w", err)
		}
	}
	return nil
}

// versions are the places in Chart.yaml that have the version.
var versions = regexp.MustCompile(`(?m)^((?:version|appVersion): |.*image: quay\.io/critical-service/[a-z]+:v).*$`)

// stamp sets the version of the chart.
func stamp(path, version string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the chart's description: %w", err)
	}
	data = versions.ReplaceAll(data, []byte("${1}"+version))
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("set the version of the chart: %w", err)
	}
	return nil
}

// build runs kustomize, and reads what it says.
func build(ctx context.Context, kustomize, folder string) ([]object, error) {
	var said bytes.Buffer
	command := exec.CommandContext(ctx, kustomize, "build", folder)
	command.Stderr = &said
	data, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", command, err, strings.TrimSpace(said.String()))
	}
	return parse(data)
}
