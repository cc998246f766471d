package cluster

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestDecode(t *testing.T) {
	tests := map[string]struct {
		manifest string
		want     []string
		problem  string
	}{
		"documents come in the order of the manifest, empty ones are skipped": {
			manifest: "# a comment\n---\nkind: Namespace\napiVersion: v1\nmetadata: {name: a}\n---\n\n---\n" +
				"kind: ConfigMap\napiVersion: v1\nmetadata: {name: b, namespace: a}\n",
			want: []string{"Namespace a", "ConfigMap a/b"},
		},
		"a document without a kind is an error": {manifest: "metadata: {name: a}\n", problem: "document 1"},
		"broken YAML names its document": {
			manifest: "kind: Namespace\napiVersion: v1\nmetadata: {name: a}\n---\nkind: [\n", problem: "document 2",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects, err := Decode([]byte(test.manifest))
			if test.problem != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.problem)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			var got []string
			for _, object := range objects {
				got = append(got, describe(object))
			}
			g.Expect(got).To(Equal(test.want))
		})
	}
}

func TestRolledOut(t *testing.T) {
	tests := map[string]struct {
		change func(*appsv1.Deployment)
		want   bool
	}{
		"all replicas of the newest generation are available":   {change: func(*appsv1.Deployment) {}, want: true},
		"the controller has not yet seen the newest generation": {change: func(d *appsv1.Deployment) { d.Generation = 8 }},
		"a replica of the older generation is still there":      {change: func(d *appsv1.Deployment) { d.Status.Replicas = 3 }},
		"a replica is not up to date":                           {change: func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }},
		"a Deployment without replicas does nothing": {change: func(d *appsv1.Deployment) {
			*d.Spec.Replicas, d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = 0, 0, 0, 0
		}},
		"a replica is not available": {change: func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			two := int32(2)
			deployment := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Generation: 7},
				Spec:       appsv1.DeploymentSpec{Replicas: &two},
				Status: appsv1.DeploymentStatus{
					ObservedGeneration: 7, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2,
				},
			}
			test.change(deployment)
			NewWithT(t).Expect(rolledOut(deployment)).To(Equal(test.want))
		})
	}
}

func TestPodTrouble(t *testing.T) {
	waiting := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}
	}
	tests := map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"a Pod whose containers are being made is on its way": {status: waiting("ContainerCreating", "")},
		"an image that cannot be pulled": {
			status: waiting("ImagePullBackOff", "not found"), want: "ImagePullBackOff: not found",
		},
		"a crash loop without a message": {status: waiting("CrashLoopBackOff", ""), want: "CrashLoopBackOff"},
		"a Pod for which there is no node": {
			status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes",
			}}},
			want: "Unschedulable: 0/1 nodes",
		},
		"a container that failed": {
			status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 2}},
			}}},
			want: "Error, exit code 2",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(PodTrouble(&corev1.Pod{Status: test.status})).To(Equal(test.want))
		})
	}
}

func TestPodReady(t *testing.T) {
	ready := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	now := metav1.Now()
	tests := map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"a Pod that says so":            {pod: corev1.Pod{Status: ready}, want: true},
		"a Pod that has not said so":    {},
		"a ready Pod on its way out no": {pod: corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}, Status: ready}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(PodReady(&test.pod)).To(Equal(test.want))
		})
	}
}

func TestAreReplaced(t *testing.T) {
	pod := func(uid types.UID, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
	}
	old := []corev1.Pod{pod("a", corev1.ConditionTrue), pod("b", corev1.ConditionTrue)}
	for name, test := range map[string]struct {
		now  []corev1.Pod
		want bool
	}{
		"the next Pods are not there yet":       {now: nil},
		"an old Pod counts also if it is ready": {now: []corev1.Pod{old[1], pod("c", corev1.ConditionTrue)}},
		"one of the next Pods is not ready":     {now: []corev1.Pod{pod("c", corev1.ConditionTrue), pod("d", corev1.ConditionFalse)}},
		"all are other Pods, and ready":         {now: []corev1.Pod{pod("c", corev1.ConditionTrue), pod("d", corev1.ConditionTrue)}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(areReplaced(old, test.now)).To(Equal(test.want))
		})
	}
}
