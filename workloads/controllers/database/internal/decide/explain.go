package decide

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/kubelet"
	"github.com/critical-service/operator/internal/text"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
)

// rule says how a Database stands where it applies.
type rule struct {
	when    func(*decision) bool
	reason  string
	message func(*decision) string
	// answers: the Database is ready.
	answers bool
	// unwatched: no watch reports when the rule ceases to apply.
	unwatched bool
	// running adds, where the Pod answers, that it goes on.
	running bool
}

// rules are in order: the first that applies is what Ready says. The last one always does.
var rules = []rule{
	{
		when: func(d *decision) bool { return d.invalid != "" }, reason: workloadsv1.ReasonCreateDenied,
		message: func(d *decision) string { return "The spec is not valid: " + d.invalid + "." }, running: true,
	},
	{
		when: func(d *decision) bool { return d.conflict != "" }, reason: workloadsv1.ReasonNameTaken,
		message: func(d *decision) string { return d.conflict }, unwatched: true, running: true,
	},
	{
		when:   func(d *decision) bool { return d.losesData() && (d.earlier == "" || d.ours() != nil) },
		reason: workloadsv1.ReasonStorageTerminating, message: howToSaveTheData, running: true,
	},
	{
		when: func(d *decision) bool { return d.earlier != "" }, reason: workloadsv1.ReasonReplacing,
		message: func(d *decision) string { return d.earlier }, unwatched: true,
	},
	{
		when: func(d *decision) bool { return d.secretProblem != "" }, reason: workloadsv1.ReasonSecretInvalid,
		message: func(d *decision) string { return d.secretProblem }, unwatched: true, running: true,
	},
	{
		when:   func(d *decision) bool { return d.Refusal != nil && d.Refusal.Reason == workloadsv1.ReasonCreateDenied },
		reason: workloadsv1.ReasonCreateDenied, message: refusal, unwatched: true, running: true,
	},
	{
		when: func(d *decision) bool { return d.ours() == nil && d.Database.Spec.Suspend }, reason: workloadsv1.ReasonSuspended,
		message: says("The Database is suspended: set spec.suspend to false to run it."),
	},
	{
		when: func(d *decision) bool { return d.ours() == nil }, reason: workloadsv1.ReasonStarting,
		message: func(d *decision) string { return fmt.Sprintf("Pod %q is being made.", d.Database.Name) },
	},
	{
		when: func(d *decision) bool { return d.isStuck() && len(d.Pod.Finalizers) > 0 }, reason: workloadsv1.ReasonReplacing,
		message: func(d *decision) string {
			return fmt.Sprintf("Pod %q cannot be deleted because of its finalizers %s: let their owner finish, or remove them.",
				d.Pod.Name, strings.Join(d.Pod.Finalizers, ", "))
		},
	},
	{
		when: (*decision).isStuck, reason: workloadsv1.ReasonNodeLost,
		message: func(d *decision) string {
			return fmt.Sprintf("Pod %q should have ended, and node %q does not answer. It may still write to its volume, so that it is not forced. "+
				"Repair the node; or, once it is certainly off, `kubectl taint nodes %s node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`.",
				d.Pod.Name, d.Pod.Spec.NodeName, d.Pod.Spec.NodeName)
		},
	},
	{
		when: func(d *decision) bool { return d.Pod.DeletionTimestamp != nil }, reason: workloadsv1.ReasonReplacing,
		message: func(d *decision) string { return fmt.Sprintf("Pod %q is ending.", d.Pod.Name) },
	},
	{
		when: func(d *decision) bool { return d.plan.RemovePod != nil || hasEnded(d.Pod) }, reason: workloadsv1.ReasonReplacing,
		message: func(d *decision) string {
			return fmt.Sprintf("Pod %q is being replaced or taken away.", d.Pod.Name)
		},
	},
	{
		when: func(d *decision) bool { return d.AwaitsAnswer() }, reason: workloadsv1.ReasonStarting,
		message: func(d *decision) string {
			return fmt.Sprintf("Service %q waits for its ServiceFallback, which the API server fails to read or write: see the condition Protected.", d.Database.Name)
		},
	},
	{
		when:   func(d *decision) bool { return d.Refusal != nil && d.answers() },
		reason: workloadsv1.ReasonStorageDenied, message: refusal, unwatched: true, answers: true,
	},
	{
		when: (*decision).answers, reason: workloadsv1.ReasonRunning, answers: true,
		message: func(d *decision) string {
			return fmt.Sprintf("The database answers at %s.", render.Address(d.Database))
		},
	},
	// From here on, of a Pod that is tried out as well: the one that runs goes on.
	{
		when: func(d *decision) bool {
			return unscheduled(d.newest()) != "" && render.HasVolume(d.newest()) && d.Claim != nil && d.Claim.Status.Phase != corev1.ClaimBound
		},
		reason: workloadsv1.ReasonStoragePending,
		message: func(d *decision) string {
			return fmt.Sprintf("PersistentVolumeClaim %q has no volume yet (%s). If it stays so, `kubectl describe pvc %s` says why: "+
				"the cluster may have no default StorageClass, and then spec.storage.storageClassName of a new Database must name one.",
				d.Claim.Name, unscheduled(d.newest()), d.Claim.Name)
		},
	},
	{
		when: func(d *decision) bool { return unscheduled(d.newest()) != "" }, reason: workloadsv1.ReasonUnschedulable,
		message: func(d *decision) string {
			return fmt.Sprintf("No node takes Pod %q (%s): change spec.pod, or make room.", d.newest().Name, unscheduled(d.newest()))
		}, running: true,
	},
	{
		when: func(d *decision) bool { return d.imageProblem(d.newest()) != "" }, reason: workloadsv1.ReasonImagePullFailing,
		message: func(d *decision) string {
			verb, origin := d.adviseOnImage()
			return fmt.Sprintf("Image %q cannot be pulled (%s): %s spec.image, or name the registry's Secret in spec.pod.imagePullSecrets.%s",
				render.ImageOf(d.Database, d.newest()), d.imageProblem(d.newest()), verb, origin)
		}, running: true,
	},
	{
		when: func(d *decision) bool { return d.trial != nil && d.failureOf(d.trial) != nil }, reason: workloadsv1.ReasonPodFailing,
		message: failureOfTrial, running: true,
	},
	{
		when: func(d *decision) bool { return d.trial != nil }, reason: workloadsv1.ReasonReplacing,
		message: func(d *decision) string {
			return fmt.Sprintf("Pod %q tries out what the spec says now, before Pod %q is replaced.", d.trial.Name, d.Pod.Name)
		}, running: true,
	},
	{
		when: func(d *decision) bool { return d.failureOf(d.Pod) != nil }, reason: workloadsv1.ReasonPodFailing,
		message: func(d *decision) string {
			failure := d.failureOf(d.Pod)
			return fmt.Sprintf("%s: %s.", failure.says, d.remedy(failure))
		},
	},
	{
		when: always, reason: workloadsv1.ReasonStarting,
		message: func(d *decision) string { return fmt.Sprintf("Pod %q is starting.", d.Pod.Name) },
	},
}

