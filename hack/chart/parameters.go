package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// forCertManager is the condition of what only config/certmanager has.
const forCertManager = `eq .Values.certificates "cert-manager"`

// forSelfMade is the condition of what only self-made certificates need, and config/certmanager leaves out.
const forSelfMade = `ne .Values.certificates "cert-manager"`

// conditions say when an object is in the chart, by its kind, or kind and name; others always are.
var conditions = map[string]string{
	"ClusterRole critical-service-operator-pod-templates":        ".Values.podTemplates",
	"ClusterRoleBinding critical-service-operator-pod-templates": "and .Values.podTemplates (not .Values.namespaced)",
	"RoleBinding critical-service-operator-pod-templates":        ".Values.podTemplates",

	"ClusterRoleBinding critical-service-operator-namespaces":  "not .Values.namespaced",
	"ClusterRoleBinding critical-service-workloads-namespaces": "not .Values.namespaced",
	"ClusterRoleBinding critical-service-workloads-ingress":    "not .Values.namespaced",

	"CustomResourceDefinition": ".Values.crds.install",
	"ResourceQuota":            ".Values.criticalPodsQuota",
	"PodDisruptionBudget":      ".Values.podDisruptionBudget.enabled",
}

// extras are folders of their own, for clusters that have what they need. A project may have them.
var extras = []struct{ folder, condition string }{
	{"prometheus", ".Values.monitoring.prometheus"},
	{"grafana", ".Values.monitoring.grafana"},
	{"admission", ".Values.admissionPolicy"},
	{"network-policy", ".Values.networkPolicy"},
	{"ingress", ".Values.ingress"},
}

// forEachNamespace are folders whose objects are in the chart under a condition, once for each namespace of the setting
// NAMESPACES.
var forEachNamespace = []struct{ folder, condition string }{
	{"rbac/namespace", ".Values.namespaced"},
	{"ingress/namespace", "and .Values.namespaced .Values.ingress"},
	{"network-policy/responder", "and .Values.networkPolicy .Values.settings.NAMESPACES"},
}

// eachNamespace is how a block begins for each of them. In it values are named as everywhere else.
var eachNamespace = []string{
	`range $namespace := required "namespaced needs settings.NAMESPACES" .Values.settings.NAMESPACES | nospace | splitList "," | uniq | compact`,
	"with $",
}

// leftOut are kinds that the chart does not have: Helm makes the namespace of a
// release itself, or finds it.
var leftOut = map[string]bool{"Namespace": true}

// parametrize puts template text where a value of the chart decides. This is the
// whole list of parameters; everything else is as kustomize builds it.
func (c *chart) parametrize(o object, text *texts) error {
	labels := o.field("metadata", "labels")
	labels["app.kubernetes.io/managed-by"] = text.inline("{{ .Release.Service }}")
	labels["helm.sh/chart"] = text.inline(c.include("chart", "."))
	switch o.kind() {
	case "ServiceAccount":
		o.field("metadata")["annotations"] = text.optional("annotations", ".Values.serviceAccount.annotations")
	case "PodDisruptionBudget":
		o.field("spec")["maxUnavailable"] = text.block(c.include("budget", "."))
	case "CustomResourceDefinition":
		o.field("metadata", "annotations")["helm.sh/resource-policy"] = text.block(
			`{{- if .Values.crds.keep }}`,
			`helm.sh/resource-policy: keep`,
			`{{- end }}`)
	case "NetworkPolicy":
		return parametrizeNetworkPolicy(o, text)
	case "Deployment":
		return c.parametrizeDeployment(o, text)
	}
	return nil
}

// parametrizeNetworkPolicy lets the policy of an operator follow the API server's own port.
func parametrizeNetworkPolicy(o object, text *texts) error {
	rules, _ := o.field("spec")["egress"].([]any)
	if len(rules) == 0 {
		return nil
	}
	first, _ := rules[0].(map[string]any)
	ports, _ := first["ports"].([]any)
	for i := range ports {
		if port, _ := ports[i].(map[string]any); fmt.Sprint(port["port"]) == "6443" {
			port["port"] = text.inline("{{ .Values.apiServerPort }}")
			return nil
		}
	}
	return fmt.Errorf("the first rule for egress of NetworkPolicy %s has no port 6443, the API server's", o.name())
}

