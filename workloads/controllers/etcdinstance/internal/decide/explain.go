package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/controller/recheck"
	"github.com/critical-service/operator/internal/kubelet"
	"github.com/critical-service/operator/internal/text/quote"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
)

// quorumPatience is how long a cluster may be without a quorum before a person has to act: its
// Pods may be starting again.
const quorumPatience = time.Minute

// electionPatience is how long the members may take to elect a leader, before the quorum counts as lost.
const electionPatience = 10 * time.Second

// describe says what there is.
func (d *decision) describe() {
	d.status.Selector = labels.SelectorFromSet(render.Selector(d.Instance)).String()
	d.status.Replicas, d.status.ReadyReplicas = int32(len(d.entries)), 0 //nolint:gosec // At most nine.
	d.status.Version = d.lowestVersion()
	if !d.hasQuorum() {
		for i := range d.status.Members {
			d.status.Members[i].Healthy, d.status.Members[i].Leader = false, false
		}
		return
	}
	d.status.Members = nil
	for i := range d.Cluster.Members {
		member := &d.Cluster.Members[i]
		answer := d.Cluster.Answers[member.Name]
		said := workloadsv1alpha1.ETCDMember{Name: member.Name, ID: member.ID, Healthy: d.isHealthy(member), Learner: member.Learner, Leader: member.ID == d.leader()}
		if said.Healthy {
			said.Version = answer.Version
			d.status.ClusterID = answer.ClusterID
		}
		if said.Healthy && !said.Learner {
			d.status.ReadyReplicas++
		}
		d.status.Members = append(d.status.Members, said)
	}
	slices.SortFunc(d.status.Members, func(a, b workloadsv1alpha1.ETCDMember) int { return cmp.Compare(a.Name, b.Name) })
	d.status.DBSizeBytes, d.status.Revision = 0, 0
	for _, answer := range d.Cluster.Answers {
		d.status.DBSizeBytes = max(d.status.DBSizeBytes, answer.SizeBytes)
		d.status.Revision = max(d.status.Revision, answer.Revision)
	}
}

// explainQuorum says whether the cluster takes writes.
func (d *decision) explainQuorum() {
	switch {
	case d.hasQuorum():
		d.conditions().Set(workloadsv1alpha1.ConditionQuorum, true, workloadsv1alpha1.ReasonQuorumHeld, "Enough members answer that the cluster takes writes.")
	case d.status.ClusterID == "":
		d.conditions().Set(workloadsv1alpha1.ConditionQuorum, false, workloadsv1alpha1.ReasonQuorumPending, "The first member is not up yet.")
	case d.mayElect():
		d.conditions().Set(workloadsv1alpha1.ConditionQuorum, false, workloadsv1alpha1.ReasonQuorumPending, noLeader)
	default:
		d.conditions().Set(workloadsv1alpha1.ConditionQuorum, false, workloadsv1alpha1.ReasonQuorumLost,
			"The members that answer are no quorum. The operator changes no members, and deletes nothing.")
	}
}

// noLeader says that a leader went, as in each replacement of its Pod.
const noLeader = "No leader answers: the members elect another one."

// mayElect reports whether those that answer may have a leader in a moment.
func (d *decision) mayElect() bool {
	return !d.isBeyondReturn() && !d.hasReason(workloadsv1alpha1.ReasonQuorumLost) &&
		d.Ages.Of(workloadsv1alpha1.ConditionQuorum, workloadsv1alpha1.ReasonQuorumPending, d.Now) < electionPatience
}

// hasReason reports whether the condition Quorum has a reason.
func (d *decision) hasReason(reason string) bool {
	quorum := meta.FindStatusCondition(d.status.Conditions, workloadsv1alpha1.ConditionQuorum)
	return quorum != nil && quorum.Reason == reason
}

// retryChange is when to send again what etcd did not take.
const retryChange = 2 * time.Second

// rule says how an ETCDInstance stands where it applies.
type rule struct {
	when    func(*decision) bool
	state   workloadsv1alpha1.ETCDInstanceState
	reason  func(*decision) string
	message func(*decision) string
	// ready: the cluster answers, and is as its spec says.
	ready bool
	// moves: something is under way, so that the next look comes soon.
	moves bool
}

