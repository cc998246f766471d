package decide

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// problem is what blocks something, and what to do.
type problem struct{ reason, message string }

// mostNames is how many workloads a message names.
const mostNames = 3

func taken(name, effect string) problem {
	return problem{workloadsv2.ReasonNameTaken, fmt.Sprintf(
		"ConfigMap %q is not as the operator would make it of this AppConfig, and is left as it is: %s, or the AppConfig has another name.", name, effect)}
}

func conflicts(workloads []Workload, wanted string) problem {
	var names []string
	for _, workload := range workloads[:min(len(workloads), mostNames)] {
		names = append(names, fmt.Sprintf("%s %s (container %s, set by %s)", workload.Kind, workload.Name, workload.Container, workload.Manager))
	}
	more := ""
	if len(workloads) > mostNames {
		more = fmt.Sprintf(" and %d more", len(workloads)-mostNames)
	}
	return problem{workloadsv2.ReasonFieldConflict, fmt.Sprintf(
		"The envFrom of these workloads is not the operator's: %s%s. Remove envFrom there, and the operator sets it to ConfigMap %q; or take the label %s off.",
		strings.Join(names, ", "), more, wanted, workloadsv2.LabelAppConfig)}
}

// retries is when to retry what was refused: no watch reports that a name is free, or a quota
// raised.
var retries = recheck.Bounds{Shortest: time.Second, Longest: 10 * time.Minute}

// strayVersion says of an annotation that v1 has for the version, and the spec does not, that it
// has no effect: no schema refuses it. The cache keeps only that it is there.
func (d *decision) strayVersion() string {
	if _, has := d.AppConfig.Annotations[workloadsv2.AnnotationVersion]; !has {
		return ""
	}
	return fmt.Sprintf(" The annotation %s has no effect: in v1 a version has 1 to 63 characters; in v2 set spec.configuration.version and remove the annotation.",
		workloadsv2.AnnotationVersion)
}

// conclude says in the conditions what comes of it.
func (d *decision) conclude() {
	conditions := condition.List{
		Conditions: &d.plan.Status.Conditions, Generation: d.AppConfig.Generation, Now: metav1.NewTime(d.Now),
	}
	if d.Denied != "" {
		d.problems = append([]problem{{workloadsv2.ReasonWriteDenied,
			fmt.Sprintf("The API server refuses a write, which is retried; workloads keep what they have: %s", d.Denied)}}, d.problems...)
	}
	if len(d.problems) == 0 {
		conditions.Set(workloadsv2.ConditionReady, true, workloadsv2.ReasonUpToDate, fmt.Sprintf("ConfigMap %q has the settings, and %s.%s", d.wanted, d.users(), d.strayVersion()))
		conditions.Remove(workloadsv2.ConditionStalled)
		return
	}
	first := d.problems[0]
	conditions.Set(workloadsv2.ConditionReady, false, first.reason, first.message)
	if first.reason == workloadsv2.ReasonWriteDenied {
		conditions.Remove(workloadsv2.ConditionStalled)
	} else {
		conditions.Set(workloadsv2.ConditionStalled, true, first.reason, first.message)
	}
	if first.reason != workloadsv2.ReasonFieldConflict { // A watch reports when that ends.
		d.recheckAfter(retries.After(d.Ages.Of(workloadsv2.ConditionReady, first.reason, d.Now), d.AppConfig.UID))
	}
}
