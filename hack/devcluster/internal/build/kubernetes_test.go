package build

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

const thisRepository = layout.Repository("../../../..")

// twoVersions is a clone with two versions of Kubernetes.
func twoVersions(t *testing.T) layout.Repository {
	t.Helper()
	repo := layout.Repository(t.TempDir())
	for folder, version := range map[string]string{"kubernetes": "v1.37.2", "kubernetes-1.28": "v1.28.15"} {
		dir := filepath.Join(repo.Module(), "components", folder)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{"go.mod": "module m\n\nrequire k8s.io/kubernetes " + version + "\n", "go.sum": ""} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return repo
}

func TestSelectKubernetes(t *testing.T) {
	for name, tc := range map[string]struct {
		minor, want, wantErr string
	}{
		"without a version it is the newest":       {"", "v1.37.2", ""},
		"the newest has a version too":             {"1.37", "v1.37.2", ""},
		"an older one is built from its own files": {"1.28", "v1.28.15", ""},
		"one that is not there names those that are": {
			"1.30", "v1.37.2", `there is no Kubernetes "1.30" in hack/devcluster/components: choose 1.28, 1.37, or none for the newest`,
		},
		"a patch release is not chosen": {"1.28.15", "v1.37.2", "choose 1.28, 1.37"},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBuilder(twoVersions(t), nil)
			err := b.SelectKubernetes(tc.minor)
			if (err == nil) != (tc.wantErr == "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("got error %v, want %q", err, tc.wantErr)
			}
			for _, c := range TestAssets() {
				if version, err := b.Version(c); err != nil || version != tc.want {
					t.Errorf("%s is of Kubernetes %s, %v; want %s", c.Name, version, err, tc.want)
				}
			}
		})
	}
}

func TestTheKubectlOfThePathIsThatOfTheKubernetesAskedForLast(t *testing.T) {
	repo := twoVersions(t)
	for _, minor := range []string{"1.28", "", "1.28"} {
		b := NewBuilder(repo, &Progress{out: io.Discard})
		if err := b.SelectKubernetes(minor); err != nil {
			t.Fatal(err)
		}
		for _, c := range TestAssets() {
			binary, err := b.Binary(c)
			if err != nil {
				t.Fatal(err)
			}
			version, err := b.Version(c)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(binary, []byte(version), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Ensure(t.Context(), TestAssets()...); err != nil {
			t.Fatal(err)
		}
		want, err := b.Version(Kubectl)
		if err != nil {
			t.Fatal(err)
		}
		// Another command, without the choice of a version.
		if err := NewBuilder(repo, &Progress{out: io.Discard}).Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(b.KubectlLink()); err != nil || string(got) != want {
			t.Errorf("after Kubernetes %q, kubectl is %s, %v; want %s", minor, got, err, want)
		}
	}
}

func TestVersionsOfKubernetesShareNothingButTheRest(t *testing.T) {
	older, newest := NewBuilder(thisRepository, nil), NewBuilder(thisRepository, nil)
	if err := older.SelectKubernetes("1.28"); err != nil {
		t.Fatal(err)
	}
	for _, c := range slices.Concat(All(), OLM(), OLMv1(), Monitoring()) {
		a, err := older.Folder(c)
		if err != nil {
			t.Fatal(err)
		}
		b, err := newest.Folder(c)
		if err != nil {
			t.Fatal(err)
		}
		if (a == b) != (c.set != kubernetesSet) {
			t.Errorf("%s is built into %s and %s", c.Name, a, b)
		}
	}
}

// What a module file is called, and what is built from it, is not said twice by chance.
func TestTheModuleFilesOfKubernetesFitTogether(t *testing.T) {
	b := NewBuilder(thisRepository, nil)
	newest, err := b.Version(APIServer)
	if err != nil {
		t.Fatal(err)
	}
	sets, err := b.kubernetesSets()
	if err != nil || len(sets) < 2 {
		t.Fatalf("there are %v, %v", sets, err)
	}
	for minor, set := range sets {
		t.Run(set, func(t *testing.T) {
			if set != kubernetesSet && set != olderKubernetes+minor {
				t.Errorf("it builds Kubernetes %s", minor)
			}
			if set != kubernetesSet && semver.Compare("v"+minor, semver.MajorMinor(newest)) >= 0 {
				t.Errorf("%s is not older than the newest, %s", minor, newest)
			}
			file := filepath.Join(thisRepository.Module(), "components", set, "go.mod")
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			mod, err := modfile.Parse(file, content, nil)
			if err != nil {
				t.Fatal(err)
			}
			version, err := requiredVersion(file, "k8s.io/kubernetes")
			if err != nil {
				t.Fatal(err)
			}
			staging := "v0" + strings.TrimPrefix(version, "v1")
			replaced := map[string]bool{}
			for _, r := range mod.Replace {
				replaced[r.Old.Path] = true
				if r.New.Path != r.Old.Path || r.New.Version != staging {
					t.Errorf("%s is replaced by %s %s, want %s", r.Old.Path, r.New.Path, r.New.Version, staging)
				}
			}
			for _, path := range []string{"k8s.io/api", "k8s.io/apiserver", "k8s.io/kubelet"} {
				if !replaced[path] {
					t.Errorf("%s is not replaced", path)
				}
			}
		})
	}
}
