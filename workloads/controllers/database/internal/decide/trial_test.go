package decide_test

import (
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
)

const nextImage = "mongo:7.0"

// outdated is a Database that runs, and is to run another image.
func outdated(changes ...func(*decide.Snapshot)) decide.Snapshot {
	return running(append([]func(*decide.Snapshot){func(s *decide.Snapshot) { s.Database.Spec.Image = nextImage }}, changes...)...)
}

// tried tries out what the spec says, with a state of the container.
func tried(state corev1.ContainerState) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		s.Trial = render.Trial(s.Database, nextImage, s.Pod)
		s.Trial.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
		inState(s.Trial, state)
	}
}

func inState(trial *corev1.Pod, state corev1.ContainerState) {
	trial.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: trial.Spec.Containers[0].Name, State: state}}
}

func passed() corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, Reason: "Completed"}}
}

func waits(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// noNode takes the trial.
func noNode(s *decide.Snapshot) {
	s.Trial.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
	}}
}

// starting is an engine that has not come up since its container began.
func starting(s *decide.Snapshot) {
	s.Pod.Status = corev1.PodStatus{Phase: corev1.PodRunning}
	inState(s.Pod, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	s.Pod.Status.ContainerStatuses[0].Started = new(false)
}

func all(changes ...func(*decide.Snapshot)) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		for _, change := range changes {
			change(s)
		}
	}
}

// What is done: one of these at most.
const (
	waited    = "it is waited"
	creates   = "a trial is made"
	discards  = "the trial is taken away"
	forces    = "the trial is forced away"
	replaces  = "the Pod is replaced"
	exchanges = "the Pod is replaced, and the trial taken away"
)

func done(plan *decide.Plan) string {
	switch {
	case plan.CreateTrial != nil:
		return creates
	case plan.RemoveTrial != nil && plan.RemovePod != nil:
		return exchanges
	case plan.RemoveTrial != nil && plan.RemoveTrial.Force:
		return forces
	case plan.RemoveTrial != nil:
		return discards
	case plan.RemovePod != nil:
		return replaces
	default:
		return waited
	}
}

