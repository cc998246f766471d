package build

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestProgressShowsTheOutputOfAFailedBuildOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		script     string
		wantErr    []string
		wantPrints []string
	}{
		"a build that succeeds is one finished line": {
			script:     "echo k8s.io/api >&2; echo net/http >&2",
			wantPrints: []string{"[1/2] etcd ...\n", "(2 packages compiled)\n"},
		},
		"a build that fails explains itself without the package names": {
			script:  "echo k8s.io/api >&2; echo './x.go:3:1: syntax error' >&2; exit 1",
			wantErr: []string{"exit status 1", "x.go:3:1: syntax error"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := &Progress{out: &out}
			err := p.Run("[1/2] etcd", exec.Command("sh", "-c", tc.script))
			if (err != nil) != (tc.wantErr != nil) {
				t.Fatalf("unexpected error: %v", err)
			}
			for _, want := range tc.wantErr {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), "k8s.io/api") {
				t.Errorf("the error drowns in package names: %v", err)
			}
			for _, want := range tc.wantPrints {
				if !strings.Contains(out.String(), want) {
					t.Errorf("printed %q, which lacks %q", out.String(), want)
				}
			}
		})
	}
}

func TestShortly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1400 * time.Microsecond: "1ms",
		12 * time.Second:        "12s",
		134*time.Second + 1:     "2m14s",
	} {
		if got := shortly(d); got != want {
			t.Errorf("shortly(%v) = %s, want %s", d, got, want)
		}
	}
}
