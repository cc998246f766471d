package operator_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/internal/operator/webhook/policy"
	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/test/testenv"
)

const (
	// waitTimeout is far more than anything here takes.
	waitTimeout = time.Minute

	definitionOfV1    = "testdata/definition-of-v1-alone.yaml"
	definitionOfBoth  = "../../config/crd/bases/mycrd.com_criticalservices.yaml"
	conversionOfBoth  = "../../config/crd/patches/conversion.yaml"
	secretOfAuthority = "critical-service-webhook-ca"
)

// definitionsOfTeams are those of all other kinds, which are there all the time.
var definitionsOfTeams = func() []string {
	all, _ := filepath.Glob("../../config/crd/bases/*.yaml") // The pattern is valid.
	return slices.DeleteFunc(all, func(path string) bool { return path == definitionOfBoth })
}()

// world is a cluster without the CustomResourceDefinition of CriticalServices. There is one
// API server, so that tests run one after the other.
type world struct {
	*WithT
	t *testing.T
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t}
	w.SetDefaultEventuallyTimeout(waitTimeout)
	w.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: policy.Kind.Definition()}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: secretOfAuthority}}
	// The API server deletes what is stored, and must not wait for the webhook of an operator that has gone.
	unconverted := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`))
	w.Expect(client.IgnoreNotFound(admin.Patch(t.Context(), crd.DeepCopy(), unconverted))).To(Succeed())
	for _, object := range []client.Object{crd, secret} {
		w.Expect(client.IgnoreNotFound(admin.Delete(t.Context(), object))).To(Succeed())
		w.Eventually(func() bool { return testenv.Gone(t.Context(), admin, object) }).Should(BeTrue())
	}
	return w
}

// read reads the only object of a kind from a YAML file.
func read(file string, into client.Object) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	gvks, _, err := admin.Scheme().ObjectKinds(into)
	if err != nil {
		return err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if err != nil {
			return fmt.Errorf("look for a %s in %s: %w", gvks[0].Kind, file, err)
		}
		var header metav1.TypeMeta
		if err := yaml.Unmarshal(document, &header); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if header.Kind == gvks[0].Kind {
			return yaml.UnmarshalStrict(document, into)
		}
	}
}

// installOld installs the definition that knows v1 alone.
func (w *world) installOld() {
	w.t.Helper()
	w.install(definitionOf(w, definitionOfV1))
}

// installNew installs the definition that config/crd builds, or replaces the old
// one by it.
func (w *world) installNew() {
	w.t.Helper()
	crd, patch := definitionOf(w, definitionOfBoth), definitionOf(w, conversionOfBoth)
	crd.Spec.Conversion = patch.Spec.Conversion
	w.install(crd)
}

func definitionOf(w *world, file string) *apiextensionsv1.CustomResourceDefinition {
	w.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	w.Expect(read(file, crd)).To(Succeed())
	return crd
}

func (w *world) install(crd *apiextensionsv1.CustomResourceDefinition) {
	w.t.Helper()
	wanted := crd.Spec
	if err := admin.Create(w.t.Context(), crd); apierrors.IsAlreadyExists(err) {
		crd = w.definition()
		crd.Spec = wanted
		w.Expect(admin.Update(w.t.Context(), crd)).To(Succeed())
	} else {
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.Eventually(func() []string { return w.definition().Status.StoredVersions }).ShouldNot(BeEmpty())
	w.Eventually(func() error { return admin.List(w.t.Context(), &criticalv1.CriticalServiceList{}) }).Should(Succeed())
}

// createShop makes the policy of v1, once the API server serves it: where the definition of another world went a moment
// before, a list may have been answered by that one.
func (w *world) createShop() {
	w.t.Helper()
	w.Eventually(func() error { return admin.Create(w.t.Context(), shopV1()) }).Should(Succeed())
}

func (w *world) definition() *apiextensionsv1.CustomResourceDefinition {
	w.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	w.Expect(admin.Get(w.t.Context(), types.NamespacedName{Name: policy.Kind.Definition()}, crd)).To(Succeed())
	return crd
}

func (w *world) clientConfig() apiextensionsv1.WebhookClientConfig {
	w.t.Helper()
	return *w.definition().Spec.Conversion.Webhook.ClientConfig
}

// start starts an operator with variables. It stops with the test, and well.
func (w *world) start(variables ...string) *process.Process {
	w.t.Helper()
	return process.Start(w.t, kubeconfig, operatorNamespace, variables...)
}
