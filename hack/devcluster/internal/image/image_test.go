package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseReference(t *testing.T) {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for name, tc := range map[string]struct{ image, full, local string }{
		"a full name":                  {"quay.io/a/b:dev", "quay.io/a/b:dev", "127.0.0.1:5000/quay.io/a/b:dev"},
		"a name without tag":           {"quay.io/a/b", "quay.io/a/b:latest", "127.0.0.1:5000/quay.io/a/b:latest"},
		"Docker Hub's short names":     {"nginx", "docker.io/library/nginx:latest", "127.0.0.1:5000/docker.io/library/nginx:latest"},
		"a registry with a port":       {"reg.example:8443/a:1", "reg.example:8443/a:1", "127.0.0.1:5000/reg.example_8443/a:1"},
		"the local registry by itself": {"127.0.0.1:5000/a/b:1", "127.0.0.1:5000/a/b:1", "127.0.0.1:5000/a/b:1"},
		"a digest":                     {"quay.io/a/b" + digest, "quay.io/a/b" + digest, "127.0.0.1:5000/quay.io/a/b" + digest},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseReference(tc.image)
			if err != nil {
				t.Fatal(err)
			}
			if got.Full != tc.full || got.Local != tc.local {
				t.Errorf("got %+v", got)
			}
		})
	}
	if _, err := ParseReference("Quay.io/UPPER"); err == nil || !strings.Contains(err.Error(), "Quay.io/UPPER") {
		t.Errorf("an invalid name must be refused by name, got %v", err)
	}
}

func TestFromBinary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "built")
	if err := os.WriteFile(path, []byte("#!binary"), 0o755); err != nil {
		t.Fatal(err)
	}
	img, err := FromBinary(path, "pause")
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if len(config.Config.Entrypoint) != 1 || config.Config.Entrypoint[0] != "/pause" || config.OS != "linux" {
		t.Errorf("the image would not start: %+v", config)
	}
	again, err := FromBinary(path, "pause")
	if err != nil {
		t.Fatal(err)
	}
	first, _ := img.Digest()
	second, _ := again.Digest()
	if first != second {
		t.Errorf("the same binary made two images, %s and %s: every start would pull again", first, second)
	}
}

func TestRegistriesConfig(t *testing.T) {
	const want = `unqualified-search-registries = ["docker.io"]

[[registry]]
prefix = "reg.example:8443"
location = "reg.example:8443"
[[registry.mirror]]
location = "127.0.0.1:5000/reg.example_8443"
insecure = true
`
	if got := registriesConfig([]string{"reg.example:8443"}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBuildArguments(t *testing.T) {
	request := BuildRequest{Dockerfile: "D", Target: "final", BuildArgs: []string{"A=1", "B=x y"}, Context: "."}
	got := strings.Join(buildArguments(request, Reference{Full: "quay.io/a:1"}), "|")
	const want = "build|--format|docker|--isolation|chroot|--tag|quay.io/a:1|--file|D|--target|final|--build-arg|A=1|--build-arg|B=x y"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
