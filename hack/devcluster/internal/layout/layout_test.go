package layout

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

func TestFindRepository(t *testing.T) {
	clone, elsewhere := t.TempDir(), t.TempDir()
	deep := filepath.Join(clone, "hack", "devcluster", "internal")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(clone, "hack", "devcluster", "go.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		dirs []string
		want Repository
	}{
		"the clone itself":                                     {dirs: []string{clone}, want: Repository(clone)},
		"a folder deep in the clone":                           {dirs: []string{deep}, want: Repository(clone)},
		"elsewhere, with the program in the clone's bin":       {dirs: []string{elsewhere, filepath.Join(clone, "bin")}, want: Repository(clone)},
		"neither here nor there is an error, not a wild guess": {dirs: []string{elsewhere}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FindRepository(tc.dirs...)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

func TestStateDir(t *testing.T) {
	for name, tc := range map[string]struct {
		flag, environment string
		want              State
	}{
		"the default":                         {want: DefaultStateDir},
		"the environment overrides it":        {environment: "/env", want: "/env"},
		"the flag overrides the environment":  {flag: "/flag", environment: "/env", want: "/flag"},
		"the root folder is never a state":    {flag: "/"},
		"a path is cleaned before it is kept": {flag: "/flag/../other/", want: "/other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(StateDirVariable, tc.environment)
			got, err := StateDir(tc.flag)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

func TestEachNodeHasAFolderOfItsOwn(t *testing.T) {
	nodes := topology.Nodes(2)
	for name, tc := range map[string]struct{ got, want string }{
		"the first node's socket":          {State("/state").Node(nodes[0]).ContainerdSocket(), "/state/containerd/containerd.sock"},
		"another's socket":                 {State("/state").Node(nodes[1]).ContainerdSocket(), "/state/nodes/node2/containerd/containerd.sock"},
		"the first node has the machine's": {State("/state").Namespace(nodes[0]), ""},
		"another has a namespace":          {State("/state").Namespace(nodes[1]), "/state/namespaces/node2"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %q, want %q", name, tc.got, tc.want)
		}
	}
}
