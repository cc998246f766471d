package checkup

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

const (
	checkResponder = "responder"
	checkBudget    = "budget"
	checkQuota     = "quota"
)

// responder checks what answers for the page fallbacks of a namespace.
func responder(w *World, n *Namespace) []Finding {
	found := n.Responder
	switch {
	case found.Problem != "":
		return unchecked(checkResponder, "the responder: "+found.Problem, "run it with the right to get deployments in the namespace")
	case found.Missing && !wantsPage(w, n):
		return nil
	case found.Missing:
		return []Finding{{
			Check: checkResponder, Severity: Problem, What: fmt.Sprintf("there is no Deployment %s, though Services of the namespace have a page as their fallback", criticalv2.ResponderName),
			Why: "nothing would answer in their place", Fix: "the operator makes it by itself: see what it says of the Services here, and read its log",
		}}
	}
	findings := []Finding{running(found.Value, checkResponder, "the responder", "nothing would answer in the place of the Services here", Problem)}
	if len(w.Operators.Value) != 1 {
		return findings
	}
	theirs := found.Value.Spec.Template.Spec.Containers
	ours := &w.Operators.Value[0]
	if len(theirs) == 0 || theirs[0].Image == imageOf(ours) || w.Settings["RESPONDER_IMAGE"] != "" {
		return findings
	}
	return append(findings, Finding{
		Check: checkResponder, Severity: Warning, What: fmt.Sprintf("the responder's image is %s, and the operator's is %s", theirs[0].Image, imageOf(ours)),
		Why: "the two read the same table and are tested together in one version only", Fix: "the operator upgrades responders by itself: if this stays, see what it says of the Services here, and read its log",
	})
}

func wantsPage(w *World, n *Namespace) bool {
	return slices.ContainsFunc(w.Services, func(s *Service) bool {
		return s.Home == n && slices.ContainsFunc(s.standbys(), isPage)
	})
}

// budgets looks for PodDisruptionBudgets that make the fallbacks of a namespace
// impossible to evict: draining their node then never ends.
func budgets(_ *World, n *Namespace) []Finding {
	switch {
	case n.Budgets.Problem != "":
		return unchecked(checkBudget, "PodDisruptionBudgets: "+n.Budgets.Problem, "run it with the right to list poddisruptionbudgets in the namespace")
	case n.Fallbacks.Problem != "":
		return unchecked(checkBudget, "the Pods that stand in: "+n.Fallbacks.Problem, "run it with the right to list pods in the namespace")
	}
	var findings []Finding
	seen := map[string]bool{}
	for i := range n.Fallbacks.Value {
		pod := &n.Fallbacks.Value[i]
		covering := budgetsOf(n.Budgets.Value, pod)
		key := strings.Join(covering, ", ")
		if len(covering) < 2 || seen[key] {
			continue
		}
		seen[key] = true
		findings = append(findings, Finding{
			Check: checkBudget, Severity: Warning, What: fmt.Sprintf("Pod %s is under %d PodDisruptionBudgets: %s", pod.Name, len(covering), key),
			Why: "the API server evicts no Pod that is under more than one, so that its node cannot be drained", Fix: "narrow the selector of the other budget, so that it leaves out Pods with the label " + criticalv2.LabelFallbackFor,
		})
	}
	if len(findings) == 0 && len(n.Fallbacks.Value) > 0 {
		return ok(checkBudget, fmt.Sprintf("the %d Pods that stand in are under one PodDisruptionBudget each, or none", len(n.Fallbacks.Value)))
	}
	return findings
}

func budgetsOf(budgets []policyv1.PodDisruptionBudget, pod *corev1.Pod) []string {
	var names []string
	for _, budget := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			names = append(names, budget.Name)
		}
	}
	slices.Sort(names)
	return names
}

// quotas checks that a quota leaves enough for the responder to be rolled: an upgrade
// first makes as many new Pods as there are.
func quotas(_ *World, n *Namespace) []Finding {
	switch {
	case n.Responder.Problem != "" || n.Responder.Missing:
		return nil
	case n.Quotas.Problem != "":
		return unchecked(checkQuota, "ResourceQuotas: "+n.Quotas.Problem, "run it with the right to list resourcequotas in the namespace")
	case len(n.Quotas.Value) == 0:
		return nil
	}
	deployment := n.Responder.Value
	need := demand(&deployment.Spec.Template.Spec, ptr.Deref(deployment.Spec.Replicas, 1))
	if lacking := short(n.Quotas.Value, need); len(lacking) > 0 {
		return []Finding{{
			Check: checkQuota, Severity: Warning, What: "a quota has no room for a second set of responder Pods: " + strings.Join(lacking, ", "),
			Why: "an upgrade of the responder, or another Pod for a page, is blocked; the running Pods continue to answer",
			Fix: "raise the quota of the namespace, or set fewer replicas of the page",
		}}
	}
	return ok(checkQuota, "the quota of the namespace has room for an upgrade of the responder")
}

// demand is what some Pods of a kind take of a quota.
func demand(spec *corev1.PodSpec, count int32) corev1.ResourceList {
	total := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(count), resource.DecimalSI)}
	add := func(name corev1.ResourceName, quantity resource.Quantity) {
		quantity.Mul(int64(count))
		sum := total[name]
		sum.Add(quantity)
		total[name] = sum
	}
	for _, container := range spec.Containers {
		for name, quantity := range container.Resources.Requests {
			add(name, quantity.DeepCopy()) // A quota may name it with and without the prefix.
			add("requests."+name, quantity.DeepCopy())
		}
		for name, quantity := range container.Resources.Limits {
			add("limits."+name, quantity.DeepCopy())
		}
	}
	return total
}

// short lists what a quota has too little of. Quotas with a scope are left out: they
// are for some Pods only.
func short(limits []corev1.ResourceQuota, need corev1.ResourceList) []string {
	var lacking []string
	for _, quota := range limits {
		if len(quota.Spec.Scopes) > 0 || quota.Spec.ScopeSelector != nil {
			continue
		}
		for name, hard := range quota.Status.Hard {
			wanted, counted := need[name]
			left := hard.DeepCopy()
			left.Sub(quota.Status.Used[name])
			if left.Sign() < 0 {
				left.Set(0) // A quota that was lowered later is used beyond its limit.
			}
			if counted && left.Cmp(wanted) < 0 {
				lacking = append(lacking, fmt.Sprintf("ResourceQuota %s: %s: %s of %s left, %s needed", quota.Name, name, left.String(), hard.String(), wanted.String()))
			}
		}
	}
	slices.Sort(lacking)
	return lacking
}
