package checkup

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
)

const (
	checkDefinition = "definition"
	checkOperator   = "operator"
	checkVersion    = "version"
	checkNodes      = "nodes"
	checkServices   = "services"

	// firstMinor is the first minor version of Kubernetes 1 whose kube-proxy uses a
	// standby endpoint by itself.
	firstMinor = 28
)

// services reports what was not checked because it is not known which Services are to be.
func services(w *World) []Finding {
	switch {
	case w.Listed.Problem != "":
		return unchecked(checkServices, "the Services: "+w.Listed.Problem, "run it with the right to list Services, or name one: doctor svc/NAME")
	case w.Policies.Problem != "" && (len(w.Services) == 0 || len(w.Policies.Value) > 0): // Else the check of the protection says so.
		return unchecked(checkServices, "which other Services are critical: "+w.Policies.Problem,
			"run it with the right to list criticalservices.mycrd.com, which a ClusterRoleBinding to the ClusterRole view, or to critical-service-viewer, gives, "+
				"and servicefallbacks.mycrd.com, for which a RoleBinding to view or edit is enough")
	case len(w.Services) > 0:
		return nil
	}
	return []Finding{{
		Check: checkServices, Severity: Warning, What: "no CriticalService or ServiceFallback matches a Service here, so that none is protected",
		Why: "a Service that none matches has no standby",
		Fix: "make a ServiceFallback that names the Service, or a CriticalService whose serviceSelector matches its labels; or give another namespace by -n, or all by -A",
	}}
}

// definition checks the CustomResourceDefinitions.
func definition(w *World) []Finding {
	crd := w.Definition
	switch {
	case crd.Problem != "":
		return unchecked(checkDefinition, "the CustomResourceDefinition: "+crd.Problem, "run it with the right to get customresourcedefinitions")
	case crd.Missing:
		return []Finding{{
			Check: checkDefinition, Severity: Problem, What: "the CustomResourceDefinition criticalservices.mycrd.com does not exist",
			Why: "nothing can be declared critical", Fix: "install the operator: " + output.Docs + "install.md",
		}}
	}
	if len(w.Undefined) > 0 {
		return []Finding{{
			Check: checkDefinition, Severity: Problem, What: "the CustomResourceDefinition " + strings.Join(w.Undefined, " and ") + " does not exist",
			Why: "this version of the operator does not start without it", Fix: "install the CustomResourceDefinitions of the operator's version: " + output.Docs + "install.md",
		}}
	}
	served := slices.ContainsFunc(crd.Value.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == criticalv2.GroupVersion.Version && v.Served && v.Storage
	})
	established := slices.ContainsFunc(crd.Value.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
	stored := crd.Value.Status.StoredVersions
	switch {
	case !served:
		return []Finding{{
			Check: checkDefinition, Severity: Problem, What: "the CustomResourceDefinition does not serve and store the version v2",
			Why: "this operator and this plugin read v2", Fix: "install the CustomResourceDefinition of the operator's version: " + output.Docs + "install.md",
		}}
	case !established:
		return []Finding{{
			Check: checkDefinition, Severity: Problem, What: "the CustomResourceDefinition is not established",
			Why: "the API server does not serve CriticalServices", Fix: "read its conditions: kubectl describe crd criticalservices.mycrd.com",
		}}
	case len(stored) > 1:
		return []Finding{{
			Check: checkDefinition, Severity: Warning, What: "CriticalServices may still be stored as " + strings.Join(stored, " and "),
			Why: "a later version of the operator may not read the old one", Fix: "the operator rewrites them by itself at its start; if this stays, read its log",
		}}
	}
	return ok(checkDefinition, "the CustomResourceDefinition serves and stores v2")
}

// operator checks that the operator runs.
func operator(w *World) []Finding {
	found := w.Operators
	if found.Problem != "" {
		return unchecked(checkOperator, "the operator: "+found.Problem, "run it with the right to list deployments, at least in the operator's namespace")
	}
	if len(found.Value) == 0 {
		return []Finding{{
			Check: checkOperator, Severity: Problem, What: "there is no Deployment with the label app.kubernetes.io/name=critical-service-operator",
			Why: "without the operator nothing publishes, promotes or repairs a standby", Fix: "install the operator: " + output.Docs + "install.md",
		}}
	}
	var findings []Finding
	for i := range found.Value {
		findings = append(findings, running(&found.Value[i], checkOperator, "the operator",
			"a standby that is published fails over by itself, but nothing is promoted for ingress controllers and DNS, and nothing is repaired or reported",
			Problem))
	}
	if len(found.Value) > 1 {
		findings = append(findings, Finding{
			Check: checkOperator, Severity: Problem, What: fmt.Sprintf("the operator is installed %d times: %s", len(found.Value), strings.Join(names(found.Value), ", ")),
			Why: "two operators with leases of their own write the same objects", Fix: "remove all but one",
		})
	}
	return findings
}

