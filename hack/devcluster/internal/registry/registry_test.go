package registry

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestRepository(t *testing.T) {
	for name, tc := range map[string]struct{ host, repository, want string }{
		"a registry's images are kept under its name":          {"quay.io", "a/b", "quay.io/a/b"},
		"so that two registries do not collide":                {"docker.io", "a/b", "docker.io/a/b"},
		"a port becomes part of a valid name":                  {"reg.example:5000", "a/b", "reg.example_5000/a/b"},
		"what was pushed to the registry itself has no prefix": {"127.0.0.1:5000", "a/b", "a/b"},
		"by whichever of its addresses":                        {"localhost:5000", "a/b", "a/b"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Repository(tc.host, tc.repository, "127.0.0.1:5000", "localhost:5000"); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func newServer(t *testing.T, dir string) *httptest.Server {
	t.Helper()
	handler, err := NewHandler(dir, log.New(io.Discard, "", 0), "127.0.0.1:5000")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func reference(t *testing.T, server *httptest.Server, repository string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://")+"/"+repository, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func newImage(t *testing.T) v1.Image {
	t.Helper()
	img, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func digest(t *testing.T, img v1.Image) string {
	t.Helper()
	d, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// served asks as containerd asks a mirror.
func served(t *testing.T, server *httptest.Server, path string) (digest string, status int) {
	t.Helper()
	response, err := http.Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response.Header.Get("Docker-Content-Digest"), response.StatusCode
}

func TestMirrorRequestsFindTheImageOfTheirRegistry(t *testing.T) {
	server := newServer(t, t.TempDir())
	quay, docker, plain := newImage(t), newImage(t), newImage(t)
	for repository, img := range map[string]v1.Image{"quay.io/x/y:dev": quay, "docker.io/x/y:dev": docker, "x/y:dev": plain} {
		if err := remote.Write(reference(t, server, repository), img); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		path string
		want v1.Image
	}{
		"quay.io":             {"/v2/x/y/manifests/dev?ns=quay.io", quay},
		"docker.io":           {"/v2/x/y/manifests/dev?ns=docker.io", docker},
		"the registry itself": {"/v2/x/y/manifests/dev?ns=127.0.0.1:5000", plain},
		"no registry named":   {"/v2/x/y/manifests/dev", plain},
		"a registry whose image was never pushed": {"/v2/x/y/manifests/dev?ns=ghcr.io", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, status := served(t, server, tc.path)
			if tc.want == nil {
				if status != http.StatusNotFound {
					t.Errorf("status %d instead of 404, which sends containerd on to the real registry", status)
				}
				return
			}
			if want := digest(t, tc.want); got != want {
				t.Errorf("got %s (status %d), want %s", got, status, want)
			}
		})
	}
}

func TestImagesSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	server := newServer(t, dir)
	ref := reference(t, server, "quay.io/x/y:dev")
	first, second := newImage(t), newImage(t)
	for _, img := range []v1.Image{first, second} {
		if err := remote.Write(ref, img); err != nil {
			t.Fatal(err)
		}
	}
	index, err := random.Index(64, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(reference(t, server, "quay.io/x/index:dev"), index); err != nil {
		t.Fatal(err)
	}
	server.Close()

	server = newServer(t, dir)
	if got, _ := served(t, server, "/v2/quay.io/x/y/manifests/dev"); got != digest(t, second) {
		t.Errorf("the tag is %s, want the last image pushed, %s", got, digest(t, second))
	}
	if _, status := served(t, server, "/v2/quay.io/x/y/manifests/"+digest(t, first)); status != http.StatusOK {
		t.Errorf("the earlier image is not found by digest any more: status %d", status)
	}
	pulled, err := remote.Image(reference(t, server, "quay.io/x/y:dev"))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := pulled.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatalf("the layer is lost: %v", err)
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Index(reference(t, server, "quay.io/x/index:dev")); err != nil {
		t.Errorf("the image for several platforms is lost: %v", err)
	}
}

func TestADeletedTagStaysDeleted(t *testing.T) {
	dir := t.TempDir()
	server := newServer(t, dir)
	ref := reference(t, server, "quay.io/x/y:dev")
	if err := remote.Write(ref, newImage(t)); err != nil {
		t.Fatal(err)
	}
	if err := remote.Delete(ref); err != nil {
		t.Fatal(err)
	}
	if _, status := served(t, newServer(t, dir), "/v2/quay.io/x/y/manifests/dev"); status != http.StatusNotFound {
		t.Errorf("status %d after the restart", status)
	}
}
