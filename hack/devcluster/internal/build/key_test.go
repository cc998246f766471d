package build

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

func TestKeyOf(t *testing.T) {
	names := []string{"go.mod", "go.sum"}
	files := map[string][]byte{"go.mod": []byte("module m"), "go.sum": []byte("sum")}
	base := keyOf(names, files, "-s", "go1.26", "linux/amd64")

	if again := keyOf(names, files, "-s", "go1.26", "linux/amd64"); again != base {
		t.Errorf("the same input gave %s and %s: nothing would ever be found built", base, again)
	}
	for change, key := range map[string]string{
		"another module file": keyOf(names, map[string][]byte{"go.mod": []byte("module n"), "go.sum": []byte("sum")}, "-s", "go1.26", "linux/amd64"),
		"content moved from one file to the next": keyOf(names,
			map[string][]byte{"go.mod": []byte("module ms"), "go.sum": []byte("um")}, "-s", "go1.26", "linux/amd64"),
		"another linker flag":                 keyOf(names, files, "-w", "go1.26", "linux/amd64"),
		"another Go":                          keyOf(names, files, "-s", "go1.27", "linux/amd64"),
		"another platform":                    keyOf(names, files, "-s", "go1.26", "linux/arm64"),
		"the same settings divided otherwise": keyOf(names, files, "-sgo1.26", "linux/amd64"),
	} {
		if key == base {
			t.Errorf("%s does not change the key: a stale binary would be used", change)
		}
	}
}

func TestKubernetesVersionFlags(t *testing.T) {
	const want = "-X k8s.io/component-base/version.gitVersion=v1.37.2" +
		" -X k8s.io/component-base/version.gitMajor=1" +
		" -X k8s.io/component-base/version.gitMinor=37" +
		" -X k8s.io/component-base/version.gitTreeState=clean" +
		" -X k8s.io/client-go/pkg/version.gitVersion=v1.37.2" +
		" -X k8s.io/client-go/pkg/version.gitMajor=1" +
		" -X k8s.io/client-go/pkg/version.gitMinor=37"
	if got := kubernetesVersionFlags("v1.37.2"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The repository's own module files are the input here: a version that cannot be
// read from them would otherwise be noticed only after minutes of building.
func TestComponentsOfThisRepository(t *testing.T) {
	b := NewBuilder(layout.Repository("../../../.."), nil)
	folders := map[string]string{}
	for _, c := range slices.Concat(All(), OLM(), OLMv1(), Monitoring(), []Component{MetricsServer}) {
		folder, err := b.Folder(c)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		folders[c.Name] = folder
	}
	if folders["etcd"] != folders["kube-apiserver"] || folders["etcd"] != folders["kubectl"] {
		t.Errorf("envtest needs etcd, kube-apiserver and kubectl in one folder, got %v", folders)
	}
	if folders["coredns"] == folders["etcd"] || folders["pause"] == folders["etcd"] {
		t.Errorf("components of different modules share a folder: %v", folders)
	}
}

// `make demo` waits for all of it. OLM comes by `devcluster olm up`.
func TestAClusterIsBuiltWithoutOLM(t *testing.T) {
	for _, c := range All() {
		if set := c.set; set != kubernetesSet && set != corednsSet && set != pauseSet {
			t.Errorf("%s, of %s, is built before any cluster starts", c.Name, set)
		}
	}
}

func TestPruneRemovesOtherVersionsOnly(t *testing.T) {
	module, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	repo := layout.Repository(t.TempDir())
	if err := os.MkdirAll(filepath.Join(string(repo), "hack"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(module, repo.Module()); err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(repo, nil)
	current, err := b.Folder(OLMOperator)
	if err != nil {
		t.Fatal(err)
	}
	older := NewBuilder(repo, nil)
	if err := older.SelectKubernetes("1.28"); err != nil {
		t.Fatal(err)
	}
	version, err := older.Folder(APIServer)
	if err != nil {
		t.Fatal(err)
	}
	k8s := filepath.Join(repo.Bin(), "k8s")
	old, other := filepath.Join(k8s, "olm-v0.1.0-0123456789ab"), filepath.Join(k8s, "olm-notes")
	oldVersion := filepath.Join(k8s, "kubernetes-1.28-v1.28.1-0123456789ab")
	for _, dir := range []string{current, version, old, oldVersion, other} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Prune(); err != nil {
		t.Fatal(err)
	}
	for dir, kept := range map[string]bool{current: true, version: true, old: false, oldVersion: false, other: true} {
		if _, err := os.Stat(dir); (err == nil) != kept {
			t.Errorf("%s: kept is %v, and should be %v", dir, err == nil, kept)
		}
	}
}