func is(reason string) func(*decision) string { return func(*decision) string { return reason } }

// rules are in order: the first that applies is what Ready says. The last one always does.
var rules = []rule{
	{
		when:  func(d *decision) bool { return d.isDeleted() && (!d.hasQuorum() || d.hasBackupFailed()) },
		state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1alpha1.ReasonBackupFailed), message: whyItStays,
	},
	{
		when: (*decision).isDeleted, state: workloadsv1alpha1.ETCDDeploying, reason: is(workloadsv1alpha1.ReasonBackingUp), message: whyItStays, moves: true,
	},
	{
		when: func(d *decision) bool { return d.invalid != "" }, state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1.ReasonCreateDenied),
		message: func(d *decision) string { return "The spec is not valid: " + d.invalid + "." },
	},
	{
		when: func(d *decision) bool { return d.conflict != "" }, state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1.ReasonNameTaken),
		message: func(d *decision) string { return d.conflict },
	},
	{
		when: func(d *decision) bool { return d.earlier != "" }, state: workloadsv1alpha1.ETCDDeploying, reason: is(workloadsv1.ReasonReplacing),
		message: func(d *decision) string { return d.earlier }, moves: true,
	},
	{
		when: func(d *decision) bool { return d.certificateProblem != "" }, state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1.ReasonSecretInvalid),
		message: func(d *decision) string { return d.certificateProblem },
	},
	{
		when: (*decision).isForgotten, state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1.ReasonCreateDenied),
		message: func(d *decision) string {
			return fmt.Sprintf("ConfigMap %q and StatefulSet %q are gone, and with them which member has which data. Nothing is deleted, and nothing is begun: "+
				"restore one of them, or create another ETCDInstance from a backup.", d.Instance.ConfigName(), d.Instance.Name)
		},
	},
	{
		when: func(d *decision) bool { return d.Refusal != nil }, state: workloadsv1alpha1.ETCDFailed,
		reason:  func(d *decision) string { return d.Refusal.Reason },
		message: func(d *decision) string { return d.Refusal.Message },
	},
	{
		when: (*decision).hasLostRestored, state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1alpha1.ReasonRestoreFailed),
		message: func(d *decision) string {
			return fmt.Sprintf("Claim %q is gone, and the restored data with it, so that no cluster is begun: create another ETCDInstance.", d.Instance.ClaimName(0))
		},
	},
	{
		when: (*decision).hasRestoreFailed, state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1alpha1.ReasonRestoreFailed), message: whatRestores, moves: true,
	},
	{
		when: (*decision).restores, state: workloadsv1alpha1.ETCDDeploying, reason: is(workloadsv1.ReasonStarting), message: whatRestores, moves: true,
	},
	{
		when:  func(d *decision) bool { return !d.hasQuorum() && d.status.ClusterID != "" && d.isBeyondReturn() },
		state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1alpha1.ReasonQuorumLost),
		message: func(d *decision) string {
			return fmt.Sprintf("The cluster has lost its quorum for good: of its %d members, %s have lost their data. The operator deletes nothing. "+
				"Create another ETCDInstance from a backup; a member that is left has the data in its volume.", len(d.entries), strings.Join(d.lost, ", "))
		},
	},
	{
		when: func(d *decision) bool {
			return d.status.ClusterID != "" && d.hasReason(workloadsv1alpha1.ReasonQuorumPending)
		},
		state: workloadsv1alpha1.ETCDDeploying, reason: is(workloadsv1alpha1.ReasonQuorumPending), message: func(*decision) string { return noLeader }, moves: true,
	},
	{
		when: func(d *decision) bool {
			return !d.hasQuorum() && d.status.ClusterID != "" && d.quorumLostFor() >= quorumPatience
		},
		state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1alpha1.ReasonQuorumLost), message: howToGetTheQuorumBack,
	},
	{
		when:  func(d *decision) bool { return !d.hasQuorum() && d.status.ClusterID != "" },
		state: workloadsv1alpha1.ETCDDeploying, reason: is(workloadsv1alpha1.ReasonQuorumLost), message: howToGetTheQuorumBack, moves: true,
	},
	{
		when:  func(d *decision) bool { return !d.hasQuorum() && d.problem() != nil },
		state: workloadsv1alpha1.ETCDFailed, reason: func(d *decision) string { return d.problem().reason },
		message: func(d *decision) string { return d.problem().message },
	},
	{
		when: func(d *decision) bool { return !d.hasQuorum() }, state: workloadsv1alpha1.ETCDDeploying, reason: is(workloadsv1.ReasonStarting),
		message: func(*decision) string { return "The first member is starting." }, moves: true,
	},
	{
		when:  func(d *decision) bool { return len(d.Cluster.Alarms) > 0 },
		state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1alpha1.ReasonAlarm), message: whatToDoAboutTheAlarm,
	},
	{
		when: func(d *decision) bool { return d.upgradeProblem != "" }, state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1alpha1.ReasonUpgradeRefused),
		message: func(d *decision) string { return d.upgradeProblem },
	},
	{
		when: func(d *decision) bool { return d.hollow != "" }, state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1alpha1.ReasonMemberFailing),
		message: func(d *decision) string { return d.hollow },
	},
	{
		// A member that lost its data ends again and again until it is replaced.
		when: func(d *decision) bool {
			return d.doing != "" && d.problem() != nil && d.problem().reason != workloadsv1.ReasonPodFailing
		},
		state: workloadsv1alpha1.ETCDFailed, reason: func(d *decision) string { return d.problem().reason },
		message: func(d *decision) string { return d.doing + " " + d.problem().message }, moves: true,
	},
	{
		when: func(d *decision) bool {
			return d.doing != "" && d.doingReason == workloadsv1alpha1.ReasonUpgradeRefused
		},
		state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1alpha1.ReasonUpgradeRefused), message: func(d *decision) string { return d.doing },
	},
	{
		when: func(d *decision) bool { return d.doing != "" }, state: workloadsv1alpha1.ETCDDeploying,
		reason:  func(d *decision) string { return d.doingReason },
		message: func(d *decision) string { return d.doing }, moves: true,
	},
	{
		when: func(d *decision) bool { return len(d.lost)+len(d.failing) > 0 }, state: workloadsv1alpha1.ETCDFailed, reason: is(workloadsv1alpha1.ReasonMemberFailing),
		message: func(d *decision) string {
			message := fmt.Sprintf("The cluster answers without %s.", strings.Join(slices.Concat(d.lost, d.failing), ", "))
			if problem := d.problem(); problem != nil {
				message += " " + problem.message
			}
			return message
		}, moves: true,
	},
	{
		when: (*decision).isChanging, state: workloadsv1alpha1.ETCDDeploying, reason: is(workloadsv1alpha1.ReasonScaling),
		message: func(d *decision) string {
			return fmt.Sprintf("The cluster answers; %d of %d members vote.", d.status.ReadyReplicas, d.Instance.Spec.Replicas)
		}, moves: true,
	},
	{
		when: func(*decision) bool { return true }, state: workloadsv1alpha1.ETCDRunning, reason: is(workloadsv1.ReasonRunning), ready: true,
		message: whatRuns,
	},
}

