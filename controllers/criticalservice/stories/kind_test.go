package stories_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

func TestTheKindIsServedAsDocumented(t *testing.T) {
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			g := NewWithT(t)
			served, err := discovery.NewDiscoveryClientForConfigOrDie(cluster.Admin).ServerResourcesForGroupVersion("mycrd.com/" + version)
			g.Expect(err).NotTo(HaveOccurred())
			byName := map[string]metav1.APIResource{}
			for _, resource := range served.APIResources {
				byName[resource.Name] = resource
			}
			var wanted []string
			for _, kind := range kinds(t) {
				isServed := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version }
				if slices.ContainsFunc(definition(t, kind).Spec.Versions, isServed) {
					wanted = append(wanted, kind, kind+"/status")
				}
			}
			g.Expect(slices.Collect(maps.Keys(byName))).To(ConsistOf(wanted))
			g.Expect(byName).To(HaveKey("criticalservices/status"))
			for name, documented := range map[string]metav1.APIResource{
				"criticalservices": {Kind: "CriticalService", SingularName: "criticalservice", ShortNames: []string{"crisvc"}},
				"servicefallbacks": {Kind: "ServiceFallback", SingularName: "servicefallback", ShortNames: []string{"svcfb"}, Namespaced: true},
				"maintenances":     {Kind: "Maintenance", SingularName: "maintenance", Namespaced: true},
			} {
				resource, isServed := byName[name]
				if !isServed {
					continue // It is of another version.
				}
				g.Expect(resource.Kind).To(Equal(documented.Kind))
				g.Expect(resource.SingularName).To(Equal(documented.SingularName))
				g.Expect(resource.ShortNames).To(Equal(documented.ShortNames), name)
				g.Expect(resource.Namespaced).To(Equal(documented.Namespaced), name)
			}
		})
	}
}

func TestBothVersionsAreServedAndV2IsStored(t *testing.T) {
	g := NewWithT(t)
	served := map[string]bool{}
	for _, version := range definition(t, "criticalservices").Spec.Versions {
		g.Expect(version.Served).To(BeTrue(), version.Name)
		g.Expect(version.Subresources.Status).NotTo(BeNil(), version.Name)
		served[version.Name] = version.Storage
	}
	g.Expect(served).To(Equal(map[string]bool{"v1": false, "v2": true}))
}

func TestEveryFieldIsExplained(t *testing.T) {
	forEveryField(t, func(path string, field apiextensionsv1.JSONSchemaProps) {
		name := path[strings.LastIndex(path, ".")+1:]
		NewWithT(t).Expect(field.Description).To(HavePrefix(name+" "), "%s: a description begins with the name of its field", path)
	})
}

func TestEveryFieldThatAPersonWritesIsBounded(t *testing.T) {
	forEveryField(t, func(path string, field apiextensionsv1.JSONSchemaProps) {
		// A label selector is a type of Kubernetes: rules on the whole of it bound it.
		if strings.Contains(path, ".status.") || strings.Contains(path, "Selector.") {
			return
		}
		g := NewWithT(t)
		switch field.Type {
		case "string":
			g.Expect(field.MaxLength != nil || len(field.Enum) > 0 || field.Format == "date-time").To(BeTrue(), "%s needs a greatest length", path)
		case "integer":
			g.Expect(field.Minimum != nil && field.Maximum != nil).To(BeTrue(), "%s needs a least and a greatest value", path)
		case "array":
			g.Expect(field.MaxItems).NotTo(BeNil(), "%s needs a greatest number of items", path)
			if items := field.Items.Schema; items.Type == "string" {
				g.Expect(items.MaxLength).NotTo(BeNil(), "%s needs items of a greatest length", path)
			}
		}
	})
}

func forEveryField(t *testing.T, check func(path string, field apiextensionsv1.JSONSchemaProps)) {
	t.Helper()
	fields := 0
	var walk func(path string, schema *apiextensionsv1.JSONSchemaProps)
	walk = func(path string, schema *apiextensionsv1.JSONSchemaProps) {
		for name, field := range schema.Properties {
			fields++
			check(path+"."+name, field)
			walk(path+"."+name, &field)
			if field.Items != nil {
				walk(path+"."+name, field.Items.Schema)
			}
		}
	}
	for _, kind := range kinds(t) {
		for _, version := range definition(t, kind).Spec.Versions {
			for _, part := range []string{"spec", "status"} {
				schema := version.Schema.OpenAPIV3Schema.Properties[part]
				walk(kind+"."+version.Name+"."+part, &schema)
			}
		}
	}
	if fields < 50 {
		t.Fatalf("only %d fields found", fields)
	}
}

