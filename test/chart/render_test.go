// Package chart_test holds the Helm chart against the kustomizations that it is
// generated from, against its own schema, and against a real API server.
package chart_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/internal/operator/settings"
)

const (
	root      = "../.."
	chart     = root + "/config/chart/critical-service-operator"
	release   = "critical-service-operator"
	namespace = "critical-service-system"
)

// project is one of the two projects of the repository: its folder, and what the install of its operator is called.
type project struct{ folder, name, namespace string }

var (
	operatorProject = project{".", release, namespace}
	projects        = []project{operatorProject, {"workloads", "critical-service-workloads", "critical-service-workloads-system"}}
)

func (p project) chart() string { return filepath.Join(root, p.folder, "config/chart", p.name) }

// tool runs a program of bin/tools, and is what it printed.
func tool(t *testing.T, name string, arguments ...string) (string, error) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin/tools", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("these tests need %s: run them with `make test`, or build it with `make %[1]s`", path)
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), path, arguments...)
	// Helm reads and writes nothing in the home of the user who runs the tests.
	command.Env = append(os.Environ(), "HOME="+t.TempDir(), "KUBECONFIG="+kubeconfig)
	output, err := command.Output()
	if failed, isExit := errors.AsType[*exec.ExitError](err); isExit {
		err = errors.New(string(failed.Stderr))
	}
	return string(output), err
}

// rendered is what the chart of the operator makes of values, in the namespace of config/default.
func rendered(t *testing.T, values ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	return operatorProject.rendered(t, values...)
}

func (p project) rendered(t *testing.T, values ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	arguments := []string{"template", p.name, p.chart(), "--namespace", p.namespace, "--skip-tests"}
	for _, value := range values {
		arguments = append(arguments, "--set-json", value)
	}
	output, err := tool(t, "helm", arguments...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return objects(t, output)
}

func built(t *testing.T, folder string) map[string]*unstructured.Unstructured {
	t.Helper()
	output, err := tool(t, "kustomize", "build", filepath.Join(root, folder))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return objects(t, output)
}

// objects are the objects of a stream, by kind and name.
func objects(t *testing.T, stream string) map[string]*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	found := map[string]*unstructured.Unstructured{}
	for document := range strings.SplitSeq("\n"+stream, "\n---\n") {
		object := &unstructured.Unstructured{}
		g.Expect(yaml.Unmarshal([]byte(document), &object.Object)).To(Succeed(), document)
		if object.Object == nil {
			continue
		}
		key := object.GetKind() + " " + object.GetName()
		g.Expect(found).NotTo(HaveKey(key))
		found[key] = object
	}
	g.Expect(found).NotTo(BeEmpty())
	return found
}

