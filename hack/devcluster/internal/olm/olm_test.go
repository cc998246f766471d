package olm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/kubeapi"
	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

const repository = layout.Repository("../../../..")

func pinned(t *testing.T) string {
	t.Helper()
	version, err := build.NewBuilder(repository, nil).Version(build.OLMOperator)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func TestManifestsAreOfThePinnedVersion(t *testing.T) {
	version := pinned(t)
	images := regexp.MustCompile(`quay\.io/operator-framework/olm[:@]\S+`).FindAllString(string(Manifests()), -1)
	if len(images) == 0 {
		t.Error("the manifests name no image of OLM")
	}
	for _, image := range images {
		if want := organisation + "olm:" + version; image != want {
			t.Errorf("the manifests run %s, and %s is what is built: run internal/olm/render.sh", image, want)
		}
	}
	if !bytes.Contains(Manifests(), []byte("\n  version: "+strings.TrimPrefix(version, "v")+"\n")) {
		t.Errorf("the packageserver is not of version %s: run internal/olm/render.sh", version)
	}
	if bytes.Contains(Manifests(), []byte("kind: CatalogSource")) {
		t.Error("the catalog of OperatorHub would be pulled from the internet")
	}
}

// fakeBuilder has built everything.
type fakeBuilder struct{ dir string }

func (b fakeBuilder) Binary(c build.Component) (string, error) {
	return filepath.Join(b.dir, c.Name), nil
}

func (b fakeBuilder) Version(build.Component) (string, error) { return "v1.2.3", nil }

func TestImagesHaveTheNamesThatOthersAskFor(t *testing.T) {
	images, err := Images(fakeBuilder{}, "/bin/busybox")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, image := range images {
		names = append(append(names, image.Names...), image.Alias)
	}
	for _, want := range []string{
		"quay.io/operator-framework/olm:v1.2.3", "quay.io/operator-framework/scorecard-test:v1.2.3",
		"quay.io/operator-framework/opm:v1.2.3", "quay.io/operator-framework/opm:latest", decompressImage,
		"quay.io/operator-framework/scorecard-untar@" + untarDigest, "quay.io/operator-framework/scorecard-storage@" + storageDigest,
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %q", want, names)
		}
	}
	// What the manifests name besides OLM itself must be there too. ConfigMap catalogs are not supported.
	for _, image := range regexp.MustCompile(`quay\.io/\S+`).FindAllString(string(Manifests()), -1) {
		if !strings.Contains(image, "/olm:") && !strings.Contains(image, "configmap-operator-registry") && !slices.Contains(names, image) {
			t.Errorf("the manifests use %s, which is not delivered", image)
		}
	}
}

