package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/critical-service/operator/internal/operator/webhook/policy"
)

// OperatorNamespace is where config/ installs the core.
const OperatorNamespace = "critical-service-system"

// Installation is an operator as its folder of kustomizations installs it.
type Installation struct {
	// Config is this folder, from the top of the repository.
	Config string
	// Namespace is where the operator runs, and Account its ServiceAccount there.
	Namespace, Account string
	// Definitions are folders of CustomResourceDefinitions beside its own.
	Definitions []string
	// Unbound are files of its config/admission that its tests do not run under.
	Unbound []string
	// Conversion makes what converts its kinds.
	Conversion func() (http.Handler, error)
	// Aggregates has the API server serve aggregated APIs: it shows them a certificate.
	Aggregates bool
	// Flags are further ones of kube-apiserver, without dashes.
	Flags map[string]string
}

// core is the operator of the top of the repository.
var core = Installation{
	Config: "config", Namespace: OperatorNamespace, Account: "critical-service-operator", Conversion: policy.Conversion,
	// Most fallback Pods of tests say nothing of security.
	Unbound: []string{"restricted.yaml"},
}

// OperatorUser is who the core is in a cluster.
var OperatorUser = core.user()

func (i *Installation) definitions() []string {
	folders := []string{Path(i.Config + "/crd/bases")}
	for _, folder := range i.Definitions {
		folders = append(folders, Path(folder))
	}
	return folders
}

// user is who the operator is in a cluster: its ServiceAccount.
func (i *Installation) user() envtest.User {
	return envtest.User{
		Name:   "system:serviceaccount:" + i.Namespace + ":" + i.Account,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + i.Namespace},
	}
}

// PoliciesSince is the minor version of Kubernetes that serves ValidatingAdmissionPolicies.
const PoliciesSince = "1.30"

// grant installs what the folder installs, but for the Deployment: the namespace, the
// permissions, and the policies where the API server has them.
func (c *Cluster) grant(ctx context.Context, installed Installation) error {
	files, err := filepath.Glob(Path(installed.Config + "/rbac/*.yaml"))
	if err != nil {
		return err
	}
	policies, err := filepath.Glob(Path(installed.Config + "/admission/*.yaml"))
	if err != nil {
		return err
	}
	since, err := IsSince(c.Admin, PoliciesSince)
	if err != nil {
		return err
	}
	if since {
		files = append(files, policies...)
	}
	for _, file := range slices.Concat([]string{Path(installed.Config + "/manager/namespace.yaml")}, files) {
		if base := filepath.Base(file); base == "kustomization.yaml" || slices.Contains(installed.Unbound, base) {
			continue
		}
		objects, err := ReadYAML(file)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := c.Client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

// ReadYAML reads the objects of a file exactly as they stand there: what a
// schema would refuse is kept.
func ReadYAML(file string) ([]*unstructured.Unstructured, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := map[string]any{}
		err := decoder.Decode(&object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		case len(object) > 0:
			objects = append(objects, &unstructured.Unstructured{Object: object})
		}
	}
}
