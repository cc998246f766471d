package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// caught is a test that failed.
type caught struct{ pkg, test string }

// event is what this program reads of what `go test -json` prints.
type event struct{ Action, Package, Test, Output string }

// test runs the tests of packages in the module of a folder, until one fails. It reports the first that did; its name is
// empty if none did. Code that does not compile is an error, and catches nothing; nor does a machine that is slow.
func test(ctx context.Context, folder string, arguments ...string) (caught, error) {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-vet=off", "-ldflags=-w", "-failfast", "-timeout=60m"}, arguments...)...)
	command.Dir = folder
	// After an interrupt go begins nothing more. It waits for what runs: tests stop the API server that they have started.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	output, err := command.StdoutPipe()
	if err != nil {
		return caught{}, err
	}
	if err := command.Start(); err != nil {
		return caught{}, err
	}
	result := results{said: map[string]string{}}
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		result.note(e)
		if result.first.test != "" {
			enough()
		}
	}
	err = errors.Join(result.broken, lines.Err())
	if ended := command.Wait(); ended != nil && err == nil && result.first.test == "" {
		err = ended
	}
	return result.first, err
}

// list is which packages patterns name in the module of a folder.
func list(ctx context.Context, folder string, patterns []string) ([]string, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"list"}, patterns...)...)
	command.Dir, command.Stderr = folder, os.Stderr
	output, err := command.Output()
	return strings.Fields(string(output)), err
}

// results are what came of tests so far.
type results struct {
	// first is the test that failed first, and broken what failed without a test.
	first  caught
	broken error
	// said is what was printed outside tests, by package; what the compiler printed has none.
	said map[string]string
}

func (r *results) note(e event) {
	switch root, _, _ := strings.Cut(e.Test, "/"); {
	case e.Action == "build-output":
		r.said[""] += e.Output
	case e.Action == "build-fail":
		r.broken = errors.Join(r.broken, fmt.Errorf("it does not compile: %s", r.said[""]))
	case e.Action == "output" && e.Test == "":
		r.said[e.Package] += e.Output
	case e.Action != "fail" || r.first.test != "":
	case e.Test != "":
		r.first = caught{e.Package, root}
	default:
		r.broken = errors.Join(r.broken, fmt.Errorf("%s failed, although no test did: %s", e.Package, r.said[e.Package]))
	}
}
