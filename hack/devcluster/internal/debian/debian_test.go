package debian

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMissingPackages(t *testing.T) {
	for name, tc := range map[string]struct {
		present  []string
		iptables bool
		want     []string
	}{
		"nothing is there, and no package is named twice": {
			want: []string{"containerd", "runc", "containernetworking-plugins", "nftables", "buildah", "mount"},
		},
		"containerd from elsewhere counts": {
			present: []string{"containerd", "ctr", "runc", "mount", "nft"},
			want:    []string{"containernetworking-plugins", "buildah"},
		},
		"iptables is needed only in its mode": {
			present: []string{"containerd", "ctr", "runc", "mount", "nft", "ptp", "buildah"}, iptables: true,
			want: []string{"iptables"},
		},
		"everything is there": {present: []string{"containerd", "ctr", "runc", "mount", "nft", "ptp", "buildah"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := missingPackages(Requirements(tc.iptables), func(r Requirement) string {
				if slices.Contains(tc.present, r.Program) {
					return r.Program
				}
				return ""
			})
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestFindLooksInTheFoldersOfAPlugin(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(second, "ptp"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(first, "ptp"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := find(Requirement{Program: "ptp", Folders: []string{first, second}}); got != filepath.Join(second, "ptp") {
		t.Errorf("got %q", got)
	}
}

func TestWithoutAptThePackagesAreNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Ensure(t.Context(), []Requirement{{Program: "no-such-program-1", Package: "one"}, {Program: "no-such-program-2", Package: "two"}}, os.Stderr)
	if err == nil || !strings.Contains(err.Error(), "one, two") {
		t.Errorf("one error must name all packages, got %v", err)
	}
}
