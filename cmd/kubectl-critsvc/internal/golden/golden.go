// Package golden holds the output of commands against files.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Objects reads the objects of testdata/file: a list of them in YAML.
func Objects(t *testing.T, file string) []runtime.Object {
	t.Helper()
	g := NewWithT(t)
	scheme, err := access.Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()

	content, err := os.ReadFile(filepath.Join("testdata", file))
	g.Expect(err).NotTo(HaveOccurred())
	var list []any
	g.Expect(yaml.Unmarshal(content, &list)).To(Succeed())
	objects := make([]runtime.Object, 0, len(list))
	for _, item := range list {
		text, err := yaml.Marshal(item)
		g.Expect(err).NotTo(HaveOccurred())
		object, _, err := decoder.Decode(text, nil, nil)
		g.Expect(err).NotTo(HaveOccurred(), "%s", text)
		objects = append(objects, object)
	}
	return objects
}

// Of are the objects of one type.
func Of[T any](objects []runtime.Object) []T {
	var chosen []T
	for _, object := range objects {
		if typed, ok := object.(any).(*T); ok {
			chosen = append(chosen, *typed)
		}
	}
	return chosen
}

// Policies are the CriticalServices and ServiceFallbacks.
func Policies(objects []runtime.Object) []criticalv2.Policy {
	var chosen []criticalv2.Policy
	for _, object := range objects {
		if policy, is := object.(criticalv2.Policy); is {
			chosen = append(chosen, policy)
		}
	}
	return chosen
}

// Compare holds a text against testdata/file; with -update it writes the file.
func Compare(t *testing.T, file, got string) {
	t.Helper()
	g := NewWithT(t)
	path := filepath.Join("testdata", file)
	if *update {
		g.Expect(os.WriteFile(path, []byte(got), 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal(string(want)), "testdata/%s (-update rewrites it)", file)
}
