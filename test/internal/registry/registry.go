// Package registry serves a container registry on the loopback interface for a test. It is crane's, in bin/tools, which
// `make test` builds.
package registry

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var port = regexp.MustCompile(`serving on port (\d+)`)

// Serve starts an empty registry without TLS, which ends with the test, and returns its address.
func Serve(t *testing.T, root string) string {
	t.Helper()
	// Crane handles a signal, and the context of a test is canceled before its cleanups.
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	command := exec.CommandContext(ctx, Crane(root), "registry", "serve", "--address", "127.0.0.1:0", "--disk", t.TempDir())
	said, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		cancel()
		t.Fatalf("serve a registry (make crane builds its program): %v", err)
	}
	address, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if found := port.FindStringSubmatch(lines.Text()); found != nil {
				address <- "127.0.0.1:" + found[1]
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended // Nothing is written to a folder that is removed.
		_ = command.Wait()
	})
	select {
	case found := <-address:
		return found
	case <-ended:
		t.Fatal("the registry ended before it served")
		return ""
	}
}

// Crane is the way to the program.
func Crane(root string) string { return filepath.Join(root, "bin/tools/crane") }
