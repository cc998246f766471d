package debian

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMissingPackages(t *testing.T) {
	for name, tc := range map[string]struct {
		present                   []string
		iptables, networkPolicies bool
		want                      []string
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
		"NetworkPolicies need sets of addresses": {
			present: []string{"containerd", "ctr", "runc", "mount", "nft", "ptp", "buildah"}, networkPolicies: true,
			want: []string{"iptables", "ipset"},
		},
		"everything is there": {present: []string{"containerd", "ctr", "runc", "mount", "nft", "ptp", "buildah"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := missingPackages(Requirements(tc.iptables, tc.networkPolicies), func(r Requirement) string {
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

// writeELF writes the headers of a program with one segment, which is all that tells how it was linked.
func writeELF(t *testing.T, path string, segment uint32) {
	t.Helper()
	var b bytes.Buffer
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	for _, part := range []any{header, elf.Prog64{Type: segment}} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestAProgramThatMustBeStatic(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	writeELF(t, filepath.Join(dir, "static"), uint32(elf.PT_LOAD))
	writeELF(t, filepath.Join(dir, "dynamic"), uint32(elf.PT_INTERP))
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		requirement Requirement
		want        bool
	}{
		"a static program":               {Requirement{Program: "static", Static: true}, true},
		"one that needs libraries":       {Requirement{Program: "dynamic", Static: true}, false},
		"one that needs an interpreter":  {Requirement{Program: "script", Static: true}, false},
		"libraries where they may exist": {Requirement{Program: "dynamic"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := find(tc.requirement); (got != "") != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
