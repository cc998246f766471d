package main

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const plainConfig = `
apiVersion: v1
kind: ConfigMap
metadata: {name: example, namespace: critical-service-system}
data:
  braces: "a {{ b }} c"
  host: webhook.critical-service-system.svc
`

func parsed(g Gomega, documents string) []object {
	objects, err := parse([]byte(documents))
	g.Expect(err).NotTo(HaveOccurred())
	return objects
}

func newChart() *chart {
	return &chart{name: "critical-service-example", namespace: "critical-service-system", files: map[string]string{}}
}

func TestATemplateSaysWhatKustomizeSays(t *testing.T) {
	g := NewWithT(t)
	c := newChart()
	g.Expect(c.templates(parsed(g, plainConfig+"---\n{apiVersion: v1, kind: Role, metadata: {name: only-here}}\n"), parsed(g, `
apiVersion: v1
kind: ConfigMap
metadata: {name: example, namespace: critical-service-system, annotations: {from: critical-service-system/example}}
data:
  braces: "a {{ b }} c"
  host: webhook.critical-service-system.svc
---
apiVersion: v1
kind: Secret
metadata: {name: only-there}
`))).To(Succeed())
	g.Expect(c.files).To(Equal(map[string]string{
		"configmap.yaml": header + `---
apiVersion: v1
data:
  braces: a {{ ` + "`{{`" + ` }} b }} c
  host: webhook.{{ .Release.Namespace }}.svc
kind: ConfigMap
metadata:
  {{- if eq .Values.certificates "cert-manager" }}
  annotations:
    from: '{{ .Release.Namespace }}/example'
  {{- end }}
  labels:
    app.kubernetes.io/managed-by: {{ .Release.Service }}
    helm.sh/chart: {{ include "critical-service-example.chart" . }}
  name: example
  namespace: '{{ .Release.Namespace }}'
`,
		"role.yaml": header + `{{- if ne .Values.certificates "cert-manager" }}
---
apiVersion: v1
kind: Role
metadata:
  labels:
    app.kubernetes.io/managed-by: {{ .Release.Service }}
    helm.sh/chart: {{ include "critical-service-example.chart" . }}
  name: only-here
{{- end }}
`,
		"secret.yaml": header + `{{- if eq .Values.certificates "cert-manager" }}
---
apiVersion: v1
kind: Secret
metadata:
  labels:
    app.kubernetes.io/managed-by: {{ .Release.Service }}
    helm.sh/chart: {{ include "critical-service-example.chart" . }}
  name: only-there
{{- end }}
`,
	}))
}

func TestWhatAChartCannotExpressIsAnError(t *testing.T) {
	for sentence, test := range map[string]struct{ plain, certManager, complaint string }{
		"a field that has another value": {
			plainConfig,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: example, namespace: critical-service-system}, data: {braces: other, host: webhook.critical-service-system.svc}}`,
			"ConfigMap example: data: braces: config/certmanager has another value",
		},
		"a field that is missing": {
			plainConfig,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: example, namespace: critical-service-system}}`,
			"lacks the field data",
		},
		"a second container": {
			"", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: example}, spec: {template: {spec: {containers: [{name: a}, {name: b}]}}}}`,
			"has 2 containers",
		},
		"a port that no setting moves": {
			"", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: example}, spec: {template: {spec: {containers: [{name: a, ports: [{name: debug}]}]}}}}`,
			"a port debug",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			err := newChart().templates(parsed(g, test.plain), parsed(g, test.certManager))
			g.Expect(err).To(MatchError(ContainSubstring(test.complaint)))
		})
	}
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: critical-service-example}
spec: {template: {spec: {containers: [{name: manager, envFrom: [{secretRef: {name: secret}}, {configMapRef: {name: example-settings}}]}]}}}
`

// definitions are two, of which a webhook converts the second.
const definitions = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: others.mycrd.com}
spec: {scope: Namespaced, names: {plural: others}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: examples.mycrd.com}
spec: {scope: Namespaced, names: {plural: examples}, conversion: {strategy: Webhook}}
`

func TestEveryChartHasItsHelpersItsSettingsAndItsTest(t *testing.T) {
	g := NewWithT(t)
	c := newChart()
	g.Expect(c.share(parsed(g, plainConfig+"---"+deployment+"---"+definitions))).To(Succeed())
	g.Expect(c.files).To(HaveLen(3))
	g.Expect(c.files["test.yaml"]).To(And(
		ContainSubstring("kind: Role\n"), ContainSubstring("kind: RoleBinding\n"), ContainSubstring("resources: [examples]\n")))
	g.Expect(c.files["_helpers.tpl"]).To(ContainSubstring(`define "critical-service-example.image"`))
	g.Expect(c.files["settings.yaml"]).To(And(
		ContainSubstring("name: example-settings\n"), ContainSubstring("app.kubernetes.io/name: critical-service-example\n")))
	of := newChart()
	g.Expect(of.share(parsed(g, plainConfig+"---"+deployment+"---"+strings.ReplaceAll(definitions, "Namespaced", "Cluster")))).To(Succeed())
	g.Expect(of.files["test.yaml"]).To(And(ContainSubstring("kind: ClusterRole\n"), ContainSubstring("kind: ClusterRoleBinding\n")))
	g.Expect(newChart().share(parsed(g, plainConfig))).To(MatchError(ContainSubstring("takes its environment from a ConfigMap")))
	g.Expect(newChart().share(parsed(g, plainConfig+"---"+deployment))).To(MatchError(ContainSubstring("is converted by a webhook")))
}