// The differences that are meant: whose label the objects carry, what tells Helm
// to leave the CustomResourceDefinition, and the namespace, which Helm finds.
func TestTheChartInstallsWhatKustomizeInstalls(t *testing.T) {
	for sentence, test := range map[string]struct {
		project project
		folders []string
		// components are those of config/components that a kustomization names beside config/default, instead of folders.
		components []string
		values     []string
	}{
		"config/default":     {project: projects[0], folders: []string{"config/default"}},
		"config/certmanager": {project: projects[0], folders: []string{"config/certmanager"}, values: []string{`certificates="cert-manager"`}},
		"config/default with what Prometheus and Grafana take": {
			project: projects[0],
			folders: []string{"config/default", "config/prometheus", "config/grafana"},
			values:  []string{`monitoring={"prometheus":true,"grafana":true}`},
		},
		"config/default without what podTemplate fallbacks need": {
			project: projects[0], components: []string{"without-pod-templates"}, values: []string{`podTemplates=false`},
		},
		"config/default with the policies": {
			project: projects[0], folders: []string{"config/default", "config/admission"}, values: []string{`admissionPolicy=true`},
		},
		"config/default with the NetworkPolicy": {
			project: projects[0], folders: []string{"config/default", "config/network-policy"}, values: []string{`networkPolicy=true`},
		},
		"the component ha": {
			project: projects[0], components: []string{"ha"},
			values: []string{`replicas=3`, `topologySpreadConstraints=` + spread(t, projects[0], "DoNotSchedule", "ScheduleAnyway")},
		},
		"the component monitoring": {
			project: projects[0], components: []string{"monitoring"}, values: []string{`monitoring={"prometheus":true,"grafana":true}`},
		},
		"the component network-policy": {
			project: projects[0], components: []string{"network-policy"}, values: []string{`networkPolicy=true`},
		},
		"the component cert-manager": {
			project: projects[0], components: []string{"cert-manager"}, values: []string{`certificates="cert-manager"`},
		},
		"the component openshift": {
			project: projects[0], components: []string{"openshift"}, values: []string{`podAnnotations={"openshift.io/required-scc":"restricted-v2"}`},
		},
		"several components at once": {
			project: projects[0], components: []string{"cert-manager", "ha", "monitoring", "network-policy", "openshift", "without-pod-templates"},
			values: []string{
				`certificates="cert-manager"`, `replicas=3`, `topologySpreadConstraints=` + spread(t, projects[0], "DoNotSchedule", "ScheduleAnyway"),
				`monitoring={"prometheus":true,"grafana":true}`, `networkPolicy=true`, `podAnnotations={"openshift.io/required-scc":"restricted-v2"}`,
				`podTemplates=false`,
			},
		},
		"the component ha, of the second operator": {
			project: projects[1], components: []string{"ha"},
			values: []string{`replicas=3`, `topologySpreadConstraints=` + spread(t, projects[1], "DoNotSchedule", "ScheduleAnyway")},
		},
		"the component openshift, of the second operator": {
			project: projects[1], components: []string{"openshift"}, values: []string{`podAnnotations={"openshift.io/required-scc":"restricted-v2"}`},
		},
		"workloads/config/default":     {project: projects[1], folders: []string{"config/default"}},
		"workloads/config/certmanager": {project: projects[1], folders: []string{"config/certmanager"}, values: []string{`certificates="cert-manager"`}},
		"workloads/config/default with the policies": {
			project: projects[1], folders: []string{"config/default", "config/admission"}, values: []string{`admissionPolicy=true`},
		},
		"workloads/config/default with the NetworkPolicy": {
			project: projects[1], folders: []string{"config/default", "config/network-policy"}, values: []string{`networkPolicy=true`},
		},
		"workloads/config/default with what Prometheus takes": {
			project: projects[1],
			folders: []string{"config/default", "config/prometheus"},
			values:  []string{`monitoring={"prometheus":true}`},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			wanted := map[string]*unstructured.Unstructured{}
			for _, folder := range test.folders {
				maps.Copy(wanted, built(t, filepath.Join(test.project.folder, folder)))
			}
			if test.components != nil {
				wanted = composed(t, test.project, test.components...)
			}
			found := test.project.rendered(t, append(test.values, `image.tag="dev"`)...)
			g.Expect(wanted).To(HaveKey("Namespace " + test.project.namespace))
			delete(wanted, "Namespace "+test.project.namespace)
			for key, object := range wanted {
				g.Expect(found).To(HaveKey(key))
				withoutLabels(object, "app.kubernetes.io/managed-by")
				withoutLabels(found[key], "app.kubernetes.io/managed-by", "helm.sh/chart")
				if annotations := found[key].GetAnnotations(); object.GetKind() == "CustomResourceDefinition" {
					g.Expect(annotations).To(HaveKeyWithValue("helm.sh/resource-policy", "keep"))
					delete(annotations, "helm.sh/resource-policy")
					found[key].SetAnnotations(annotations)
				}
				g.Expect(found[key].Object).To(BeComparableTo(object.Object), key)
				delete(found, key)
			}
			g.Expect(found).To(BeEmpty(), "the chart has more than %v", test.folders)
		})
	}
}

