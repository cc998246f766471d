package image

import (
	"archive/tar"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestOpenArchive(t *testing.T) {
	img, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		archive func(*testing.T) string
		rename  string
		want    []string
		wantErr string
	}{
		"a docker archive, every tag of it": {
			archive: func(t *testing.T) string { return dockerArchive(t, img, "quay.io/a/b:1", "quay.io/a/b:2") },
			want:    []string{"quay.io/a/b:1", "quay.io/a/b:2"},
		},
		"a docker archive under another name": {
			archive: func(t *testing.T) string { return dockerArchive(t, img, "quay.io/a/b:1") },
			rename:  "quay.io/c:3", want: []string{"quay.io/c:3"},
		},
		"an OCI archive named as containerd does": {
			archive: func(t *testing.T) string {
				return ociArchive(t, img, map[string]string{refNameAnnotation: "1", containerdNameAnnotation: "quay.io/a/b:1"})
			},
			want: []string{"quay.io/a/b:1"},
		},
		"an OCI archive named by the standard": {
			archive: func(t *testing.T) string {
				return ociArchive(t, img, map[string]string{refNameAnnotation: "quay.io/a/b:1"})
			},
			want: []string{"quay.io/a/b:1"},
		},
		"an OCI archive without name asks for one": {
			archive: func(t *testing.T) string { return ociArchive(t, img, nil) },
			wantErr: "add --name",
		},
		"which then helps": {
			archive: func(t *testing.T) string { return ociArchive(t, img, nil) },
			rename:  "quay.io/c:3", want: []string{"quay.io/c:3"},
		},
		"an archive of something else": {
			archive: func(t *testing.T) string { return tarOf(t, t.TempDir()) },
			wantErr: "not an image archive",
		},
		"no archive at all": {
			archive: func(t *testing.T) string { return filepath.Join(t.TempDir(), "missing.tar") },
			wantErr: "missing.tar",
		},
	} {
		t.Run(name, func(t *testing.T) {
			archive, err := OpenArchive(tc.archive(t), tc.rename)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v lacks %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = archive.Close() }()
			var got []string
			for _, archived := range archive.Images {
				got = append(got, archived.Reference.Full)
				if _, err := archived.Content.RawManifest(); err != nil {
					t.Errorf("the image cannot be read: %v", err)
				}
			}
			// The order in an archive means nothing.
			slices.Sort(got)
			if strings.Join(got, " ") != strings.Join(tc.want, " ") {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func dockerArchive(t *testing.T, img v1.Image, tags ...string) string {
	t.Helper()
	images := map[name.Tag]v1.Image{}
	for _, text := range tags {
		tag, err := name.NewTag(text)
		if err != nil {
			t.Fatal(err)
		}
		images[tag] = img
	}
	path := filepath.Join(t.TempDir(), "docker.tar")
	if err := tarball.MultiWriteToFile(path, images); err != nil {
		t.Fatal(err)
	}
	return path
}

func ociArchive(t *testing.T, img v1.Image, annotations map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(img, layout.WithAnnotations(annotations)); err != nil {
		t.Fatal(err)
	}
	return tarOf(t, dir)
}

func tarOf(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		// The leading dot is how `tar -C dir -c .` writes it.
		if err := w.WriteHeader(&tar.Header{Name: "./" + rel, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