func TestHowTheNextPodIsTriedOut(t *testing.T) {
	const goesOn = "Until then, the database answers as it did."
	for sentence, c := range map[string]struct {
		change func(*decide.Snapshot)
		does   string
		reason string
		says   []string
	}{
		"first, the next Pod is tried out": {
			func(*decide.Snapshot) {}, creates, workloadsv1.ReasonReplacing, []string{`Pod "orders-trial" tries out`, goesOn},
		},
		"a trial that has just been made": {
			tried(corev1.ContainerState{}), waited, workloadsv1.ReasonReplacing, []string{goesOn},
		},
		"a trial that passed": {
			tried(passed()), replaces, workloadsv1.ReasonReplacing, nil,
		},
		"a trial that passed, beside a container that others put there": {
			all(tried(passed()), func(s *decide.Snapshot) { s.Trial.Status.Phase = corev1.PodRunning }), replaces, workloadsv1.ReasonReplacing, nil,
		},
		"an image that cannot be pulled": {
			tried(waits("ErrImagePull", `failed to pull and unpack image "mongo:7.0": not found`)), waited, workloadsv1.ReasonImagePullFailing,
			[]string{`Image "mongo:7.0" cannot be pulled (not found): correct spec.image`, "spec.pod.imagePullSecrets", goesOn},
		},
		"an image that cannot be pulled, a moment later": {
			tried(waits("ImagePullBackOff", `Back-off pulling image "mongo:7.0": ErrImagePull: failed to pull and unpack image "mongo:7.0": not found`)),
			waited, workloadsv1.ReasonImagePullFailing, []string{`Image "mongo:7.0" cannot be pulled (not found): correct spec.image`, goesOn},
		},
		"an image of another engine": {
			all(tried(waits("CrashLoopBackOff", "")), func(s *decide.Snapshot) {
				s.Trial.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
					ExitCode: 128, Reason: "StartError", Message: `failed to create containerd task: OCI runtime create failed: exec: "mongod": executable file not found in $PATH`,
				}
			}),
			waited, workloadsv1.ReasonPodFailing, []string{`exec: "mongod": executable file not found`, "`kubectl describe pod orders-trial` says more; correct spec.image", goesOn},
		},
		"a limit that is too small to print a version": {
			all(tried(waits("CrashLoopBackOff", "")), func(s *decide.Snapshot) {
				s.Trial.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
			}),
			waited, workloadsv1.ReasonPodFailing, []string{`Pod "orders-trial", which tries out what the spec says now, fails`, "spec.pod.resources.limits.memory", goesOn},
		},
		"no node takes it": {
			all(tried(corev1.ContainerState{}), noNode), waited, workloadsv1.ReasonUnschedulable, []string{`No node takes Pod "orders-trial"`, "change spec.pod", goesOn},
		},
		"a trial that its node rejected is made again, a while later": {
			all(tried(corev1.ContainerState{}), func(s *decide.Snapshot) { s.Trial.Status = corev1.PodStatus{Phase: corev1.PodFailed} }),
			discards, workloadsv1.ReasonReplacing, []string{goesOn},
		},
		"a trial that its node has just rejected": {
			all(tried(corev1.ContainerState{}), func(s *decide.Snapshot) {
				s.Trial.Status, s.Trial.CreationTimestamp = corev1.PodStatus{Phase: corev1.PodFailed}, metav1.NewTime(now)
			}),
			waited, workloadsv1.ReasonReplacing, nil,
		},
		"a trial of another image": {
			all(tried(passed()), func(s *decide.Snapshot) { s.Database.Spec.Image = "mongo:8.0" }), discards, workloadsv1.ReasonReplacing, []string{goesOn},
		},
		"a trial of other nodes": {
			all(tried(passed()), func(s *decide.Snapshot) { s.Database.Spec.Pod.NodeSelector = map[string]string{"disk": "fast"} }),
			discards, workloadsv1.ReasonReplacing, nil,
		},
		"a trial that is ending": {
			all(tried(passed()), func(s *decide.Snapshot) { ending(s.Trial, -time.Second) }), waited, workloadsv1.ReasonReplacing, []string{goesOn},
		},
		"a trial on a lost node": {
			all(tried(passed()), func(s *decide.Snapshot) { ending(s.Trial, time.Hour) }), forces, workloadsv1.ReasonReplacing, nil,
		},
		"a spec that was put right": {
			all(tried(waits("ErrImagePull", "")), func(s *decide.Snapshot) { s.Database.Spec.Image = "" }), discards, workloadsv1.ReasonRunning, nil,
		},
		"a Database that is suspended meanwhile": {
			all(tried(waits("ErrImagePull", "")), func(s *decide.Snapshot) { s.Database.Spec.Suspend = true }), exchanges, workloadsv1.ReasonReplacing, nil,
		},
		"a Pod that ends meanwhile": {
			all(tried(passed()), func(s *decide.Snapshot) { ending(s.Pod, -time.Minute) }), discards, workloadsv1.ReasonReplacing, []string{"is ending"},
		},
		"a Pod that is gone meanwhile": {
			all(tried(passed()), func(s *decide.Snapshot) { s.Pod = nil }), discards, workloadsv1.ReasonStarting, nil,
		},
		"a Secret that is gone meanwhile": {
			all(tried(passed()), func(s *decide.Snapshot) { s.Secret = decide.Secret{} }), discards, workloadsv1.ReasonSecretInvalid, []string{goesOn},
		},
		"a Pod that never came up, and starts again and again, is replaced at once": {
			all(neverUp, waiting("CrashLoopBackOff")), replaces, workloadsv1.ReasonReplacing, nil,
		},
		"a Pod whose image cannot be pulled is replaced at once": {
			all(neverUp, waiting("ImagePullBackOff")), replaces, workloadsv1.ReasonReplacing, nil,
		},
		"a Pod that no node takes is replaced at once": {
			all(neverUp, notScheduled), replaces, workloadsv1.ReasonReplacing, nil,
		},
		"a Pod that has not come up yet is replaced at once": {
			all(neverUp, starting), replaces, workloadsv1.ReasonReplacing, nil,
		},
		"a Pod that is too busy to answer its probe is not": {
			all(neverUp, starting, func(s *decide.Snapshot) { s.Pod.Status.ContainerStatuses[0].Started = new(true) }),
			creates, workloadsv1.ReasonReplacing, nil,
		},
		"a Pod whose engine starts again is not": {
			starting, creates, workloadsv1.ReasonReplacing, []string{`Pod "orders", which does not answer, is kept until then`},
		},
		"a Pod whose engine starts again while an image cannot be pulled": {
			all(tried(waits("ImagePullBackOff", "not found")), starting), waited, workloadsv1.ReasonImagePullFailing,
			[]string{`Image "mongo:7.0" cannot be pulled`, "to have it replaced untried, delete it"},
		},
		"a Pod whose engine starts again while no node takes the trial": {
			all(tried(corev1.ContainerState{}), noNode, starting), waited, workloadsv1.ReasonUnschedulable,
			[]string{`No node takes Pod "orders-trial"`, "to have it replaced untried, delete it"},
		},
		"a Pod that ends again and again, and whose spec was put right": {
			all(tried(passed()), waiting("CrashLoopBackOff")), replaces, workloadsv1.ReasonReplacing, nil,
		},
		"a Pod on a node that does not answer, before it is evicted": {
			all(tried(passed()), func(s *decide.Snapshot) { s.Pod.Status.Conditions[0].Status = corev1.ConditionUnknown }),
			replaces, workloadsv1.ReasonReplacing, nil,
		},
		"another's Pod of the name": {
			all(tried(passed()), func(s *decide.Snapshot) { s.Trial.ObjectMeta = foreign("orders-trial") }),
			waited, workloadsv1.ReasonNameTaken, []string{`Pod "orders-trial" exists`, "left alone", goesOn},
		},
		"another's Pod of the name, where nothing is to be tried out": {
			all(tried(passed()), func(s *decide.Snapshot) {
				s.Trial.ObjectMeta, s.Database.Spec.Image = foreign("orders-trial"), ""
			}), waited, workloadsv1.ReasonRunning, nil,
		},
		"a trial of an earlier Database of the name": {
			all(tried(passed()), func(s *decide.Snapshot) { s.Trial.OwnerReferences[0].UID = "of-an-earlier-one" }),
			waited, workloadsv1.ReasonReplacing, []string{"goes first"},
		},
		"a trial that was orphaned": {
			all(tried(passed()), func(s *decide.Snapshot) { s.Trial.OwnerReferences, s.Database.Spec.Image = nil, "" }),
			discards, workloadsv1.ReasonRunning, nil,
		},
		"a trial that the API server refuses": {
			refused(workloadsv1.ReasonCreateDenied), creates, workloadsv1.ReasonCreateDenied, []string{"refuses it: no.", goesOn},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := outdated(c.change)
			plan := decide.Decide(s)
			g.Expect(done(&plan)).To(Equal(c.does))
			got := ready(t, s)
			g.Expect(got.Reason).To(Equal(c.reason), got.Message)
			for _, text := range c.says {
				g.Expect(got.Message).To(ContainSubstring(text))
			}
			if c.reason != workloadsv1.ReasonRunning {
				g.Expect(got.Status).To(Equal(metav1.ConditionFalse), "it is not as the spec says")
			}
		})
	}
}

