//go:build linux

package footprint

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
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
		if err := Record(state, tables, topology.Families{topology.IPv4}); err != nil {
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
	if _, recorded := got.KernelSettings[forwardIPv6]; recorded {
		t.Error("without IPv6 its forwarding is another program's, and none to restore")
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
	if err := removeLinksInto(filepath.Join(links, "*.log"), filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(links, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "theirs.log" {
		t.Errorf("left are %v, %v", left, err)
	}
}

// The kubelet of Kubernetes 1.28 writes them outside the state folder.
func TestOnlyTheLogsOfOurPodsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	state, logs, links := layout.NodeDir(filepath.Join(dir, "state")), filepath.Join(dir, "pods"), filepath.Join(dir, "containers")
	const ours, theirs = "shop_web-0_1111", "shop_web-0_2222"
	for _, folder := range []string{state.Path("kubelet", "pods", "1111"), links, filepath.Join(logs, ours, "web"), filepath.Join(logs, theirs, "web")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, pod := range []string{ours, theirs} {
		log := filepath.Join(logs, pod, "web", "0.log")
		if err := os.WriteFile(log, []byte("started"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(log, filepath.Join(links, pod+".log")); err != nil {
			t.Fatal(err)
		}
	}
	if err := removePodLogs(logs, links, state); err != nil {
		t.Fatal(err)
	}
	for path, kept := range map[string]bool{
		filepath.Join(logs, ours): false, filepath.Join(links, ours+".log"): false,
		filepath.Join(logs, theirs, "web", "0.log"): true, filepath.Join(links, theirs+".log"): true,
	} {
		if _, err := os.Lstat(path); (err == nil) != kept {
			t.Errorf("%s: kept is %v, and should be %v", path, err == nil, kept)
		}
	}
}

func TestAComponentIsInTheCgroupOfAllComponents(t *testing.T) {
	dir := systemCgroup()
	if os.Geteuid() != 0 || dir == "" {
		t.Skip("needs root, and cgroups of the processor")
	}
	command := exec.CommandContext(t.Context(), "sleep", "600")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if err := PlaceComponent(command.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(readPIDs(filepath.Join(dir, procs)), command.Process.Pid) {
		t.Errorf("it is not in %s", dir)
	}
	_ = command.Process.Kill() // What is left to do is to wait.
	_ = command.Wait()
	if err := PlaceComponent(command.Process.Pid); err != nil {
		t.Errorf("a component that has ended: %v", err)
	}
	if len(readPIDs(filepath.Join(dir, procs))) > 0 {
		t.Log("a cluster runs: its cgroup stays")
		return
	}
	if err := removeCgroup(t.Context(), dir); err != nil {
		t.Error(err)
	}
}