// The settings are a generated ConfigMap in one, and one of the chart in the other, so that only roles are compared.
func TestTheChartBindsInNamespacesWhatKustomizeBinds(t *testing.T) {
	settings := `settings={"NAMESPACES":"shop"}`
	for folder, test := range map[string]struct {
		project project
		values  []string
	}{
		"test/chart/testdata/namespaced":                       {projects[0], []string{settings}},
		"test/chart/testdata/namespaced-without-pod-templates": {projects[0], []string{settings, `podTemplates=false`}},
		"test/chart/testdata/namespaced-workloads":             {projects[1], []string{settings, `ingress=true`}},
	} {
		t.Run(folder, func(t *testing.T) {
			g := NewWithT(t)
			wanted, found := built(t, folder), test.project.rendered(t, append(test.values, `namespaced=true`)...)
			for _, all := range []map[string]*unstructured.Unstructured{wanted, found} {
				maps.DeleteFunc(all, func(_ string, object *unstructured.Unstructured) bool {
					withoutLabels(object, "app.kubernetes.io/managed-by", "helm.sh/chart")
					return !strings.Contains(object.GetKind(), "Role")
				})
			}
			g.Expect(found).To(BeComparableTo(wanted))
			g.Expect(found).To(HaveKeyWithValue("RoleBinding "+test.project.name+"-namespaces", HaveField("GetNamespace()", "shop")))
			g.Expect(found).NotTo(HaveKey("ClusterRoleBinding " + test.project.name + "-namespaces"))
		})
	}
}

func TestEachNamespaceOfTheSettingsHasItsBindingsAndItsNetworkPolicy(t *testing.T) {
	g := NewWithT(t)
	output, err := tool(t, "helm", "template", release, chart, "--set-json", `namespaced=true`, "--set-json", `networkPolicy=true`,
		"--set-json", `settings={"NAMESPACES":"shop, checkout,,shop"}`)
	g.Expect(err).NotTo(HaveOccurred())
	for _, name := range []string{"critical-service-operator-namespaces", "critical-service-operator-pod-templates", "critical-service-responder"} {
		for _, in := range []string{"shop", "checkout"} {
			g.Expect(strings.Count(output, "name: "+name+"\n  namespace: "+in+"\n")).To(Equal(1), "%s in %s", name, in)
		}
	}
	_, err = tool(t, "helm", "template", release, chart, "--set-json", `namespaced=true`)
	g.Expect(err).To(MatchError(ContainSubstring("namespaced needs settings.NAMESPACES")))
}

func TestTheNetworkPolicyAdmitsTheAPIServersOwnPort(t *testing.T) {
	for _, p := range projects {
		g := NewWithT(t)
		render := func(values ...string) string {
			output, err := tool(t, "helm", append([]string{"template", release, p.chart(), "--set-json", `networkPolicy=true`}, values...)...)
			g.Expect(err).NotTo(HaveOccurred())
			return output
		}
		usual := render()
		g.Expect(usual).To(ContainSubstring("    - port: 443\n    - port: 6443\n"))
		g.Expect(render("--set", "apiServerPort=16443")).To(Equal(strings.Replace(usual, "- port: 6443\n", "- port: 16443\n", 1)))
	}
}

func withoutLabels(object *unstructured.Unstructured, names ...string) {
	labels := object.GetLabels()
	for _, name := range names {
		delete(labels, name)
	}
	if len(labels) == 0 {
		labels = nil
	}
	object.SetLabels(labels)
}

func TestTheChartInstallsIntoAnyNamespace(t *testing.T) {
	for _, p := range projects {
		g := NewWithT(t)
		values := `certificates="cert-manager"`
		usual, err := tool(t, "helm", "template", p.name, p.chart(), "--namespace", p.namespace, "--set-json", values)
		g.Expect(err).NotTo(HaveOccurred())
		elsewhere, err := tool(t, "helm", "template", p.name, p.chart(), "--namespace", "elsewhere", "--set-json", values)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(elsewhere).NotTo(ContainSubstring(p.namespace))
		g.Expect(elsewhere).To(Equal(strings.ReplaceAll(usual, p.namespace, "elsewhere")))
	}
}

func TestHelmFindsNothingToSayAboutTheChart(t *testing.T) {
	for _, p := range projects {
		output, err := tool(t, "helm", "lint", "--strict", p.chart())
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), output)
	}
}