// answers reports whether the database answers, and is as the spec says.
func (d *decision) answers() bool { return isReady(d.Pod) && d.trial == nil }

// failureOfTrial says why a trial does not end well.
func failureOfTrial(d *decision) string {
	failure := d.failureOf(d.trial)
	if failure.kind == kubelet.Memory {
		return fmt.Sprintf("Pod %q, which tries out what the spec says now, fails. %s: %s.", d.trial.Name, failure.says, d.remedy(failure))
	}
	verb, origin := d.adviseOnImage()
	return fmt.Sprintf("Image %q does not print the version of the engine in Pod %q. %s: %s says more; %s spec.image.%s",
		render.ImageOf(d.Database, d.trial), d.trial.Name, failure.says, failure.command, verb, origin)
}

// adviseOnImage says what to do with spec.image and, where it is empty, where the image comes
// from.
func (d *decision) adviseOnImage() (verb, origin string) {
	switch {
	case d.Database.Spec.Image != "":
		return "correct", ""
	case d.had() != "":
		return "set", " It is empty, so that the image is the one that last had the data."
	default:
		return "set", fmt.Sprintf(" It is empty, so that the image is the operator's setting DATABASE_IMAGE_%s.", strings.ToUpper(string(d.Database.Spec.Type)))
	}
}

// howToSaveTheData says what can be done while a claim is being deleted, which nothing stops.
func howToSaveTheData(d *decision) string {
	claim, keep := d.Claim, ""
	if claim.Spec.VolumeName != "" {
		keep = fmt.Sprintf("To keep the volume, `kubectl patch pv %s -p '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}'`. ", claim.Spec.VolumeName)
	}
	if pod := d.ours(); pod != nil {
		return fmt.Sprintf("PersistentVolumeClaim %q is being deleted, and its data goes once Pod %q does, which is therefore left alone. %s"+
			"To keep the data only, copy it to another Database. Then delete the Pod: the next one begins without data.", claim.Name, pod.Name, keep)
	}
	return fmt.Sprintf("PersistentVolumeClaim %q is being deleted, with its data. %sOnce it is gone, a Pod is made that begins without data; "+
		"`kubectl describe pvc %s` says what it waits for.", claim.Name, keep, claim.Name)
}

func always(*decision) bool { return true }

func refusal(d *decision) string { return d.Refusal.Message }

func says(message string) func(*decision) string { return func(*decision) string { return message } }

// isStuck reports whether a Pod should have ended.
func (d *decision) isStuck() bool {
	return d.Pod.DeletionTimestamp != nil && overdueIn(d.Pod, d.Now) <= 0 && d.plan.RemovePod == nil
}

// explain says how the Database stands. It is the only writer of Ready.
func (d *decision) explain() {
	for i := range rules {
		rule := &rules[i]
		if !rule.when(d) {
			continue
		}
		message := rule.message(d)
		if rule.running {
			message = d.whatRuns(message)
		}
		d.conditions().Set(workloadsv1.ConditionReady, rule.answers, rule.reason, condition.Message(message))
		if rule.unwatched || d.Refusal != nil {
			d.lookAgain(workloadsv1.ConditionReady)
		}
		return
	}
}

// whatRuns adds to a problem that takes nothing away what becomes of the Pod that is there.
func (d *decision) whatRuns(message string) string {
	const goesOn = " Until then, the database answers as it did."
	more, pod := "", d.ours()
	switch {
	case pod == nil || pod.DeletionTimestamp != nil:
	case isReady(pod):
		more = goesOn
	case d.trial != nil:
		more = fmt.Sprintf(" Pod %q, which does not answer, is kept until then: to have it replaced untried, delete it.", pod.Name)
	}
	return text.Shorten(message, condition.MaxMessage-len(more)) + more
}
