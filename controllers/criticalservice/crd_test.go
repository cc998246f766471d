package criticalservice_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/controllers/internal/testenv"
)

func TestValidFilesAreAcceptedAsTheyAre(t *testing.T) {
	for _, file := range yamlFiles(t, "testdata/valid") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			g := NewWithT(t)
			sent := readOne(t, file)
			stored := sent.DeepCopy()
			g.Expect(submit(t, stored)).To(Succeed())
			g.Expect(stored.Object["spec"]).To(Equal(sent.Object["spec"]))
		})
	}
}

// Every invalid file says in its first line which message must come: a file that
// is refused for another reason tests nothing.
func TestInvalidFilesAreRefusedForTheReasonTheyName(t *testing.T) {
	for _, file := range yamlFiles(t, "testdata/invalid") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			want, found := strings.CutPrefix(firstLine(t, file), "# want: ")
			if !found || want == "" {
				t.Fatalf("the first line of %s must be `# want: ` and a message", file)
			}
			NewWithT(t).Expect(submit(t, readOne(t, file))).To(MatchError(ContainSubstring(want)))
		})
	}
}

func TestTheSampleIsValid(t *testing.T) {
	g := NewWithT(t)
	g.Expect(submit(t, readOne(t, testenv.Path("config/samples/mycrd.com_v1_criticalservice.yaml")))).To(Succeed())
}

// submit sends an object as kubectl does, which asks for strict validation.
// Nothing is stored.
func submit(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	return client.WithFieldValidation(cluster.Client, metav1.FieldValidationStrict).Create(t.Context(), object, client.DryRunAll)
}

func TestTheKindIsServedAsDocumented(t *testing.T) {
	g := NewWithT(t)
	served, err := discovery.NewDiscoveryClientForConfigOrDie(cluster.Admin).ServerResourcesForGroupVersion("mycrd.com/v1")
	g.Expect(err).NotTo(HaveOccurred())
	byName := map[string]metav1.APIResource{}
	for _, resource := range served.APIResources {
		byName[resource.Name] = resource
	}
	g.Expect(byName).To(HaveLen(2))
	g.Expect(byName).To(HaveKey("criticalservices/status"))
	resource := byName["criticalservices"]
	g.Expect(resource.Kind).To(Equal("CriticalService"))
	g.Expect(resource.SingularName).To(Equal("criticalservice"))
	g.Expect(resource.ShortNames).To(ConsistOf("crisvc"))
	g.Expect(resource.Namespaced).To(BeFalse())
}

func TestSpecAndStatusAreWrittenApart(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("True/NoServices"))
	w.settle()

	w.Expect(w.Cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(policy), policy)).To(Succeed())
	changed := policy.DeepCopy()
	changed.Spec.MatchLabels[0].Value = "other"
	w.Expect(w.Cluster.Client.Status().Update(t.Context(), changed)).To(Succeed())
	w.Expect(changed.Spec).To(Equal(policy.Spec), "a write to the status must not touch the spec")
	w.Expect(changed.Generation).To(Equal(policy.Generation))

	changed = policy.DeepCopy()
	changed.Status.Services.Total = 99
	w.Expect(w.Cluster.Client.Update(t.Context(), changed)).To(Succeed())
	w.Expect(changed.Status).To(Equal(policy.Status), "a write of the object must not touch the status")
}

func TestKubectlGetShowsTheColumns(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop", func(p *criticalv1.CriticalService) { p.Spec.Namespace = w.Namespace })
	w.up("armed")
	w.down("exposed")
	w.covered("covered")
	w.Eventually(func() criticalv1.ServiceCounts { return w.statusOf(policy).Services }).
		Should(Equal(criticalv1.ServiceCounts{Total: 3, Armed: 1, Exposed: 1, Covered: 1}))

	table := tableOf(t, policy.Name)
	var usual, wide []string
	cells := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			usual = append(usual, column.Name)
		} else {
			wide = append(wide, column.Name)
		}
		cells[column.Name] = table.Rows[0].Cells[i]
	}
	w.Expect(usual).To(Equal([]string{"Name", "Ready", "Services", "Armed", "Covered", "Exposed", "Age"}))
	w.Expect(wide).To(Equal([]string{"Namespace", "Reason", "Message"}))
	delete(cells, "Age")
	w.Expect(cells).To(Equal(map[string]any{
		"Name": policy.Name, "Ready": "False", "Services": 3.0, "Armed": 1.0, "Covered": 1.0, "Exposed": 1.0,
		"Namespace": w.Namespace, "Reason": "NotProtected", "Message": "1 of 3 Services are not protected: 0 arming, 1 exposed.",
	}))
}

// tableOf asks for an object as kubectl does before it prints it.
func tableOf(t *testing.T, name string) *metav1.Table {
	t.Helper()
	data, err := discovery.NewDiscoveryClientForConfigOrDie(cluster.Admin).RESTClient().Get().
		AbsPath("/apis/mycrd.com/v1/criticalservices/"+name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(data, table); err != nil {
		t.Fatal(err)
	}
	return table
}

func yamlFiles(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	return files
}

func readOne(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	objects, err := testenv.ReadYAML(file)
	if err != nil || len(objects) != 1 {
		t.Fatalf("%s must hold one object: %v", file, err)
	}
	return objects[0]
}

func firstLine(t *testing.T, file string) string {
	t.Helper()
	opened, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	scanner := bufio.NewScanner(opened)
	scanner.Scan()
	return scanner.Text()
}