// isForgotten reports whether it is not known any more which member has which data.
func (d *decision) isForgotten() bool { return len(d.entries) == 0 && d.status.ClusterID != "" }

// isBeyondReturn reports whether the members that have their data are too few for a quorum.
func (d *decision) isBeyondReturn() bool {
	return len(d.entries)-len(d.lost) < etcd.Quorum(len(d.entries))
}

func (d *decision) quorumLostFor() time.Duration {
	return d.Ages.Of(workloadsv1alpha1.ConditionQuorum, workloadsv1alpha1.ReasonQuorumLost, d.Now)
}

// isChanging reports whether what was noted just now asks for another look.
func (d *decision) isChanging() bool {
	return d.plan.Config != nil || d.plan.StatefulSet != nil || d.plan.Change != nil || d.plan.RemovePod != nil ||
		d.status.ReadyReplicas != d.Instance.Spec.Replicas || len(d.status.Members) != int(d.Instance.Spec.Replicas)
}

func howToGetTheQuorumBack(d *decision) string {
	message := fmt.Sprintf("The cluster has no quorum: of its %d members, %s do not answer. The operator changes no members, and deletes nothing: bring their Pods back, with their volumes.",
		len(d.entries), strings.Join(slices.Concat(d.lost, d.failing), ", "))
	if problem := d.problem(); problem != nil {
		message += " " + problem.message
	}
	return message + " If their data is gone, create another ETCDInstance from a backup."
}

