package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// OperatorNamespace is where config/ installs the operator.
const OperatorNamespace = "critical-service-system"

// OperatorUser is who the operator is in a cluster: its ServiceAccount.
var OperatorUser = envtest.User{
	Name:   "system:serviceaccount:" + OperatorNamespace + ":critical-service-operator",
	Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + OperatorNamespace},
}

// grant installs what config/ installs, but for the Deployment: the namespace and
// the permissions.
func (c *Cluster) grant(ctx context.Context) error {
	files, err := filepath.Glob(Path("config/rbac/*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range slices.Concat([]string{Path("config/manager/namespace.yaml")}, files) {
		if filepath.Base(file) == "kustomization.yaml" {
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
