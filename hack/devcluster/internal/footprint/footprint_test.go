//go:build linux

package footprint

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

func TestParseMountInfo(t *testing.T) {
	const mountInfo = `22 1 254:0 / / rw - ext4 /dev/vda rw
90 22 0:44 / /state/kubelet/a rw - tmpfs tmpfs rw
91 22 0:45 / /state/a\040b rw - tmpfs tmpfs rw
92 22 0:46 / /state2/kubelet rw - tmpfs tmpfs rw
93 22 0:47 / /state rw - tmpfs tmpfs rw
`
	want := []string{"/state/kubelet/a", "/state/a b"}
	if got := parseMountInfo(mountInfo, "/state"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q: only what is below the folder is ours", got, want)
	}
}

func TestRecordKeepsTheFirstRecord(t *testing.T) {
	state := layout.State(t.TempDir())
	if before, err := Load(state); err != nil || before.Tables != nil {
		t.Fatalf("a machine without a record has %v, %v", before, err)
	}
	for _, tables := range [][]string{{"ip first"}, {"ip second"}} {
		if err := Record(state, tables); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Load(state)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Tables, []string{"ip first"}) {
		t.Errorf("a repeated start overwrote what the machine was like before: %v", got.Tables)
	}
	if len(got.KernelSettings) == 0 {
		t.Error("no kernel setting was recorded")
	}
}

func TestOnlyOurContainerLinksAreRemoved(t *testing.T) {
	dir := t.TempDir()
	links := filepath.Join(dir, "links")
	if err := os.Mkdir(links, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"ours.log": filepath.Join(dir, "state", "pods", "0.log"), "theirs.log": filepath.Join(dir, "state2", "pods", "0.log"),
	} {
		if err := os.Symlink(target, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeLinksInto(filepath.Join(links, "*.log"), layout.State(filepath.Join(dir, "state"))); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(links, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "theirs.log" {
		t.Errorf("left are %v, %v", left, err)
	}
}