// kinds are the plural names of all kinds that have a definition.
func kinds(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(testenv.Path("config/crd/bases/mycrd.com_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no definitions: ", err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "mycrd.com_"), ".yaml"))
	}
	return names
}

func definition(t *testing.T, kind string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	data, err := os.ReadFile(testenv.Path("config/crd/bases/mycrd.com_" + kind + ".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// Whatever else the samples hold, the API server accepts all of them together,
// and there is one for every fallback.
func TestTheSamplesAreValid(t *testing.T) {
	g := NewWithT(t)
	files := yamlFiles(t, testenv.Path("config/samples"))
	fallbacks := map[string]bool{}
	var listed []string
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			var kustomization struct{ Resources []string }
			g.Expect(yaml.Unmarshal(data, &kustomization)).To(Succeed())
			listed = kustomization.Resources
			continue
		}
		objects, err := testenv.ReadYAML(file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, object := range objects {
			g.Expect(client.IgnoreAlreadyExists(submit(t, object))).To(Succeed(), file)
			if object.GroupVersionKind() == criticalv2.CriticalServiceKind {
				policy := &criticalv2.CriticalService{}
				g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, policy)).To(Succeed())
				fallbacks[describe(&policy.Spec.Fallback)] = true
			}
		}
	}
	g.Expect(listed).To(HaveLen(len(files)-1), "config/samples/kustomization.yaml lists every sample")
	for _, file := range listed {
		g.Expect(slices.Contains(files, testenv.Path("config/samples/"+file))).To(BeTrue(), file)
	}
	g.Expect(fallbacks).To(Equal(map[string]bool{
		"page": true, "page with content": true, "podTemplate OnDemand EndpointSlice": true, "podTemplate Standby EndpointSlice": true, "service": true,
	}))
}

func describe(fallback *criticalv2.Fallback) string {
	switch {
	case fallback.Service != nil:
		return criticalv2.FallbackKindService
	case fallback.PodTemplate != nil:
		return strings.Join([]string{criticalv2.FallbackKindPodTemplate, string(fallback.PodTemplate.Activation), string(fallback.PodTemplate.Publish)}, " ")
	case fallback.Page.ConfigMapName != "":
		return criticalv2.FallbackKindPage + " with content"
	}
	return criticalv2.FallbackKindPage
}

func TestSpecAndStatusAreWrittenApart(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("True/NoServices"))
	w.settle()

	w.Expect(w.Cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(policy), policy)).To(Succeed())
	changed := policy.DeepCopy()
	changed.Spec.ServiceSelector = metav1.LabelSelector{MatchLabels: map[string]string{"other": "label"}}
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
	policy := w.policy("shop", func(p *criticalv2.CriticalService) { p.Spec.Namespaces = []string{w.Namespace} })
	w.up("armed")
	w.down("exposed")
	w.covered("covered")
	w.Eventually(func() criticalv2.ServiceCounts { return w.statusOf(policy).Services }).
		Should(Equal(criticalv2.ServiceCounts{Total: 3, Armed: 1, Exposed: 1, Covered: 1}))

	for version, more := range map[string]map[string]any{"v1": {"Namespace": w.Namespace}, "v2": {}} {
		table := tableOf(t, version, policy.Name)
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
		w.Expect(usual).To(Equal([]string{"Name", "Ready", "Services", "Armed", "Covered", "Exposed", "Failover", "Age"}), version)
		w.Expect(wide).To(ContainElements("Reason", "Message"), version)
		delete(cells, "Age")
		want := map[string]any{
			"Name": policy.Name, "Ready": "False", "Services": 3.0, "Armed": 1.0, "Covered": 1.0, "Exposed": 1.0, "Failover": "Unknown",
			"Reason": "NotProtected", "Message": "1 of 3 Services are not protected: 0 arming, 1 exposed.",
		}
		maps.Copy(want, more)
		w.Expect(cells).To(Equal(want), version)
	}
}

// tableOf asks for an object as kubectl does before it prints it.
func tableOf(t *testing.T, version, name string) *metav1.Table {
	t.Helper()
	data, err := discovery.NewDiscoveryClientForConfigOrDie(cluster.Admin).RESTClient().Get().
		AbsPath("/apis/mycrd.com/"+version+"/criticalservices/"+name).
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
