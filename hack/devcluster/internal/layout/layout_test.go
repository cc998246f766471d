package layout

import (
	"os"
	"path/filepath"
	"testing"
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
