package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/text"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/render"
	"github.com/critical-service/operator/workloads/internal/metering"
)

// rule says how a WebApp stands where it applies.
type rule struct {
	when    func(*decision) bool
	reason  string
	message func(*decision) string
	// answers: it is as the spec says.
	answers bool
	// unwatched: no watch reports when the rule ceases to apply.
	unwatched bool
}

// rules are in order: the first that applies is what Ready says. The last one always does.
var rules = []rule{
	{
		when: func(d *decision) bool { return d.invalid != "" }, reason: workloadsv1.ReasonCreateDenied,
		message: func(d *decision) string { return "The spec is not valid: " + d.invalid + "." },
	},
	{
		when: func(d *decision) bool { return d.conflict != "" }, reason: workloadsv1.ReasonNameTaken,
		message: func(d *decision) string { return d.conflict }, unwatched: true,
	},
	{
		when: func(d *decision) bool { return d.earlier != "" }, reason: workloadsv1.ReasonReplacing,
		message: func(d *decision) string { return d.earlier }, unwatched: true,
	},
	{
		when: (*decision).lacksConfig, reason: workloadsv1.ReasonConfigMissing,
		message: func(d *decision) string {
			return fmt.Sprintf("AppConfig %q does not exist, or has no ConfigMap yet: create it, or change spec.configName.", d.WebApp.Spec.ConfigName)
		}, unwatched: true,
	},
	databaseRule(workloadsv1.ReasonNameTaken),
	databaseRule(workloadsv1.ReasonDatabaseTypeUnknown),
	databaseRule(workloadsv1.ReasonDatabaseTypeChanged),
	{
		when: (*decision).lacksMeter, reason: workloadsv1.ReasonCreateDenied,
		message: func(*decision) string {
			return "The operator does not know its own image, which has the meter: set its WORKLOADS_IMAGE, or spec.trafficSource to the application's own counter."
		},
	},
	{
		when: func(d *decision) bool { return d.refused(OfApplication) != "" }, reason: workloadsv1.ReasonCreateDenied,
		message: func(d *decision) string { return d.refused(OfApplication) }, unwatched: true,
	},
	{
		when: func(d *decision) bool { return d.Deployment == nil }, reason: workloadsv1.ReasonStarting,
		message: func(d *decision) string { return fmt.Sprintf("Deployment %q is being made.", d.WebApp.Name) },
	},
	{
		when: func(d *decision) bool { return d.podsRefused() != "" }, reason: workloadsv1.ReasonCreateDenied,
		message: func(d *decision) string {
			return fmt.Sprintf("The API server refuses Pods of Deployment %q: %s", d.WebApp.Name, d.podsRefused())
		},
	},
	{
		when:   func(d *decision) bool { return d.problem().reason == workloadsv1.ReasonImagePullFailing },
		reason: workloadsv1.ReasonImagePullFailing, message: func(d *decision) string { return d.problem().message },
	},
	{
		when:   func(d *decision) bool { return d.problem().reason == workloadsv1.ReasonUnschedulable },
		reason: workloadsv1.ReasonUnschedulable, message: func(d *decision) string { return d.problem().message },
	},
	{
		when:   func(d *decision) bool { return d.problem().reason == workloadsv1.ReasonPodFailing },
		reason: workloadsv1.ReasonPodFailing, message: func(d *decision) string { return d.problem().message },
	},
	{
		when: func(d *decision) bool { return d.desired == 0 && d.settled() }, reason: workloadsv1.ReasonSuspended,
		message: func(*decision) string { return "The application has no Pods, because spec.replicas is 0." },
	},
	{
		when: func(d *decision) bool { return !d.settled() && d.Deployment.Status.ReadyReplicas > 0 }, reason: workloadsv1.ReasonReplacing,
		message: func(d *decision) string {
			return fmt.Sprintf("Deployment %q is rolling out what the spec says now.", d.WebApp.Name)
		},
	},
	{
		when: (*decision).settled, reason: workloadsv1.ReasonRunning, answers: true,
		message: func(d *decision) string {
			return fmt.Sprintf("The application answers at %s.%s.svc:80.", d.WebApp.Name, d.WebApp.Namespace)
		},
	},
	{
		when: func(*decision) bool { return true }, reason: workloadsv1.ReasonStarting,
		message: func(d *decision) string { return fmt.Sprintf("The Pods of Deployment %q are starting.", d.WebApp.Name) },
	},
}

