package diagnosis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// unmatched says that nothing in the namespace has the labels of the Service's
// selector, and what comes nearest.
func unmatched(e *Evidence, workloads []workload) *Diagnosis {
	if len(e.Pods) > 0 || e.MorePods || e.WorkloadsUnread || len(matching(e.Service, workloads)) > 0 {
		return nil
	}
	text := fmt.Sprintf("No Pod and no workload has the labels of the selector of Service %q, %s", e.Service.Name, selector(e.Service))
	if near := nearest(e, workloads); near != "" {
		text += "; " + near
	}
	return conclude(criticalv2.CauseNoMatchingPods, subject(kindService, e.Service.Name), text, "")
}

// labelled is something that carries labels nearly as a Service selects them.
type labelled struct {
	// carrier is what carries them, as "Pods of Deployment x carry" or "Pod x carries".
	carrier string
	labels  map[string]string
	// difference is the label that differs.
	difference string
	// matches is how many labels of the selector it has.
	matches int
	// kind says how near the label that differs is; the least is the nearest.
	kind int
}

const (
	nearValue = iota
	otherKey
	otherValue
)

// nearest says what carries all labels of a selector but one, where it is plain
// that one means the other: its value is nearly the same, or it is under another
// key, or it is not the one that names the application.
func nearest(e *Evidence, workloads []workload) string {
	var candidates []labelled
	consider := func(c labelled) {
		if compare(e.Service.Spec.Selector, &c) {
			candidates = append(candidates, c)
		}
	}
	owners := map[string]bool{}
	for _, w := range workloads {
		owners[string(w.UID)] = true
		consider(labelled{carrier: fmt.Sprintf("Pods of %s carry", w), labels: w.template.Labels})
	}
	for i := range e.ReplicaSets { // Their Pods are those of their Deployments.
		owners[string(e.ReplicaSets[i].UID)] = true
	}
	for i := range e.OtherPods {
		pod := &e.OtherPods[i]
		if owner := metav1.GetControllerOf(pod); owner != nil && owners[string(owner.UID)] {
			continue
		}
		consider(labelled{carrier: fmt.Sprintf("Pod %q carries", pod.Name), labels: pod.Labels})
	}
	if len(candidates) == 0 {
		return ""
	}
	first := slices.MinFunc(candidates, func(a, b labelled) int {
		return cmp.Or(cmp.Compare(b.matches, a.matches), cmp.Compare(a.kind, b.kind), strings.Compare(a.carrier, b.carrier))
	})
	return first.carrier + " " + first.difference
}

// naming are the keys that usually name an application: another value there is another
// application.
var naming = []string{"app", "k8s-app", "name", "run", "app.kubernetes.io/name", "app.kubernetes.io/instance"}

// compare finds the one label by which a candidate differs from a selector, and reports
// whether it is near.
func compare(selector map[string]string, c *labelled) bool {
	var differing []string
	for key, value := range selector {
		if has, found := c.labels[key]; !found || has != value {
			differing = append(differing, key)
		}
	}
	if len(differing) != 1 {
		return false
	}
	key := differing[0]
	wanted, has := selector[key], c.labels[key]
	c.matches = len(selector) - 1
	c.difference = key + "=" + has
	if has != "" && nearly(wanted, has) {
		c.kind = nearValue
		return true
	}
	for _, other := range slices.Sorted(maps.Keys(c.labels)) {
		_, selected := selector[other]
		if c.labels[other] == wanted && !selected && slices.Contains(naming, key) && slices.Contains(naming, other) {
			c.kind, c.difference = otherKey, other+"="+wanted
			return true
		}
	}
	if _, found := c.labels[key]; !found {
		c.difference = "no label " + key
	}
	c.kind = otherValue
	return c.matches > 0 && !slices.Contains(naming, key)
}

// nearly reports whether one text is the other with one typing error: a character more,
// less or another one, two that are swapped, or another case.
func nearly(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	if a == b || len(b)-len(a) > 1 {
		return a == b
	}
	if len(a) < 3 {
		return false // Nearly everything is near what is short.
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	rest, other := a[i:], b[i:]
	switch {
	case len(rest) < len(other):
		return rest == other[1:]
	case rest[1:] == other[1:]:
		return true
	default:
		return len(rest) > 1 && rest[0] == other[1] && rest[1] == other[0] && rest[2:] == other[2:]
	}
}
