package database_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

func (w *world) trial(d *workloadsv1.Database) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: d.TrialName()}}
}

// wants changes the image, and waits for the trial.
func (w *world) wants(d *workloadsv1.Database, image string) *corev1.Pod {
	w.T.Helper()
	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Image = image })
	trial := w.trial(d)
	w.Eventually(func() string {
		if !w.Exists(trial) {
			return ""
		}
		return trial.Spec.Containers[0].Image
	}).Should(Equal(image))
	return trial
}

// kubelet says how the container of a trial is.
func (w *world) kubelet(trial *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) {
	w.T.Helper()
	w.PodStatus(trial, func(status *corev1.PodStatus) {
		status.Phase = phase
		status.ContainerStatuses = []corev1.ContainerStatus{{Name: trial.Spec.Containers[0].Name, Image: trial.Spec.Containers[0].Image, State: state}}
	})
}

func (w *world) passes(trial *corev1.Pod) {
	w.T.Helper()
	w.kubelet(trial, corev1.PodSucceeded, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}})
}

func (w *world) cannotPull(trial *corev1.Pod) {
	w.T.Helper()
	w.kubelet(trial, corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "ErrImagePull", Message: `failed to pull and unpack image "x": the registry has no such image`,
	}})
}

// becomes waits until another Pod runs in the place of one, with an image, and none is tried out.
func (w *world) becomes(d *workloadsv1.Database, before, image string) {
	w.T.Helper()
	w.Eventually(w.uid(w.pod(d))).ShouldNot(Or(BeEmpty(), Equal(before)))
	pod := w.pod(d)
	w.Expect(w.Exists(pod)).To(BeTrue())
	w.Expect(pod.Spec.Containers[0].Image).To(Equal(image))
	w.MakeReady(pod)
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonRunning))
	w.Eventually(w.Exists).WithArguments(w.trial(d)).Should(BeFalse(), "it is not needed any more")
}

func TestAnotherImageReplacesThePodOnceItWasTriedOut(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(withStorage)
	before := w.uid(w.pod(d))()
	trial := w.wants(d, "mongo:7.0")
	w.Expect(metav1.IsControlledBy(trial, d)).To(BeTrue(), "it goes with the Database")
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonReplacing))
	w.Expect(w.condition(d, workloadsv1.ConditionReady).Message).To(And(ContainSubstring(trial.Name), ContainSubstring("the database answers as it did")))
	w.operator.Settled(w.World)
	w.Expect(w.uid(w.pod(d))()).To(Equal(before))

	w.passes(trial)
	w.becomes(d, before, "mongo:7.0")
	w.Eventually(w.EventsOf(d, "PodDeleted")).Should(HaveLen(1))
	for _, event := range w.Events(d, "PodCreated") {
		w.Expect(event.Message).NotTo(ContainSubstring("trial"))
	}
}

func TestAnImageThatCannotBePulledTakesNothingAway(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(withStorage)
	before := w.uid(w.pod(d))()
	trial := w.wants(d, "mongo:none")
	w.cannotPull(trial)
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonImagePullFailing))
	w.Expect(w.condition(d, workloadsv1.ConditionReady).Message).To(And(
		ContainSubstring(`"mongo:none"`), ContainSubstring("the registry has no such image"), ContainSubstring("correct spec.image"), ContainSubstring("the database answers as it did")))
	w.Eventually(w.EventsOf(d, "ImagePullFailing")).Should(HaveLen(1))

	// Nothing else is written, and what runs is kept as it is to be.
	w.operator.Settled(w.World)
	writes := len(w.writes())
	w.kubelet(trial, corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "ImagePullBackOff", Message: `Back-off pulling image "x": ErrImagePull: failed to pull and unpack image "x": the registry has no such image`,
	}})
	w.operator.Settled(w.World)
	w.Expect(w.writes()[writes:]).To(BeEmpty())
	testenv.Update(w.World, w.pod(d), func(p *corev1.Pod) { p.Labels = nil })
	w.Eventually(func() map[string]string {
		pod := w.pod(d)
		w.Expect(w.Exists(pod)).To(BeTrue())
		return pod.Labels
	}).Should(HaveKeyWithValue(workloadsv1.LabelDatabase, d.Name))
	w.Expect(w.uid(w.pod(d))()).To(Equal(before))

	next := w.wants(d, "mongo:7.0")
	w.Expect(next.UID).NotTo(Equal(trial.UID))
	w.passes(next)
	w.becomes(d, before, "mongo:7.0")
}

// It is back in a moment; the next Pod would not be.
func TestAnEngineThatStartsAgainIsKeptForATrial(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running()
	before := w.uid(w.pod(d))()
	w.cannotPull(w.wants(d, "mongo:none"))
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonImagePullFailing))
	w.PodStatus(w.pod(d), func(status *corev1.PodStatus) {
		status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "mongo", Started: new(false), RestartCount: 1, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
		}}
	})
	w.Eventually(func() string { return w.condition(d, workloadsv1.ConditionReady).Message }).Should(ContainSubstring("to have it replaced untried, delete it"))
	w.operator.Settled(w.World)
	w.Expect(w.uid(w.pod(d))()).To(Equal(before))

	w.passes(w.wants(d, "mongo:7.0"))
	w.becomes(d, before, "mongo:7.0")
}

