package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
)

// A stale cache must not write over what was noted since.
func TestTheConfigIsWrittenOverWhatWasReadOnly(t *testing.T) {
	g := NewWithT(t)
	w := settled(t, true, 1)
	w.snap.Config = w.snap.Config.DeepCopy()
	w.snap.Config.ResourceVersion = "41"
	w.setReplicas(3)
	for range 60 {
		w.kubernetes()
		w.etcdRuns()
		plan := decide.Decide(w.look())
		if plan.Config != nil {
			g.Expect(plan.Config.ResourceVersion).To(Equal("41"))
			return
		}
		w.carryOut(&plan, allWrites)
	}
	t.Error("no member was noted")
}

// Without storage, the data that it gets in this moment would go with the Pod, and the member would end again and
// again, because the leader counts on what it has sent.
func TestThePodOfAnEarlierMemberIsReplacedOnlyWhereEtcdDoesNotStart(t *testing.T) {
	for sentence, c := range map[string]struct {
		ago   time.Duration
		state corev1.ContainerState
		goes  bool
	}{
		"etcd has just started":                {2 * time.Second, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, false},
		"etcd runs, and does not answer":       {time.Minute, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, true},
		"etcd has ended, and waits to restart": {0, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			w := settled(t, false, 3)
			w.kill("etcd-1")
			took := false
			for range 60 {
				if m := w.member("etcd-1"); m != nil {
					m.received, m.started = true, false // It does not come up.
				}
				w.kubernetes()
				w.etcdRuns()
				snap := w.look()
				pod := snap.Pods["etcd-1"].DeepCopy()
				if c.state.Running != nil {
					c.state.Running.StartedAt = metav1.NewTime(snap.Now.Add(-c.ago))
				}
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: etcd.Container, State: c.state}}
				snap.Pods = map[string]*corev1.Pod{"etcd-0": snap.Pods["etcd-0"], "etcd-1": pod, "etcd-2": snap.Pods["etcd-2"]}
				plan := decide.Decide(snap)
				took = took || plan.RemovePod != nil
				w.carryOut(&plan, allWrites)
			}
			g.Expect(took).To(Equal(c.goes))
		})
	}
}

// One of the members is down with the version that it was left at.
func TestNoMemberSkipsAMinorVersion(t *testing.T) {
	for sentence, c := range map[string]struct {
		runs, down, asked string
		says              string
	}{
		"all members are up":                                         {"etcd:v3.6.1", "", "etcd:v3.7.3", ""},
		"one is down, and the others go on":                          {"etcd:v3.6.1", "etcd-2", "etcd:v3.7.3", "Member etcd-2 does not answer, and may run an earlier version of etcd than the others, so that spec.image 3.7.3 waits"},
		"one is down, and gets another image of the version":         {"etcd:v3.6.1", "etcd-2", "etcd:v3.6.2", ""},
		"one is down because of the image, which is then taken back": {"etcd:v3.7.3", "etcd-2", "etcd:v3.6.1", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			w := settled(t, true, 3)
			for i := range w.snap.StatefulSet.Spec.Template.Spec.Containers {
				w.snap.StatefulSet.Spec.Template.Spec.Containers[i].Image = c.runs
			}
			w.cut[c.down] = true
			w.setImage(c.asked)
			plan := decide.Decide(w.look())
			if c.says != "" {
				g.Expect(plan.Status.Message).To(HavePrefix(c.says))
				g.Expect(plan.StatefulSet).To(BeNil())
				return
			}
			g.Expect(plan.StatefulSet).NotTo(BeNil(), plan.Status.Message)
			g.Expect(render.ImageOf(plan.StatefulSet)).To(Equal(c.asked))
		})
	}
}
