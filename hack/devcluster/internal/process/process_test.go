//go:build linux

package process

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

func TestParseStat(t *testing.T) {
	const rest = " S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0"
	for name, tc := range map[string]struct {
		content string
		want    stat
		wantErr bool
	}{
		"a usual process":                             {content: "42 (etcd)" + rest, want: stat{'S', 1, 4711}},
		"a name with blanks and parentheses":          {content: "42 (a) R 7 (b)" + rest, want: stat{'S', 1, 4711}},
		"a zombie":                                    {content: "42 (etcd)" + strings.Replace(rest, "S", "Z", 1), want: stat{'Z', 1, 4711}},
		"a line that was cut off is an error":         {content: "42 (etcd) S 1", wantErr: true},
		"something that is no status is an error too": {content: "hello", wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(tc.content))
			if got != tc.want || (err != nil) != tc.wantErr {
				t.Errorf("got %v, %v; want %v", got, err, tc.want)
			}
		})
	}
}

// headless makes this process one whose first thread has ended, as that of a killed process
// does before the others.
const headless = "DEVCLUSTER_TEST_HEADLESS"

//nolint:gochecknoinits // Nothing else is sure to run on the first thread.
func init() {
	if os.Getenv(headless) == "" {
		return
	}
	runtime.LockOSThread()
	go func() { _, _ = os.Stdin.Read(make([]byte, 1)); os.Exit(0) }()
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

func TestAProcessIsAliveUntilItsLastThreadEnds(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), headless+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	awaitFirstThreadEnded(t, id.PID)
	if !id.Alive() {
		t.Error("a process whose first thread has ended counts as ended, while it has its files and ports")
	}
	_ = stdin.Close()
	if !waitGone(t.Context(), []Identity{id}, time.Minute) {
		t.Error("a process of which no thread runs counts as alive")
	}
	_ = cmd.Wait()
}

func awaitFirstThreadEnded(t *testing.T, pid int) {
	t.Helper()
	for {
		stat, err := readStat(pid)
		if err != nil {
			t.Fatal(err)
		}
		if stat.state == 'Z' {
			return
		}
	}
}

// sleeper starts a process that ends with the test at the latest.
func sleeper(t *testing.T, env ...string) Identity {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-done })
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestASignalReachesOnlyTheVeryProcess(t *testing.T) {
	id := sleeper(t)
	for name, other := range map[string]Identity{
		"a process that had the PID before": {PID: id.PID, StartTicks: id.StartTicks - 1, BootID: id.BootID},
		"a process of an earlier boot":      {PID: id.PID, StartTicks: id.StartTicks, BootID: "earlier"},
		"no process at all":                 {},
	} {
		if other.Alive() {
			t.Errorf("%s counts as alive", name)
		}
		if err := other.Signal(syscall.SIGKILL); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !id.Alive() {
		t.Fatal("a stranger was killed in place of a process that had its PID before")
	}
	if err := Kill(t.Context(), []Identity{id}); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("the process survived")
	}
}

func TestOwnedFindsProcessesByTheirMarker(t *testing.T) {
	s := NewSupervisor(layout.State(t.TempDir()))
	ours := sleeper(t, s.marker())
	// A state folder whose name only begins like ours is another cluster's.
	theirs := sleeper(t, s.marker()+"-2")
	unmarked := sleeper(t)

	owned, err := s.Owned()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(owned, ours) {
		t.Error("a marked process was not found: it would outlive `down`")
	}
	if slices.Contains(owned, theirs) || slices.Contains(owned, unmarked) {
		t.Error("a foreign process was found: `down` would kill it")
	}
	others, err := s.OtherClusters()
	if err != nil || !slices.Contains(others, string(s.state)+"-2") || slices.Contains(others, string(s.state)) {
		t.Errorf("the other clusters are %v, %v", others, err)
	}
}

func newState(t *testing.T) layout.State {
	t.Helper()
	state := layout.State(t.TempDir())
	for _, dir := range []string{"logs", "processes"} {
		if err := os.Mkdir(state.Path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return state
}

func TestStartRecordsWhatItStarts(t *testing.T) {
	state := newState(t)
	s := NewSupervisor(state)
	if s.Alive("etcd") {
		t.Error("a component that was never started counts as alive")
	}
	id, err := s.Start(Spec{Name: "etcd", Path: "/bin/sh", Args: []string{"-c", "exec sleep 60"}})
	if err != nil {
		t.Fatal(err)
	}
	if found, ok := NewSupervisor(state).Find("etcd"); !ok || found != id {
		t.Errorf("another devcluster finds %v, %v instead of %v", found, ok, id)
	}
	if !s.Alive("etcd") {
		t.Error("the component does not count as alive")
	}
	if err := Kill(t.Context(), []Identity{id}); err != nil {
		t.Fatal(err)
	}
	if s.Alive("etcd") {
		t.Error("a component that was killed counts as alive")
	}
}

func TestTheOutputOfAComponentIsItsLog(t *testing.T) {
	state := newState(t)
	id, err := NewSupervisor(state).Start(Spec{Name: "etcd", Path: "/bin/sh", Args: []string{"-c", "echo out; echo err >&2; read wait"}})
	if err != nil {
		t.Fatal(err)
	}
	if !waitGone(t.Context(), []Identity{id}, time.Minute) {
		t.Fatal("the component waits for input: it is connected to the terminal")
	}
	log, err := os.ReadFile(state.Log("etcd"))
	if err != nil || string(log) != "out\nerr\n" {
		t.Errorf("log is %q, %v", log, err)
	}
}

func TestAComponentIsPlaced(t *testing.T) {
	s, placed := NewSupervisor(newState(t)), 0
	s.Place = func(pid int) error { placed = pid; return nil }
	id, err := s.Start(Spec{Name: "etcd", Path: "/bin/true"})
	if err != nil || placed != id.PID {
		t.Errorf("placed is %d of %v, %v", placed, id, err)
	}
}

func TestComponentsDoNotTalkThroughAProxy(t *testing.T) {
	t.Setenv("https_proxy", "http://proxy.example:3128")
	t.Setenv("HTTP_PROXY", "http://proxy.example:3128")
	s := NewSupervisor("/state")
	for name, tc := range map[string]struct {
		spec Spec
		want int
	}{
		"components that talk to each other": {Spec{NoProxy: true}, 0},
		"what pulls from real registries":    {Spec{}, 2},
	} {
		got := 0
		for _, kv := range s.Environment(tc.spec) {
			if strings.Contains(kv, "proxy.example") {
				got++
			}
		}
		if got != tc.want {
			t.Errorf("%s: %d proxy variables, want %d", name, got, tc.want)
		}
	}
}

func TestTheProcessesOfANamespaceAreFound(t *testing.T) {
	self, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	found, err := In("/proc/self/ns/net")
	if err != nil || !slices.Contains(found, self) {
		t.Errorf("got %v, %v; want this process, %v, among them", found, err, self)
	}
	if found, err := In("/proc/self/ns/uts"); err != nil || len(found) > 0 {
		t.Errorf("in a namespace that is no network there are %v, %v", found, err)
	}
}
