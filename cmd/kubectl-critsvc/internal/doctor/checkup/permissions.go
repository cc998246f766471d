package checkup

import (
	"fmt"
	"strings"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

const (
	checkPermissions = "permissions"
	// runPods is what the permissions are for that may be left out.
	runPods = "to make fallback Pods"
)

// Needs are the permissions without which the operator does not do what it is for.
// Operator is its namespace, where it keeps its lease and its certificates.
func Needs(operator string) []Need {
	var needs []Need
	add := func(purpose, group, resource string, verbs ...string) {
		resource, sub, _ := strings.Cut(resource, "/")
		for _, verb := range verbs {
			needs = append(needs, Need{Verb: verb, Group: group, Resource: resource, Subresource: sub, For: purpose})
		}
	}
	named := func(purpose, group, resource, name string, verbs ...string) {
		first := len(needs)
		add(purpose, group, resource, verbs...)
		for i := first; i < len(needs); i++ {
			needs[i].Name = name
		}
	}
	const (
		see, publish, responders = "to see outages", "to publish standby endpoints", "to keep responders"
		planned, explain, scrape = "to follow planned maintenance", "to find out why a Service is down", "to know who may read its metrics"
	)
	add(see, "", "services", "get", "list", "watch")
	add(see, "", "namespaces", "get", "list", "watch")
	add(see, "discovery.k8s.io", "endpointslices", "get", "list", "watch")
	for _, kind := range []string{"criticalservices", "servicefallbacks"} {
		add(see, criticalv2.GroupVersion.Group, kind, "get", "list", "watch")
		add("to report what it sees", criticalv2.GroupVersion.Group, kind+"/status", "patch")
	}
	add(planned, criticalv2.GroupVersion.Group, "maintenances", "get", "list", "watch", "patch", "delete")
	add(planned, criticalv2.GroupVersion.Group, "maintenances/status", "patch")
	add("to report what it sees", "events.k8s.io", "events", "create", "patch")
	add(publish, "discovery.k8s.io", "endpointslices", "create", "patch", "delete")
	add(publish, "discovery.k8s.io", "endpointslices/restricted", "create")
	add(runPods, "", "podtemplates", "get", "list", "watch")
	add(see, "", "pods", "get", "list", "watch")
	add(runPods, "", "pods", "create", "patch", "delete")
	add(responders, "apps", "deployments", "list", "watch", "create")
	named(responders, "apps", "deployments", criticalv2.ResponderName, "get", "patch", "delete")
	add(responders, "", "configmaps", "list", "watch", "create")
	named(responders, "", "configmaps", criticalv2.ResponderName, "get", "patch", "delete")
	add(responders, "policy", "poddisruptionbudgets", "list", "watch", "create")
	named(responders, "policy", "poddisruptionbudgets", criticalv2.ResponderName, "get", "patch", "delete")
	add(responders, "autoscaling", "horizontalpodautoscalers", "list", "watch", "create")
	named(responders, "autoscaling", "horizontalpodautoscalers", criticalv2.ResponderName, "get", "patch", "delete")
	add(explain, "", "nodes", "get")
	for _, workload := range []string{"deployments", "statefulsets", "daemonsets", "replicasets"} {
		add(explain, "apps", workload, "list")
	}
	add(explain, "autoscaling", "horizontalpodautoscalers", "list")
	add(explain, "events.k8s.io", "events", "list")
	add(scrape, "authentication.k8s.io", "tokenreviews", "create")
	add(scrape, "authorization.k8s.io", "subjectaccessreviews", "create")

	const lease = "to lead"
	first := len(needs)
	add(lease, "coordination.k8s.io", "leases", "create")
	named(lease, "coordination.k8s.io", "leases", "critical-service-operator", "get", "update")
	for i := first; i < len(needs); i++ {
		needs[i].Namespace = operator
	}
	return needs
}

// isLeftOut reports whether an administrator has left out all that only podTemplate fallbacks
// need. Some of it is no choice, but a mistake.
func isLeftOut(needs []Need) bool {
	found := false
	for _, need := range needs {
		if need.For == runPods {
			if need.Allowed {
				return false
			}
			found = true
		}
	}
	return found
}

// String names a permission as RBAC does.
func (n Need) String() string {
	resource := n.Resource
	if n.Subresource != "" {
		resource += "/" + n.Subresource
	}
	if n.Group != "" {
		resource += "." + n.Group
	}
	if n.Name != "" {
		resource += " " + n.Name
	}
	return n.Verb + " " + resource
}

// permissions checks that the operator has the permissions that it needs.
func permissions(w *World) []Finding {
	needs := w.Needs
	switch {
	case needs.Missing:
		return nil // There is no operator; its check says so.
	case w.Operators.Problem != "":
		return unchecked(checkPermissions, "the operator's permissions: its Deployment, which names its ServiceAccount, could not be read",
			"run it with the right to list deployments, at least in the operator's namespace")
	case needs.Problem != "":
		return unchecked(checkPermissions, "the operator's permissions: "+needs.Problem, "run it with the right to create subjectaccessreviews")
	}
	var denied []string
	purposes := map[string]bool{}
	var why []string
	without := isLeftOut(needs.Value)
	for _, need := range needs.Value {
		if need.Allowed || without && need.For == runPods {
			continue
		}
		denied = append(denied, need.String())
		if !purposes[need.For] {
			purposes[need.For] = true
			why = append(why, need.For)
		}
	}
	switch {
	case len(denied) > 0:
	case without:
		return ok(checkPermissions, "the operator has the permissions that it needs, but for podTemplate fallbacks, for which the page stands in")
	default:
		return ok(checkPermissions, fmt.Sprintf("the operator has the %d permissions that it needs", len(needs.Value)))
	}
	return []Finding{{
		Check: checkPermissions, Severity: Problem, What: "the operator may not: " + strings.Join(denied, ", "),
		Why: "it needs that " + strings.Join(why, ", and "), Fix: "apply the ClusterRole, the Role and their bindings of the operator's version again: " + output.Docs + "install.md",
	}}
}