// inDeployment is the JSON of a field of the one rendered Deployment.
func inDeployment(t *testing.T, objects map[string]*unstructured.Unstructured, path ...string) string {
	t.Helper()
	return inOnly(t, objects, "Deployment", path...)
}

// inOnly is the JSON of a field of the one rendered object of a kind.
func inOnly(t *testing.T, objects map[string]*unstructured.Unstructured, kind string, path ...string) string {
	t.Helper()
	var at any
	for key, object := range objects {
		if strings.HasPrefix(key, kind+" ") {
			at = object.Object
		}
	}
	for _, key := range path {
		if list, isList := at.([]any); isList {
			at = list[0]
		}
		at = at.(map[string]any)[key]
	}
	data, err := json.Marshal(at)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(data)
}

func TestAValueOfTheChartDecides(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	architectures := `"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/arch","operator":"In","values":["amd64","arm64","ppc64le","s390x"]}]}]}}`
	apart := `"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"labelSelector":{"matchLabels":{"app.kubernetes.io/component":"manager","app.kubernetes.io/name":"critical-service-operator"}},"topologyKey":"kubernetes.io/hostname"},"weight":100}]}`
	pod := func(path ...string) []string { return append([]string{"spec", "template", "spec"}, path...) }
	for sentence, test := range map[string]struct {
		values []string
		path   []string
		wanted string
	}{
		"the default tag is the version of the operator": {
			nil, pod("containers", "image"), `"quay.io/critical-service/operator:v` + metadata(t)["appVersion"].(string) + `"`,
		},
		"a registry of one's own": {
			[]string{`image={"repository":"registry.example.com:5000/operator","tag":"v1"}`},
			pod("containers", "image"), `"registry.example.com:5000/operator:v1"`,
		},
		"a digest wins over a tag": {
			[]string{`image={"tag":"v1","digest":"` + digest + `"}`}, pod("containers", "image"), `"quay.io/critical-service/operator@` + digest + `"`,
		},
		"the pull policy":              {[]string{`image.pullPolicy="Always"`}, pod("containers", "imagePullPolicy"), `"Always"`},
		"pull secrets":                 {[]string{`pullSecrets=[{"name":"registry"}]`}, pod("imagePullSecrets"), `[{"name":"registry"}]`},
		"replicas":                     {[]string{`replicas=3`}, []string{"spec", "replicas"}, `3`},
		"no replica":                   {[]string{`replicas=0`}, []string{"spec", "replicas"}, `0`},
		"resources":                    {[]string{`resources={"limits":{"memory":"1Gi"}}`}, pod("containers", "resources", "limits"), `{"memory":"1Gi"}`},
		"a node selector":              {[]string{`nodeSelector={"a/b":"true"}`}, pod("nodeSelector"), `{"a/b":"true","kubernetes.io/os":"linux"}`},
		"tolerations":                  {[]string{`tolerations=[{"operator":"Exists"}]`}, pod("tolerations"), `[{"operator":"Exists"}]`},
		"an affinity":                  {[]string{`affinity={"podAffinity":{}}`}, pod("affinity"), `{` + architectures + `,"podAffinity":{},` + apart + `}`},
		"other architectures":          {[]string{`affinity={"nodeAffinity":null}`}, pod("affinity"), `{` + apart + `}`},
		"no spread":                    {[]string{`topologySpreadConstraints=[]`}, pod("topologySpreadConstraints"), `null`},
		"another priority class":       {[]string{`priorityClassName="mine"`}, pod("priorityClassName"), `"mine"`},
		"no priority class":            {[]string{`priorityClassName=""`}, pod("priorityClassName"), `null`},
		"annotations of the Pods":      {[]string{`podAnnotations={"a/b":"1"}`}, []string{"spec", "template", "metadata", "annotations", "a/b"}, `"1"`},
		"the port of the webhook":      {[]string{`settings={"WEBHOOK_PORT":10250}`}, pod("containers", "ports"), `[{"containerPort":8443,"name":"metrics","protocol":"TCP"},{"containerPort":8081,"name":"probes","protocol":"TCP"},{"containerPort":10250,"name":"webhook","protocol":"TCP"}]`},
		"where metrics and probes are": {[]string{`settings={"METRICS_BIND_ADDRESS":"0","HEALTH_PROBE_BIND_ADDRESS":"[::]:99"}`}, pod("containers", "ports"), `[{"containerPort":8443,"name":"metrics","protocol":"TCP"},{"containerPort":99,"name":"probes","protocol":"TCP"},{"containerPort":9443,"name":"webhook","protocol":"TCP"}]`},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(inDeployment(t, rendered(t, test.values...), test.path...)).To(Equal(test.wanted))
		})
	}
}

