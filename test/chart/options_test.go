package chart_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// forEachProject runs a test for the chart of each operator: their values are the same.
func forEachProject(t *testing.T, test func(t *testing.T, p project)) {
	t.Helper()
	for _, p := range projects {
		t.Run(p.name, func(t *testing.T) { test(t, p) })
	}
}

// refusal is why Helm does not render a chart with a value.
func (p project) refusal(t *testing.T, values ...string) error {
	t.Helper()
	arguments := []string{"template", p.name, p.chart()}
	for _, value := range values {
		arguments = append(arguments, "--set-json", value)
	}
	_, err := tool(t, "helm", arguments...)
	return err
}

func TestTheBudgetOfEvictionsFollowsItsValues(t *testing.T) {
	for sentence, test := range map[string]struct {
		values []string
		field  string
		wanted string
	}{
		"one at a time":                              {nil, "maxUnavailable", `1`},
		"more at a time":                             {[]string{`podDisruptionBudget.maxUnavailable=2`}, "maxUnavailable", `2`},
		"a share, which is rounded up":               {[]string{`podDisruptionBudget.maxUnavailable="10%"`}, "maxUnavailable", `"10%"`},
		"neither is one at a time":                   {[]string{`podDisruptionBudget.maxUnavailable=null`}, "maxUnavailable", `1`},
		"replicas that stay":                         {[]string{`podDisruptionBudget.minAvailable=2`, `replicas=3`}, "minAvailable", `2`},
		"a share that stays":                         {[]string{`podDisruptionBudget.minAvailable="50%"`}, "minAvailable", `"50%"`},
		"the replicas that stay win":                 {[]string{`podDisruptionBudget.minAvailable=1`}, "maxUnavailable", `null`},
		"without a replica nothing stops a drain":    {[]string{`podDisruptionBudget.minAvailable=1`, `replicas=0`}, "minAvailable", `1`},
		"what is not ready does not stop one either": {nil, "unhealthyPodEvictionPolicy", `"AlwaysAllow"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			forEachProject(t, func(t *testing.T, p project) {
				NewWithT(t).Expect(inOnly(t, p.rendered(t, test.values...), "PodDisruptionBudget", "spec", test.field)).To(Equal(test.wanted))
			})
		})
	}
}

func TestABudgetThatStopsEveryDrainIsRefused(t *testing.T) {
	for sentence, test := range map[string]struct{ value, complaint string }{
		"all replicas stay":                     {`podDisruptionBudget.minAvailable=2`, "minAvailable is 2 of 2 replicas"},
		"a share of them that is rounded up":    {`podDisruptionBudget.minAvailable="51%"`, "minAvailable is 51% of 2 replicas"},
		"all of them, as a share":               {`podDisruptionBudget.minAvailable="100%"`, "/podDisruptionBudget/minAvailable"},
		"none may go":                           {`podDisruptionBudget.maxUnavailable=0`, "/podDisruptionBudget/maxUnavailable"},
		"none may go, as a share":               {`podDisruptionBudget.maxUnavailable="0%"`, "/podDisruptionBudget/maxUnavailable"},
		"the only replica stays":                {`podDisruptionBudget={"minAvailable":1}`, "minAvailable is 1 of 1 replicas"},
		"a field that the budget does not have": {`podDisruptionBudget={"minReady":1}`, "minReady"},
	} {
		t.Run(sentence, func(t *testing.T) {
			forEachProject(t, func(t *testing.T, p project) {
				values := []string{test.value}
				if strings.HasPrefix(sentence, "the only") {
					values = append(values, `replicas=1`)
				}
				NewWithT(t).Expect(p.refusal(t, values...)).To(MatchError(ContainSubstring(test.complaint)))
			})
		})
	}
}

func TestAnnotationsOfThePodsWinAndFollowTheSettings(t *testing.T) {
	for sentence, test := range map[string]struct {
		values []string
		scheme string
	}{
		"metrics are served by HTTPS":         {nil, `"https"`},
		"or not":                              {[]string{`settings.METRICS_SECURE="false"`}, `"http"`},
		"or not, by a word of YAML":           {[]string{`settings.METRICS_SECURE=false`}, `"http"`},
		"the value for annotations has it":    {[]string{`podAnnotations={"prometheus.io/scheme":"other"}`}, `"other"`},
		"no value for either leaves it alone": {[]string{`podAnnotations=null`, `settings=null`}, `"https"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			forEachProject(t, func(t *testing.T, p project) {
				rendered := p.rendered(t, test.values...)
				NewWithT(t).Expect(inDeployment(t, rendered, "spec", "template", "metadata", "annotations", "prometheus.io/scheme")).To(Equal(test.scheme))
				NewWithT(t).Expect(inDeployment(t, rendered, "spec", "template", "metadata", "annotations", "prometheus.io/path")).To(Equal(`"/metrics"`))
			})
		})
	}
}

func TestMoreVariablesComeAfterThoseOfTheChart(t *testing.T) {
	variables := func(t *testing.T, p project, values ...string) []any {
		t.Helper()
		var found []any
		NewWithT(t).Expect(json.Unmarshal([]byte(inDeployment(t, p.rendered(t, values...), "spec", "template", "spec", "containers", "env")), &found)).To(Succeed())
		return found
	}
	forEachProject(t, func(t *testing.T, p project) {
		own := variables(t, p)
		more := variables(t, p, `extraEnv=[{"name":"HTTPS_PROXY","value":"http://proxy:3128"},{"name":"NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}]`)
		NewWithT(t).Expect(more).To(Equal(append(own,
			map[string]any{"name": "HTTPS_PROXY", "value": "http://proxy:3128"},
			map[string]any{"name": "NODE", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "spec.nodeName"}}})))
	})
}