// databaseRule says that the application stays as it is, for a reason of its database.
func databaseRule(reason string) rule {
	return rule{
		when:    func(d *decision) bool { return d.lacksDatabase().reason == reason },
		reason:  reason,
		message: func(d *decision) string { return d.databaseProblem().message }, unwatched: reason == workloadsv1.ReasonNameTaken,
	}
}

// settled reports whether all Pods are those of the spec of now. Of how many there are to be, one
// that is ready answers.
func (d *decision) settled() bool {
	status := &d.Deployment.Status
	return d.plan.Deployment == nil && status.ObservedGeneration >= d.Deployment.Generation &&
		status.UpdatedReplicas == status.Replicas && (status.ReadyReplicas > 0 || d.desired == 0 && status.Replicas == 0)
}

// podsRefused is why the Deployment gets no more Pods, such as a quota; empty if it does.
func (d *decision) podsRefused() string {
	for _, c := range d.Deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

func (d *decision) refused(subject Subject) string { return d.Refusals[subject].Message }

// explain says how the WebApp stands. It is the only writer of the conditions.
func (d *decision) explain() {
	for i := range rules {
		if rule := &rules[i]; rule.when(d) {
			message := rule.message(d)
			if !rule.answers && rule.reason != workloadsv1.ReasonStarting && d.status.ReadyReplicas > 0 {
				message = text.Shorten(message, condition.MaxMessage-60) + " Until then, the application answers as it did."
			}
			d.set(workloadsv1.ConditionReady, rule.answers, rule.reason, message, rule.unwatched || len(d.Refusals) > 0)
			break
		}
	}
	protection := d.Fallback.Protected(render.Service(d.WebApp), d.wantedFallback(), render.Owner(d.WebApp))
	d.set(workloadsv1.ConditionProtected, protection.Is, protection.Reason, protection.Message, protection.Reason == workloadsv1.ReasonNameTaken ||
		protection.Reason == workloadsv1.ReasonCreateDenied)
	d.explainDatabase()
	d.explainScaling()
}

func (d *decision) set(conditionType string, is bool, reason, message string, unwatched bool) {
	d.conditions().Set(conditionType, is, reason, condition.Message(message))
	if unwatched {
		d.lookAgain(conditionType)
	}
}

func (d *decision) explainDatabase() {
	set := func(is bool, reason, message string, unwatched bool) {
		d.set(workloadsv1.ConditionDatabaseReady, is, reason, message, unwatched)
	}
	name, ready, problem := d.WebApp.DatabaseName(), d.databaseReady(), d.databaseProblem()
	switch {
	case d.WebApp.Spec.DBImage == "":
		set(true, workloadsv1.ReasonNoDatabase, "The application has no database, because spec.dbImage is absent.", false)
	case problem.reason != "":
		set(false, problem.reason, problem.message, problem.reason == workloadsv1.ReasonNameTaken)
	case d.refused(OfDatabase) != "":
		set(false, workloadsv1.ReasonCreateDenied, d.refused(OfDatabase), true)
	case ready == nil:
		set(false, workloadsv1.ReasonDatabasePending, fmt.Sprintf("Database %q says nothing of itself yet.", name), false)
	default:
		set(ready.Status == metav1.ConditionTrue, ready.Reason, ready.Message, false)
	}
}

func (d *decision) explainScaling() {
	switch {
	case d.handsOff():
		says := "decides how many Pods there are: delete it, or let it target the WebApp, so that it sets spec.replicas"
		switch {
		case d.Autoscaler.OfDeployment && d.WebApp.Spec.AutoScaleEnabled:
			says = "decides how many Pods there are: delete it, or set spec.autoScaleEnabled to false"
		case d.WebApp.Spec.AutoScaleEnabled:
			says = "targets the WebApp, and the number of Pods stays while both are on: delete it, or set spec.autoScaleEnabled to false, and it decides"
		}
		d.set(workloadsv1.ConditionScalingActive, false, workloadsv1.ReasonAutoscalerPresent,
			fmt.Sprintf("HorizontalPodAutoscaler %q %s.", d.Autoscaler.Name, says), false)
	case !d.WebApp.Spec.AutoScaleEnabled:
		d.conditions().Remove(workloadsv1.ConditionScalingActive)
	case d.refused(OfScale) != "":
		d.set(workloadsv1.ConditionScalingActive, false, workloadsv1.ReasonScaleDenied, d.refused(OfScale), true)
	case !d.known:
		metric := "of the meter"
		if source := d.WebApp.Spec.TrafficSource; source != nil {
			metric = fmt.Sprintf("%q on port %d", source.Metric, source.Port)
		}
		d.set(workloadsv1.ConditionScalingActive, false, workloadsv1.ReasonTrafficUnknown, fmt.Sprintf(
			"No Pod said in the last seconds how many requests it served (counter %s), so that there are as many Pods as before.", metric), false)
	default:
		bounds := d.bounds()
		d.set(workloadsv1.ConditionScalingActive, true, workloadsv1.ReasonTrafficKnown, fmt.Sprintf(
			"There are %d to %d Pods, one for each %d requests per second.", bounds.Min, bounds.Max, bounds.Threshold), false)
	}
}

// problem is why a Pod does not become ready.
type problem struct{ reason, message string }

// problem is that of the Pods which are not ready; empty if none has one. Of several it is the same
// one in whichever order the Pods are: a message that changes each time is written each time.
func (d *decision) problem() problem {
	var all []problem
	for _, pod := range d.Pods {
		if found := problemOf(pod); found.reason != "" && pod.DeletionTimestamp == nil {
			all = append(all, found)
		}
	}
	if len(all) == 0 {
		return problem{}
	}
	return slices.MinFunc(all, func(a, b problem) int {
		return cmp.Or(cmp.Compare(slices.Index(gravest, a.reason), slices.Index(gravest, b.reason)), strings.Compare(a.message, b.message))
	})
}

// gravest are the reasons of problems: of several, the first is said.
var gravest = []string{workloadsv1.ReasonImagePullFailing, workloadsv1.ReasonUnschedulable, workloadsv1.ReasonPodFailing}

func problemOf(pod *corev1.Pod) problem {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return problem{workloadsv1.ReasonUnschedulable, fmt.Sprintf("No node takes Pod %q (%s): change spec.pod, or make room.", pod.Name, c.Message)}
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		if status := &pod.Status.InitContainerStatuses[i]; status.Name == metering.ContainerName && pulls(status) {
			return problem{workloadsv1.ReasonImagePullFailing, fmt.Sprintf(
				"Image %q of the meter cannot be pulled: name the registry's Secret in spec.pod.imagePullSecrets, or set WORKLOADS_IMAGE of the operator.",
				imageOf(pod.Spec.InitContainers, status.Name))}
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		waiting := status.State.Waiting
		if waiting == nil || status.Name != render.AppContainer {
			continue
		}
		if pulls(status) {
			return problem{workloadsv1.ReasonImagePullFailing, fmt.Sprintf(
				"Image %q cannot be pulled (%s): correct spec.image, or name the registry's Secret in spec.pod.imagePullSecrets.",
				imageOf(pod.Spec.Containers, status.Name), waiting.Reason)}
		}
		switch waiting.Reason {
		case "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return problem{workloadsv1.ReasonPodFailing, fmt.Sprintf(
				"The application does not stay up in Pod %q (%s %s): `kubectl logs --previous %s` says more.", pod.Name, waiting.Reason, waiting.Message, pod.Name)}
		}
	}
	return problem{}
}

// pulls reports whether a container waits for an image that cannot be pulled.
func pulls(status *corev1.ContainerStatus) bool {
	return status.State.Waiting != nil &&
		slices.Contains([]string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName"}, status.State.Waiting.Reason)
}

func imageOf(containers []corev1.Container, name string) string {
	for i := range containers {
		if containers[i].Name == name {
			return containers[i].Image
		}
	}
	return ""
}