func TestATrialGoesWhenItIsNotNeeded(t *testing.T) {
	for sentence, change := range map[string]func(*workloadsv1.Database){
		"the spec is put right": func(d *workloadsv1.Database) { d.Spec.Image = "" },
		"it is suspended":       func(d *workloadsv1.Database) { d.Spec.Suspend = true },
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.start()
			d := w.running()
			before := w.uid(w.pod(d))()
			w.cannotPull(w.wants(d, "mongo:none"))
			w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonImagePullFailing))
			// The next one to lead knows it as well.
			w.stop()
			w.start()
			testenv.Update(w.World, d, change)
			w.Eventually(w.Exists).WithArguments(w.trial(d)).Should(BeFalse())
			if d.Spec.Suspend {
				w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonSuspended))
				return
			}
			w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonRunning))
			w.Expect(w.uid(w.pod(d))()).To(Equal(before))
		})
	}
}

func TestAPodThatDoesNotRunIsReplacedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.database(func(d *workloadsv1.Database) { d.Spec.Image = "mongo:none" })
	w.Eventually(w.Exists).WithArguments(w.pod(d)).Should(BeTrue())
	pod := w.pod(d)
	w.Expect(w.Exists(pod)).To(BeTrue())
	w.cannotPull(pod)
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonImagePullFailing))
	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Image = "mongo:7.0" })
	w.becomes(d, string(pod.UID), "mongo:7.0")
}

// A Pod's name may be longer than that of its host.
func TestTheLongestNameIsTriedOut(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(named(strings.Repeat("a", 63)))
	before := w.uid(w.pod(d))()
	w.passes(w.wants(d, "mongo:7.0"))
	w.becomes(d, before, "mongo:7.0")
}

func TestAPodOfAnotherThatHasTheNameOfATrialIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running()
	before := w.uid(w.pod(d))()
	theirs := w.trial(d)
	theirs.Spec = testenv.PodSpec()
	w.Create(theirs)
	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Image = "mongo:7.0" })
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonNameTaken))
	w.Expect(w.condition(d, workloadsv1.ConditionReady).Message).To(And(
		ContainSubstring(`Pod "mongo-db-trial" exists`), ContainSubstring("the database answers as it did")))
	w.Expect(w.uid(w.trial(d))()).To(Equal(string(theirs.UID)))
	w.Expect(w.uid(w.pod(d))()).To(Equal(before))
	w.Delete(theirs)
	w.Eventually(w.Exists).WithArguments(w.trial(d)).Should(BeTrue(), "no watch reports that it is gone")
	w.Eventually(w.uid(w.trial(d))).ShouldNot(Equal(string(theirs.UID)))
}

// A namespace may set a least for Pods that is more than it takes to try one out.
func TestATrialThatTheAPIServerRefusesTakesNothingAway(t *testing.T) {
	w := newWorld(t)
	large := func(d *workloadsv1.Database) {
		d.Spec.Pod.Resources.Requests = workloadsv1.Quantities{corev1.ResourceMemory: "1Gi"}
	}
	w.start()
	d := w.running(large)
	before := w.uid(w.pod(d))()
	w.Create(&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, Min: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
	}}}})
	small := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "small"}, Spec: testenv.PodSpec()}
	small.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}
	w.Eventually(func() error {
		return w.Cluster.Client.Create(t.Context(), small.DeepCopy(), client.DryRunAll)
	}).ShouldNot(Succeed(), "the API server has seen it")

	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Image = "mongo:7.0" })
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonCreateDenied))
	w.Expect(w.condition(d, workloadsv1.ConditionReady).Message).To(And(
		ContainSubstring(`Pod "mongo-db-trial", in which the next Pod is tried out`), ContainSubstring(`delete it`),
		ContainSubstring("minimum memory usage per Container is 512Mi"), ContainSubstring("the database answers as it did")))
	w.Expect(w.uid(w.pod(d))()).To(Equal(before))

	w.Delete(w.pod(d))
	w.becomes(d, before, "mongo:7.0")
}

// The answer to the create of a trial is lost: it is not made twice, and is no other user's.
func TestATrialIsMadeOnce(t *testing.T) {
	w := newWorld(t)
	var made atomic.Int32
	w.start(func(r testenv.Request) testenv.Verdict {
		if r.Method == http.MethodPost && r.Resource() == "pods" && r.Writes() && made.Add(1) == 2 {
			return testenv.LoseAnswer
		}
		return testenv.Pass
	})
	d := w.running()
	before := w.uid(w.pod(d))()
	w.passes(w.wants(d, "mongo:7.0"))
	w.becomes(d, before, "mongo:7.0")
	w.Expect(made.Load()).To(BeNumerically(">=", 3), "the Pod, the trial and the next Pod")
	w.Expect(w.Events(d, "NameTaken")).To(BeEmpty())
}