// A user who takes the label off meanwhile would take the database away.
func TestWhatRunsIsKeptWhileTheNextIsTriedOut(t *testing.T) {
	plan := decide.Decide(outdated(tried(waits("ErrImagePull", "")), func(s *decide.Snapshot) { delete(s.Pod.Labels, workloadsv1.LabelDatabase) }))
	NewWithT(t).Expect(plan.ChangePod.To.Labels).To(HaveKeyWithValue(workloadsv1.LabelDatabase, "orders"))
}

// randomTrial is of what the spec says, or said.
func randomTrial(r *rand.Rand, s *decide.Snapshot) *corev1.Pod {
	trial := render.Trial(s.Database, one(r, nextImage, nextImage, image), podOf(s.Database))
	trial.CreationTimestamp, trial.UID = metav1.NewTime(now.Add(-one(r, time.Second, time.Hour))), "of-trial"
	inState(trial, one(r, passed(), passed(), corev1.ContainerState{}, waits("ErrImagePull", "not found"), waits("CreateContainerError", "")))
	if r.IntN(3) == 0 {
		inState(trial, corev1.ContainerState{})
		noNode(&decide.Snapshot{Trial: trial})
	}
	switch r.IntN(8) {
	case 0:
		trial.ObjectMeta = foreign(trial.Name)
	case 1:
		trial.OwnerReferences[0].UID = "of-an-earlier-one"
	case 2:
		trial.OwnerReferences = nil
	case 3:
		ending(trial, one(r, -time.Minute, time.Hour))
	case 4:
		trial.Status = corev1.PodStatus{Phase: corev1.PodFailed}
	}
	return trial
}