func TestWhatTheChartMayLeaveOut(t *testing.T) {
	g := NewWithT(t)
	found := rendered(t, `crds.install=false`, `criticalPodsQuota=false`, `podDisruptionBudget.enabled=false`, `podTemplates=false`)
	g.Expect(found).NotTo(HaveKey(ContainSubstring("pod-templates")))
	g.Expect(found).NotTo(HaveKey(HavePrefix("CustomResourceDefinition")))
	g.Expect(found).NotTo(HaveKey(HavePrefix("ResourceQuota")))
	g.Expect(found).NotTo(HaveKey(HavePrefix("PodDisruptionBudget")))
	g.Expect(found).NotTo(HaveKey(HavePrefix("ConfigMap")))
	found = rendered(t, `crds.keep=false`)
	g.Expect(found["CustomResourceDefinition criticalservices.mycrd.com"].GetAnnotations()).NotTo(HaveKey("helm.sh/resource-policy"))
}

func TestSettingsBecomeTheConfigMapAndRestartTheOperator(t *testing.T) {
	g := NewWithT(t)
	found := rendered(t, `settings={"NAMESPACES":"shop,checkout","KUBE_API_BURST":1000000,"KUBE_API_QPS":0.5,"LEADER_ELECT":true,"LOG_LEVEL":""}`)
	data, _, err := unstructured.NestedStringMap(found["ConfigMap critical-service-settings"].Object, "data")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(data).To(Equal(map[string]string{
		"NAMESPACES": "shop,checkout", "KUBE_API_BURST": "1000000", "KUBE_API_QPS": "0.5", "LEADER_ELECT": "true", "LOG_LEVEL": "",
	}))
	annotations := []string{"spec", "template", "metadata", "annotations"}
	before := inDeployment(t, found, annotations...)
	g.Expect(before).To(ContainSubstring("checksum/settings"))
	g.Expect(inDeployment(t, rendered(t, `settings={"NAMESPACES":"shop"}`), annotations...)).NotTo(Equal(before))
}

func TestTheNotesSayWhatAnUninstallTakes(t *testing.T) {
	const leaves, takes = "kubectl delete crd criticalservices.mycrd.com", "WARNING: crds.keep is false"
	for value, wanted := range map[string]struct{ has, hasNot []string }{
		`crds={"install":true,"keep":true}`:   {has: []string{leaves}, hasNot: []string{takes}},
		`crds={"install":true,"keep":false}`:  {has: []string{takes}, hasNot: []string{leaves}},
		`crds={"install":false,"keep":false}`: {hasNot: []string{leaves, takes}},
	} {
		t.Run(value, func(t *testing.T) {
			g := NewWithT(t)
			output, err := tool(t, "helm", "install", release, chart, "--dry-run=client", "--set-json", value)
			g.Expect(err).NotTo(HaveOccurred())
			_, notes, _ := strings.Cut(output, "\nNOTES:\n")
			g.Expect(notes).To(ContainSubstring("kubectl delete crisvc --all"))
			for _, words := range wanted.has {
				g.Expect(notes).To(ContainSubstring(words))
			}
			for _, words := range wanted.hasNot {
				g.Expect(notes).NotTo(ContainSubstring(words))
			}
		})
	}
}