func TestImagesCanBeMadeOfWhatIsBuilt(t *testing.T) {
	dir := t.TempDir()
	for _, c := range build.OLM() {
		if err := os.WriteFile(filepath.Join(dir, c.Name), []byte(c.Name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	busybox := filepath.Join(dir, "busybox")
	if err := os.WriteFile(busybox, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	images, err := Images(fakeBuilder{dir}, busybox)
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range images {
		content, err := image.Content.Image()
		if err != nil {
			t.Fatalf("%v: %v", image.Names, err)
		}
		file, err := content.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(file.Config.Env, "PATH=/usr/local/bin:/usr/bin:/bin") {
			t.Errorf("%v: commands without a path are not found: %v", image.Names, file.Config.Env)
		}
		if image.Names[0] != decompressImage && file.Config.User != "1001" {
			t.Errorf("%v: the kubelet cannot tell that %q is not root", image.Names, file.Config.User)
		}
	}
}

// fakeAPI answers with the objects that it has.
type fakeAPI map[string]string

func (a fakeAPI) Get(_ context.Context, path string, into any) error {
	content, ok := a[path]
	if !ok {
		return kubeapi.ErrNotFound
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal([]byte(content), into)
}

func TestParts(t *testing.T) {
	const (
		operator = "/apis/apps/v1/namespaces/olm/deployments/olm-operator"
		csv      = "/apis/operators.coreos.com/v1alpha1/namespaces/olm/clusterserviceversions/packageserver"
		packages = "/apis/apiregistration.k8s.io/v1/apiservices/v1.packages.operators.coreos.com"
	)
	for name, tc := range map[string]struct {
		part, path, object string
		want               string
	}{
		"a Deployment whose Pods are available": {
			"Deployment olm-operator", operator,
			`{"metadata":{"generation":2},"spec":{"replicas":1},"status":{"observedGeneration":2,"replicas":1,"updatedReplicas":1,"availableReplicas":1}}`, "",
		},
		"one whose Pods are not": {
			"Deployment olm-operator", operator,
			`{"metadata":{"generation":2},"spec":{"replicas":1},"status":{"observedGeneration":2,"replicas":1,"updatedReplicas":1}}`, "0 of 1 replicas are available",
		},
		"one whose status is of an earlier version": {
			"Deployment olm-operator", operator,
			`{"metadata":{"generation":3},"spec":{"replicas":1},"status":{"observedGeneration":2,"replicas":1,"updatedReplicas":1,"availableReplicas":1}}`, "are updated",
		},
		"one that still runs the earlier version": {
			"Deployment olm-operator", operator,
			`{"metadata":{"generation":2},"spec":{"replicas":1},"status":{"observedGeneration":2,"replicas":2,"updatedReplicas":1,"availableReplicas":1}}`, "1 old replicas still run",
		},
		"none": {"Deployment olm-operator", "", "", "not found"},
		"a package server that OLM has installed": {
			"ClusterServiceVersion packageserver", csv, `{"status":{"phase":"Succeeded"}}`, "",
		},
		"one that it has not": {
			"ClusterServiceVersion packageserver", csv, `{"status":{"phase":"Pending","message":"requirements not met"}}`, `"Pending": requirements not met`,
		},
		"an API that answers": {
			"APIService " + PackagesAPI, packages, `{"status":{"conditions":[{"type":"Available","status":"True"}]}}`, "",
		},
		"one that does not": {
			"APIService " + PackagesAPI, packages, `{"status":{"conditions":[{"type":"Available","status":"False","message":"no endpoints"}]}}`, "no endpoints",
		},
		"one that was not asked yet": {"APIService " + PackagesAPI, packages, `{}`, "has not been looked at"},
	} {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(Parts(), func(p Part) bool { return p.Name == tc.part })
			err := Parts()[i].Check(t.Context(), fakeAPI{tc.path: tc.object})
			if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// brokenAPI does not answer.
type brokenAPI struct{}

func (brokenAPI) Get(context.Context, string, any) error { return errors.New("connection refused") }

func TestIsThere(t *testing.T) {
	for name, tc := range map[string]struct {
		api  fakeAPI
		want bool
	}{
		"OLM runs":                        {fakeAPI{"/api/v1/namespaces/olm": "{}", "/apis/operators.coreos.com": "{}"}, true},
		"only its kinds are left":         {fakeAPI{"/apis/operators.coreos.com": "{}"}, true},
		"the cluster has never heard it":  {fakeAPI{}, false},
		"only the namespace is left over": {fakeAPI{"/api/v1/namespaces/olm": "{}"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := IsThere(t.Context(), tc.api); err != nil || got != tc.want {
				t.Errorf("got %v, %v; want %v", got, err, tc.want)
			}
		})
	}
	if _, err := IsThere(t.Context(), brokenAPI{}); err == nil {
		t.Error("a cluster that does not answer is taken for one without OLM")
	}
}

func TestTraces(t *testing.T) {
	got := Traces([]string{
		"clusterrole.rbac.authorization.k8s.io/olm.og.group.admin-abc", "clusterrole.rbac.authorization.k8s.io/admin",
		"clusterrolebinding.rbac.authorization.k8s.io/my-olm.og.thing",
	})
	if want := []string{"clusterrole.rbac.authorization.k8s.io/olm.og.group.admin-abc"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q: what is not OLM's must stay", got, want)
	}
}
