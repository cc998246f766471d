// Command licenses writes the licences of what is compiled into programs: of Go's standard library, and of every module
// that has a package in them. Their authors ask for that with every copy. The same dependencies give the same bytes.
//
//	licenses [-C DIR] [-os OS] [-arch ARCH] OUTPUT PACKAGE...
//
// The packages are those of the module in DIR, as they are compiled for a system. Modules of this repository are left out:
// they have its LICENSE.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// own is the module at the root of this repository, which the others use.
const own = "github.com/critical-service/operator"

func main() {
	dir := flag.String("C", ".", "the folder of the module")
	system := flag.String("os", runtime.GOOS, "the system of the programs")
	architecture := flag.String("arch", runtime.GOARCH, "their architecture")
	flag.Parse()
	if err := run(context.Background(), *dir, []string{"GOOS=" + *system, "GOARCH=" + *architecture}, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, environment, arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("give the file to write and the packages of the programs: licenses OUTPUT PACKAGE")
	}
	list := append([]string{"-C", dir, "list", "-deps", "-json=Dir,Standard,Module"}, arguments[1:]...)
	command := exec.CommandContext(ctx, "go", list...) //nolint:gosec // The Makefile names the packages.
	command.Stderr, command.Env = os.Stderr, append(os.Environ(), environment...)
	listed, err := command.Output()
	if err != nil {
		return fmt.Errorf("list the packages of the programs: %w", err)
	}
	packages, err := decode(bytes.NewReader(listed))
	if err != nil {
		return err
	}
	root, err := exec.CommandContext(ctx, "go", "-C", dir, "env", "GOROOT", "GOVERSION").Output() //nolint:gosec // As above.
	if err != nil {
		return fmt.Errorf("find Go's licence: %w", err)
	}
	goroot, version, _ := strings.Cut(strings.TrimSpace(string(root)), "\n")
	notices := notices{}
	if err := notices.add("Go's standard library "+version, goroot, goroot); err != nil {
		return err
	}
	for _, p := range packages {
		if p.Standard || p.Module == nil || p.Module.Main || p.Module.Path == own {
			continue
		}
		if err := notices.add(p.Module.Path+" "+p.Module.Version, p.Module.Dir, p.Dir); err != nil {
			return err
		}
	}
	return os.WriteFile(arguments[0], notices.text(), 0o644) //nolint:gosec // Everyone may read it, in the image too.
}

// listedPackage is what `go list` says of a package.
type listedPackage struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main               bool
	}
}

func decode(from io.Reader) ([]listedPackage, error) {
	var packages []listedPackage
	decoder := json.NewDecoder(from)
	for {
		var p listedPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("read what go list says: %w", err)
		}
		packages = append(packages, p)
	}
}

// isLicense is how files are named that have to go with a copy.
var isLicense = regexp.MustCompile(`(?i)^((un)?licen[sc]e|copying|copyright|notice|patents)([._-].*)?$`)

// notices are the names of what has a text, by the text. Many have the same.
type notices map[string]map[string]bool

// add takes the licences in the folder of a package and in all above it, up to that of its module. Code that a module has
// from elsewhere has its own beside it.
func (n notices) add(name, module, folder string) error {
	found := 0
	for at := folder; ; at = filepath.Dir(at) {
		entries, err := os.ReadDir(at)
		if err != nil {
			return fmt.Errorf("read the licences of %s: %w", name, err)
		}
		for _, entry := range entries {
			if !entry.Type().IsRegular() || !isLicense.MatchString(entry.Name()) || filepath.Ext(entry.Name()) == ".go" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(at, entry.Name())) //nolint:gosec // It is in the module cache.
			if err != nil {
				return fmt.Errorf("read the licences of %s: %w", name, err)
			}
			path, err := filepath.Rel(module, filepath.Join(at, entry.Name()))
			if err != nil {
				return err
			}
			key := strings.TrimSpace(string(text))
			if n[key] == nil {
				n[key] = map[string]bool{}
			}
			n[key][name+": "+filepath.ToSlash(path)] = true
			found++
		}
		if at == module || at == filepath.Dir(at) {
			break
		}
	}
	if found == 0 {
		return fmt.Errorf("%s has no licence in %s: without one it may not be delivered", name, module)
	}
	return nil
}

const line = "--------------------------------------------------------------------------------\n"

// text is all of them, in the order of the first name of each.
func (n notices) text() []byte {
	type notice struct {
		names []string
		text  string
	}
	var all []notice
	for text, names := range n {
		all = append(all, notice{slices.Sorted(maps.Keys(names)), text})
	}
	slices.SortFunc(all, func(a, b notice) int { return slices.Compare(a.names, b.names) })
	var out bytes.Buffer
	out.WriteString("The programs of this project contain code of others, under these licences.\n")
	for _, one := range all {
		fmt.Fprintf(&out, "\n%s%s\n%s\n%s\n", line, strings.Join(one.names, "\n"), line, one.text)
	}
	return out.Bytes()
}
