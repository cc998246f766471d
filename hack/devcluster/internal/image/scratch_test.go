package image

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func writeProgram(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// contents lists an image's files, each as "name mode content".
func contents(t *testing.T, img v1.Image) []string {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, strings.Join([]string{header.Name, header.FileInfo().Mode().String(), string(content) + header.Linkname}, " "))
	}
}

func TestScratchMakesAllKindsOfFiles(t *testing.T) {
	img, err := Scratch{
		Files: []File{
			Text("etc/passwd", "root"), Folder("tmp", 0o1777), Copy("bin/busybox", writeProgram(t, "#!")), Link("bin/sh", "busybox"),
		},
		User: "1001", Env: []string{"PATH=/bin"}, Entrypoint: []string{"/bin/sh"},
	}.Image()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"etc/passwd -rw-r--r-- root", "tmp/ dtrwxrwxrwx ", "bin/busybox -rwxr-xr-x #!", "bin/sh Lrwxrwxrwx busybox"}
	if got := contents(t, img); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if file.Config.User != "1001" || !slices.Equal(file.Config.Env, []string{"PATH=/bin"}) || !slices.Equal(file.Config.Entrypoint, []string{"/bin/sh"}) {
		t.Errorf("the image would not run as it is meant to: %+v", file.Config)
	}
}

func TestAMissingProgramIsAnErrorAndNotAnEmptyImage(t *testing.T) {
	if _, err := (Scratch{Files: []File{Copy("bin/olm", "/no/such/program")}}).Image(); err == nil {
		t.Error("an image without its program was made")
	}
}

func TestIsCurrent(t *testing.T) {
	server := httptest.NewServer(ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	ref := Reference{Local: strings.TrimPrefix(server.URL, "http://") + "/quay.io/x/y:dev"}
	program := writeProgram(t, "one")
	original := Scratch{Files: []File{Copy("bin/olm", program)}, User: "1001"}
	isCurrent := func(s Scratch) bool {
		t.Helper()
		current, err := s.IsCurrent(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		return current
	}

	if isCurrent(original) {
		t.Error("an image that was never pushed is taken for current")
	}
	img, err := original.Image()
	if err != nil {
		t.Fatal(err)
	}
	target, err := name.ParseReference(ref.Local, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(target, img); err != nil {
		t.Fatal(err)
	}
	if !isCurrent(original) {
		t.Error("an image that has just been pushed would be made again")
	}
	for change, s := range map[string]Scratch{
		"another user":       {Files: original.Files},
		"another path":       {Files: []File{Copy("bin/opm", program)}, User: "1001"},
		"one file more":      {Files: append(slices.Clone(original.Files), Text("etc/passwd", "")), User: "1001"},
		"another entrypoint": {Files: original.Files, User: "1001", Entrypoint: []string{"/bin/olm"}},
	} {
		if isCurrent(s) {
			t.Errorf("%s goes unnoticed", change)
		}
	}
	if err := os.WriteFile(program, []byte("another"), 0o755); err != nil {
		t.Fatal(err)
	}
	if isCurrent(original) {
		t.Error("another program goes unnoticed")
	}
}