func TestTheSchemaRefuses(t *testing.T) {
	for value, complaint := range map[string]string{
		`settings={"LOG_LEVELS":"debug"}`:            "LOG_LEVELS",
		`settings={"LOG_LEVEL":"loud"}`:              "/settings/LOG_LEVEL",
		`settings={"WEBHOOK_PORT":0}`:                "/settings/WEBHOOK_PORT",
		`settings={"HEALTH_PROBE_BIND_ADDRESS":"0"}`: "/settings/HEALTH_PROBE_BIND_ADDRESS",
		`settings={"WEBHOOK_URL":"https://a"}`:       "WEBHOOK_URL",
		`certificates="selfmade"`:                    "/certificates",
		`image.digest="0a0a"`:                        "/image/digest",
		`image.repository=""`:                        "/image/repository",
		`pullSecrets=["registry"]`:                   "/pullSecrets/0",
		`replicas="two"`:                             "/replicas",
		`replica=2`:                                  "replica",
		`podDisruptionBudget=false`:                  "/podDisruptionBudget",
		`crds={"install":"no"}`:                      "/crds/install",
	} {
		t.Run(value, func(t *testing.T) {
			_, err := tool(t, "helm", "template", release, chart, "--set-json", value)
			NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("meet the specifications of the schema"), ContainSubstring(complaint))))
		})
	}
}

// Folders of certificates and a webhook outside of the cluster are nothing that
// the chart's Deployment could have.
func TestTheSchemaKnowsEverySetting(t *testing.T) {
	g := NewWithT(t)
	var schema struct {
		Properties struct {
			Settings struct{ Properties map[string]any }
		}
	}
	g.Expect(json.Unmarshal([]byte(operatorProject.file(t, "values.schema.json")), &schema)).To(Succeed())
	known := schema.Properties.Settings.Properties
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	settings.Bind(flags, func(string) (string, bool) { return "", false })
	variable := regexp.MustCompile(`\(env ([A-Z_]+)`)
	flags.VisitAll(func(flag *pflag.Flag) {
		name := variable.FindStringSubmatch(flag.Usage)[1]
		if slices.Contains([]string{"METRICS_CERT_DIR", "WEBHOOK_CERT_DIR", "WEBHOOK_URL"}, name) {
			return
		}
		g.Expect(known).To(HaveKey(name))
		delete(known, name)
	})
	g.Expect(known).To(BeEmpty(), "the operator does not know these settings")
}

func TestTheDefaultsMeetTheSchemaAndTheReadmeNamesThem(t *testing.T) {
	for _, p := range projects {
		g := NewWithT(t)
		var values map[string]any
		g.Expect(yaml.Unmarshal([]byte(p.file(t, "values.yaml")), &values)).To(Succeed())
		readme := p.file(t, "README.md")
		for key, value := range values {
			inner, isMap := value.(map[string]any)
			if !isMap || len(inner) == 0 || slices.Contains([]string{"affinity", "nodeSelector", "resources"}, key) {
				g.Expect(readme).To(ContainSubstring("| `"+key+"` |"), "the README of the chart does not explain %s", key)
				continue
			}
			for name := range inner {
				g.Expect(readme).To(ContainSubstring("| `"+key+"."+name+"` |"), "the README of the chart does not explain %s.%s", key, name)
			}
		}
	}
}

func TestTheChartSaysWhichImageItInstalls(t *testing.T) {
	for _, p := range projects {
		g := NewWithT(t)
		annotations := p.metadata(t)["annotations"].(map[string]any)
		var images []struct{ Name, Image string }
		g.Expect(yaml.Unmarshal([]byte(annotations["artifacthub.io/images"].(string)), &images)).To(Succeed())
		g.Expect(images).To(HaveLen(1))
		g.Expect(inDeployment(t, p.rendered(t), "spec", "template", "spec", "containers", "image")).To(Equal(`"` + images[0].Image + `"`))
		g.Expect(p.metadata(t)["version"]).To(Equal(p.metadata(t)["appVersion"]))
	}
}

func metadata(t *testing.T) map[string]any {
	t.Helper()
	return operatorProject.metadata(t)
}

func (p project) metadata(t *testing.T) map[string]any {
	t.Helper()
	var content map[string]any
	NewWithT(t).Expect(yaml.Unmarshal([]byte(p.file(t, "Chart.yaml")), &content)).To(Succeed())
	return content
}

func (p project) file(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.chart(), name))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(data)
}