// include is the template text that includes a helper of the chart.
func (c *chart) include(helper, argument string) string {
	return fmt.Sprintf("{{ include %q %s }}", c.name+"."+helper, argument)
}

func (c *chart) parametrizeDeployment(o object, text *texts) error {
	spec, pod := o.field("spec"), o.field("spec", "template", "spec")
	spec["replicas"] = text.inline("{{ .Values.replicas }}")
	// Two Pods cannot have the same port of a node: where every node has one, the next one would never find a place.
	spec["strategy"] = text.block(
		`{{- if .Values.hostNetwork }}`,
		`strategy:`,
		`  rollingUpdate:`,
		`    maxSurge: 0`,
		`    maxUnavailable: 1`,
		`{{- end }}`)
	pod["hostNetwork"] = text.block(
		`{{- if .Values.hostNetwork }}`,
		`dnsPolicy: ClusterFirstWithHostNet`,
		`hostNetwork: true`,
		`{{- end }}`)
	for _, key := range []string{"affinity", "nodeSelector", "tolerations", "topologySpreadConstraints"} {
		pod[key] = text.optional(key, ".Values."+key)
	}
	pod["priorityClassName"] = text.optionalWord("priorityClassName", ".Values.priorityClassName")
	pod["imagePullSecrets"] = text.optional("imagePullSecrets", ".Values.pullSecrets")

	containers, _ := pod["containers"].([]any)
	if len(containers) != 1 {
		return fmt.Errorf("the Deployment %s has %d containers; the chart knows one", o.name(), len(containers))
	}
	manager, _ := containers[0].(map[string]any)
	manager["image"] = text.inline(c.include("image", "."))
	manager["imagePullPolicy"] = text.optionalWord("imagePullPolicy", ".Values.image.pullPolicy")
	manager["resources"] = text.optional("resources", ".Values.resources")
	variables, _ := manager["env"].([]any)
	manager["env"] = append(variables, text.block(
		`{{- with .Values.extraEnv }}`,
		`{{- toYaml . | nindent $0 }}`,
		`{{- end }}`))
	c.annotate(o.field("spec", "template", "metadata", "annotations"), text)
	return c.follow(manager, text)
}

// annotate puts template text into the annotations of the Pods.
func (c *chart) annotate(annotations map[string]any, text *texts) {
	// The settings are read at start: other settings are other Pods.
	lines := []string{
		`{{- with .Values.settings }}`,
		`checksum/settings: {{ toJson . | sha256sum }}`,
		`{{- end }}`,
		`{{- with .Values.podAnnotations }}`,
		`{{- toYaml . | nindent $0 }}`,
		`{{- end }}`,
	}
	follow := map[string]string{
		"prometheus.io/port":   `"` + c.include("port", metricsPort) + `"`,
		"prometheus.io/scheme": `{{ ternary "http" "https" (eq (toString (get (.Values.settings | default dict) "METRICS_SECURE")) "false") }}`,
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		value := cmp.Or(follow[key], fmt.Sprintf("%q", annotations[key]))
		// A key that is there twice is no valid YAML.
		lines = append(lines, `{{- if not (hasKey (.Values.podAnnotations | default dict) "`+key+`") }}`, key+": "+value, `{{- end }}`)
		delete(annotations, key)
	}
	annotations["podAnnotations"] = text.block(lines...)
}

// metricsPort are the arguments of the helper for the port of the metrics.
const metricsPort = `(list . "METRICS_BIND_ADDRESS" 8443)`

// follow makes the ports of a container those at which the settings say that the operator listens.
func (c *chart) follow(manager map[string]any, text *texts) error {
	listens := map[any]string{
		"metrics": c.include("port", metricsPort),
		"probes":  c.include("port", `(list . "HEALTH_PROBE_BIND_ADDRESS" 8081)`),
		"webhook": c.include("port", `(list . "WEBHOOK_PORT" 9443)`),
		"api":     c.include("port", `(list . "API_PORT" 9444)`),
	}
	ports, _ := manager["ports"].([]any)
	for _, entry := range ports {
		port, _ := entry.(map[string]any)
		template, known := listens[port["name"]]
		if !known {
			return fmt.Errorf("the container has a port %v that the chart does not know", port["name"])
		}
		port["containerPort"] = text.inline(template)
	}
	return nil
}