// Server-side apply refuses a list with a name twice, after Helm has changed other objects.
func TestVariablesThatTheChartSetsAreRefused(t *testing.T) {
	forEachProject(t, func(t *testing.T, p project) {
		g := NewWithT(t)
		var own []struct{ Name string }
		g.Expect(json.Unmarshal([]byte(inDeployment(t, p.rendered(t), "spec", "template", "spec", "containers", "env")), &own)).To(Succeed())
		for _, variable := range own {
			g.Expect(p.refusal(t, `extraEnv=[{"name":"`+variable.Name+`","value":"a"}]`)).To(MatchError(ContainSubstring("/extraEnv/0/name")), variable.Name)
		}
		for _, item := range []string{`{"value":"a"}`, `{"name":"1A"}`, `{"name":"A","value":1}`, `{"name":"A","value":"a","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}`} {
			g.Expect(p.refusal(t, `extraEnv=[`+item+`]`)).To(MatchError(ContainSubstring("/extraEnv/0")), item)
		}
	})
}

func TestTheAccountHasItsAnnotations(t *testing.T) {
	forEachProject(t, func(t *testing.T, p project) {
		g := NewWithT(t)
		role := `serviceAccount.annotations={"eks.amazonaws.com/role-arn":"arn:aws:iam::1:role/a"}`
		g.Expect(inOnly(t, p.rendered(t, role), "ServiceAccount", "metadata", "annotations")).To(Equal(`{"eks.amazonaws.com/role-arn":"arn:aws:iam::1:role/a"}`))
		g.Expect(inOnly(t, p.rendered(t), "ServiceAccount", "metadata", "annotations")).To(Equal(`null`))
		g.Expect(p.refusal(t, `serviceAccount.annotations={"a":1}`)).To(MatchError(ContainSubstring("/serviceAccount/annotations/a")))
		g.Expect(p.refusal(t, `serviceAccount.name="mine"`)).To(MatchError(ContainSubstring("name")))
	})
}

func TestInTheNetworkOfTheNodeARolloutNeedsNoFreeNode(t *testing.T) {
	forEachProject(t, func(t *testing.T, p project) {
		g := NewWithT(t)
		pod := []string{"spec", "template", "spec"}
		found := p.rendered(t, `hostNetwork=true`)
		g.Expect(inDeployment(t, found, append(pod, "hostNetwork")...)).To(Equal(`true`))
		g.Expect(inDeployment(t, found, append(pod, "dnsPolicy")...)).To(Equal(`"ClusterFirstWithHostNet"`))
		g.Expect(inDeployment(t, found, "spec", "strategy")).To(Equal(`{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}`))
		for _, path := range [][]string{append(pod, "hostNetwork"), append(pod, "dnsPolicy"), {"spec", "strategy"}} {
			g.Expect(inDeployment(t, p.rendered(t), path...)).To(Equal(`null`), "%v", path)
		}
	})
}

// The ports of a node may be taken, so that every one can be another. Who calls them finds them by name.
func TestEveryPortFollowsItsSetting(t *testing.T) {
	const settings = `settings={"WEBHOOK_PORT":10260,"METRICS_BIND_ADDRESS":":10261","HEALTH_PROBE_BIND_ADDRESS":":10262"%s}`
	wanted := map[string]int64{"webhook": 10260, "metrics": 10261, "probes": 10262, "api": 10263}
	forEachProject(t, func(t *testing.T, p project) {
		g := NewWithT(t)
		value := strings.ReplaceAll(settings, "%s", "")
		if p != operatorProject {
			value = strings.ReplaceAll(settings, "%s", `,"API_PORT":10263`)
		}
		found := p.rendered(t, value, `hostNetwork=true`)
		var ports []struct {
			Name          string
			ContainerPort int64
		}
		g.Expect(json.Unmarshal([]byte(inDeployment(t, found, "spec", "template", "spec", "containers", "ports")), &ports)).To(Succeed())
		g.Expect(len(ports)).To(BeNumerically(">=", 3))
		for _, port := range ports {
			g.Expect(port.ContainerPort).To(Equal(wanted[port.Name]), port.Name)
		}
		for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
			g.Expect(inDeployment(t, found, "spec", "template", "spec", "containers", probe, "httpGet", "port")).To(Equal(`"probes"`))
		}
		g.Expect(inDeployment(t, found, "spec", "template", "metadata", "annotations", "prometheus.io/port")).To(BeElementOf(`"10261"`, `null`))
		services := 0
		for _, object := range found {
			if object.GetKind() != "Service" {
				continue
			}
			services++
			entries, _, err := unstructured.NestedSlice(object.Object, "spec", "ports")
			g.Expect(err).NotTo(HaveOccurred())
			for _, entry := range entries {
				g.Expect(ports).To(ContainElement(HaveField("Name", entry.(map[string]any)["targetPort"])), object.GetName())
			}
		}
		g.Expect(services).To(BeNumerically(">=", 2))
	})
}

func TestTheSchemaDescribesEveryValue(t *testing.T) {
	forEachProject(t, func(t *testing.T, p project) {
		g := NewWithT(t)
		var schema struct {
			Properties map[string]struct{ Description string }
		}
		g.Expect(json.Unmarshal([]byte(p.file(t, "values.schema.json")), &schema)).To(Succeed())
		for name, value := range schema.Properties {
			g.Expect(value.Description).To(MatchRegexp(`^[A-Z].*\.$`), name)
		}
	})
}