// running judges a Deployment of which at least one Pod must be available.
func running(deployment *appsv1.Deployment, check, name, why string, down Severity) Finding {
	wanted, available := ptr.Deref(deployment.Spec.Replicas, 1), deployment.Status.AvailableReplicas
	place := fmt.Sprintf("Deployment %s/%s", deployment.Namespace, deployment.Name)
	describe := fmt.Sprintf("find out why: kubectl describe deployment,pods -n %s", deployment.Namespace)
	switch {
	case wanted == 0:
		return Finding{
			Check: check, Severity: down, What: fmt.Sprintf("%s is stopped: %s is scaled to 0", name, place), Why: why,
			Fix: fmt.Sprintf("kubectl scale deployment/%s -n %s --replicas=2", deployment.Name, deployment.Namespace),
		}
	case available == 0:
		return Finding{Check: check, Severity: down, What: fmt.Sprintf("%s does not run: %s has 0 of %d Pods available", name, place, wanted), Why: why, Fix: describe}
	case available < wanted:
		return Finding{
			Check: check, Severity: Warning, What: fmt.Sprintf("%s has %d of %d Pods available (%s)", name, available, wanted, place),
			Why: "fewer replicas are in reserve than configured", Fix: describe,
		}
	}
	return Finding{Check: check, Severity: OK, What: fmt.Sprintf("%s runs: %d of %d Pods available (%s, image %s)", name, available, wanted, place, imageOf(deployment))}
}

func names(deployments []appsv1.Deployment) []string {
	var names []string
	for _, deployment := range deployments {
		names = append(names, deployment.Namespace+"/"+deployment.Name)
	}
	return names
}

// managerContainer is the container that runs the operator.
const managerContainer = "manager"

func imageOf(deployment *appsv1.Deployment) string {
	containers := deployment.Spec.Template.Spec.Containers
	if at := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == managerContainer }); at >= 0 {
		return containers[at].Image
	}
	if len(containers) > 0 {
		return containers[0].Image
	}
	return "unknown"
}

// tagOf is the tag of an image reference; empty where it has none.
func tagOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}

// versions checks the versions of Kubernetes and of the plugin. Those of the
// responders are checked with them, by namespace.
func versions(w *World) []Finding {
	var findings []Finding
	if server := w.ServerVersion; server.Problem != "" {
		findings = append(findings, unchecked(checkVersion, "the version of Kubernetes: "+server.Problem, "run it against a cluster that serves /version")...)
	} else if parsed, err := utilversion.ParseGeneric(server.Value); err == nil && parsed.Major() == 1 && parsed.Minor() < firstMinor {
		findings = append(findings, Finding{
			Check: checkVersion, Severity: Problem, What: fmt.Sprintf("Kubernetes is %s", server.Value),
			Why: "kube-proxy before 1.28 uses a standby endpoint only with a feature gate, so that the failover waits for the operator", Fix: "upgrade the cluster to 1.28 or later",
		})
	}
	if len(w.Operators.Value) != 1 {
		return findings
	}
	tag := tagOf(imageOf(&w.Operators.Value[0]))
	theirs, err := utilversion.ParseSemantic(strings.TrimPrefix(tag, "v"))
	ours, ourErr := utilversion.ParseSemantic(strings.TrimPrefix(w.PluginVersion, "v"))
	switch {
	case err != nil || ourErr != nil:
		findings = append(findings, ok(checkVersion, fmt.Sprintf("Kubernetes %s, plugin %s, operator %q: the last two are not both released versions, and were not compared",
			w.ServerVersion.Value, w.PluginVersion, tag))...)
	case theirs.Major() != ours.Major() || theirs.Minor() != ours.Minor():
		findings = append(findings, Finding{
			Check: checkVersion, Severity: Warning, What: fmt.Sprintf("the plugin is %s, and the operator is %s", w.PluginVersion, tag),
			Why: "the plugin may miss what a newer operator reports, and expect what an older one does not", Fix: "install the plugin of the operator's version",
		})
	default:
		findings = append(findings, ok(checkVersion, fmt.Sprintf("Kubernetes %s, plugin %s, operator %s", w.ServerVersion.Value, w.PluginVersion, tag))...)
	}
	return findings
}

// nodes looks for nodes whose proxy does not use a standby by itself.
func nodes(w *World) []Finding {
	switch {
	case w.WindowsNodes.Problem != "":
		return unchecked(checkNodes, "the nodes: "+w.WindowsNodes.Problem, "run it with the right to list nodes")
	case w.WindowsNodes.Value > 0:
		return []Finding{{
			Check: checkNodes, Severity: Warning, What: fmt.Sprintf("%d nodes run Windows", w.WindowsNodes.Value),
			Why: "kube-proxy for Windows uses a standby only once the operator has promoted it: clients on these nodes wait for it", Fix: "keep two replicas of the operator, so that one is always there",
		}}
	}
	return nil
}
