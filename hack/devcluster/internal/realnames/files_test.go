package realnames

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReachable(t *testing.T) {
	got := reachable([]string{"quay.io", "docker.io", "quay.io", "reg.example:5000", "localhost"})
	if want := []string{"docker.io", "quay.io"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHostsFile(t *testing.T) {
	const machine = "127.0.0.1 localhost\n10.1.2.3 quay.io\n"
	got := hostsFile(machine, "127.88.0.1", []string{"docker.io", "quay.io"})
	ours, theirs := strings.Index(got, "127.88.0.1 docker.io quay.io\n"), strings.Index(got, machine)
	if ours < 0 || theirs < 0 {
		t.Fatalf("got\n%s", got)
	}
	if ours > theirs {
		t.Errorf("the machine's own line for a name would win:\n%s", got)
	}
}

func TestTrusted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chosen.crt")
	if err := os.WriteFile(file, []byte("chosen"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := trusted(file); err != nil || string(got) != "chosen" {
		t.Errorf("the caller's choice was ignored: %q, %v", got, err)
	}
	if _, err := trusted(file + ".missing"); err == nil {
		t.Error("a chosen file that is missing is silently ignored")
	}
}

func TestJoin(t *testing.T) {
	const want = "one\ntwo\nthree"
	if got := string(join([]byte("one"), nil, []byte("two\n"), []byte("three"))); got != want+"\n" {
		t.Errorf("got %q: two certificates on one line are none", got)
	}
}

func TestEnvironment(t *testing.T) {
	machine := []string{"PATH=/bin", "SSL_CERT_FILE=/old", "NO_PROXY=intranet", "KUBECONFIG=/k"}
	got := environment(machine, "/new", []string{"docker.io", "quay.io"})
	want := []string{"PATH=/bin", "KUBECONFIG=/k", "SSL_CERT_FILE=/new", "NO_PROXY=intranet,docker.io,quay.io", "no_proxy=docker.io,quay.io"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