func whatToDoAboutTheAlarm(d *decision) string {
	alarm := d.Cluster.Alarms[0]
	advice := "see the logs of the member, and create another ETCDInstance from a backup if its data cannot be trusted"
	if alarm.Kind == "NOSPACE" {
		advice = "compact and defragment the data, then `etcdctl alarm disarm`"
	}
	return fmt.Sprintf("etcd has raised the alarm %.32s on member %.63s, and refuses writes: %s. Until then the operator changes no members.", alarm.Kind, alarm.Member, advice)
}

func whatRuns(d *decision) string {
	leader := ""
	for i := range d.status.Members {
		if d.status.Members[i].Leader {
			leader = ", leader " + d.status.Members[i].Name
		}
	}
	message := fmt.Sprintf("%d of %d members are healthy%s.", d.status.ReadyReplicas, d.Instance.Spec.Replicas, leader)
	if replicas := d.Instance.Spec.Replicas; replicas%2 == 0 {
		message += fmt.Sprintf(" %d members survive no more failures than %d: an odd number is better.", replicas, replicas-1)
	}
	return message
}

// explain says how the ETCDInstance stands. It is the only writer of Ready, state and message.
func (d *decision) explain() {
	d.explainQuorum()
	switch {
	case d.plan.Change == nil:
	case d.Untaken != "":
		d.doing += fmt.Sprintf(" etcd has not taken this yet: %s.", strings.TrimSuffix(d.Untaken, "."))
		d.recheckIn(retryChange)
	default:
		// What follows from it can be done at once, and no watch reports it.
		d.recheckIn(steps.Shortest)
	}
	for i := range rules {
		rule := &rules[i]
		if !rule.when(d) {
			continue
		}
		message := condition.Message(rule.message(d))
		d.status.State, d.status.Message = rule.state, message
		d.conditions().Set(workloadsv1.ConditionReady, rule.ready, rule.reason(d), message)
		if rule.moves {
			d.lookAgain(steps)
		} else {
			d.lookAgain(recheck.Unwatched)
		}
		return
	}
}

// problem is why a Pod of a member does not run, so far as the kubelet or the scheduler says.
type problem struct{ reason, message string }

// problem is the first of the Pods'; nil if all start in good order.
func (d *decision) problem() *problem {
	for i := range d.entries {
		if pod := d.Pods[d.entries[i].Name]; pod != nil && !d.answers(&d.entries[i]) {
			if found := problemOf(pod); found != nil {
				return found
			}
		}
	}
	return nil
}

func problemOf(pod *corev1.Pod) *problem {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return &problem{workloadsv1.ReasonUnschedulable, fmt.Sprintf("No node takes Pod %q (%s): change spec.pod, make room, or see whether its claim has a volume.", pod.Name, c.Message)}
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		if found := imageProblem(pod, &pod.Status.InitContainerStatuses[i]); found != nil {
			return found
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.Ready {
			continue
		}
		if found := imageProblem(pod, status); found != nil {
			return found
		}
		if ended := status.LastTerminationState.Terminated; ended != nil && status.State.Running == nil {
			return &problem{workloadsv1.ReasonPodFailing, fmt.Sprintf("etcd in Pod %q ended with exit code %d: `kubectl logs %s -c %s --previous` says more.",
				pod.Name, ended.ExitCode, pod.Name, etcd.Container)}
		}
	}
	return nil
}

func imageProblem(pod *corev1.Pod, status *corev1.ContainerStatus) *problem {
	waiting := status.State.Waiting
	if waiting == nil {
		return nil
	}
	if found := kubelet.Waiting(&corev1.Container{}, waiting); found == nil || found.Kind != kubelet.Image {
		return nil
	}
	return &problem{workloadsv1.ReasonImagePullFailing, fmt.Sprintf("The image of Pod %q cannot be pulled (%s): correct spec.image, or name the registry's Secret in spec.pod.imagePullSecrets.",
		pod.Name, quote.ImagePull(waiting.Message, "`kubectl describe pod "+pod.Name+"` has the answer of the registry"))}
}