// isToBeReplaced reports whether what runs, or starts again, is not what the spec says.
func isToBeReplaced(s *decide.Snapshot) bool {
	return s.IsOutdated() && hasComeUp(s) && s.Pod.Status.Phase != corev1.PodFailed && s.Pod.DeletionTimestamp == nil && !s.Database.Spec.Suspend
}

func TestWhatRunsIsReplacedOnlyAfterATrialThatPassed(t *testing.T) {
	replaced := 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if !isToBeReplaced(s) || plan.RemovePod == nil {
			return
		}
		replaced++
		g.Expect(render.IsOurs(s.Database, s.Trial)).To(BeTrue())
		g.Expect(s.Trial.Annotations[workloadsv1.AnnotationSpec]).To(Equal(plan.RemovePod.Successor.Annotations[workloadsv1.AnnotationSpec]))
		g.Expect(s.Trial.Spec.Containers[0].Image).To(Equal(plan.RemovePod.Successor.Spec.Containers[0].Image))
		g.Expect(s.Trial.Status.ContainerStatuses[0].State).To(Equal(passed()))
	})
	NewWithT(t).Expect(replaced).To(BeNumerically(">", 0))
}

func TestATrialExistsOnlyWhileItIsNeeded(t *testing.T) {
	made, removed := 0, 0
	eachWorld(t, func(g Gomega, s *decide.Snapshot, plan *decide.Plan) {
		if plan.CreateTrial != nil {
			made++
			g.Expect(isToBeReplaced(s)).To(BeTrue())
			g.Expect(s.Trial).To(BeNil())
			g.Expect(plan.RemovePod).To(BeNil())
		}
		if s.Trial == nil || s.Trial.DeletionTimestamp != nil {
			return
		}
		switch ours := render.IsOurs(s.Database, s.Trial); {
		case !ours:
			g.Expect(plan.RemoveTrial).To(BeNil(), "it is left alone")
		case !isToBeReplaced(s):
			removed++
			g.Expect(plan.RemoveTrial).NotTo(BeNil())
		}
	})
	NewWithT(t).Expect(made).To(BeNumerically(">", 0))
	NewWithT(t).Expect(removed).To(BeNumerically(">", 0))
}

// Not even the Service of the document, which selects all Databases, leads to it.
func TestNoClientReachesATrial(t *testing.T) {
	g := NewWithT(t)
	trial := labels.Set(render.Trial(database(), nextImage, podOf(database())).Labels)
	for _, name := range []string{"orders", "orders-trial"} {
		g.Expect(labels.SelectorFromSet(render.Service(another(name)).Spec.Selector).Matches(trial)).To(BeFalse())
	}
	g.Expect(trial).NotTo(HaveKey(workloadsv1.LabelApp))
	g.Expect(trial).To(HaveKeyWithValue(workloadsv1.LabelManagedBy, workloadsv1.ManagedBy), "by this it is watched")
}
