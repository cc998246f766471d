//go:build e2e

package e2e

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
)

// A fallback Pod carries the labels by which a controller of the application selects its own Pods. It
// must not adopt the fallback: it would then count it, and take a real Pod away for it.

func TestAControllerWithTheSameLabelsDoesNotAdoptTheFallback(t *testing.T) {
	t.Parallel()
	replicas := int32(0)
	selector := &metav1.LabelSelector{MatchLabels: labels{"app": "shop"}}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels{"app": "shop"}}}
	tests := map[string]func() client.Object{
		"a bare ReplicaSet": func() client.Object {
			return &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector, Template: template}}
		},
		"a StatefulSet": func() client.Object {
			return &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{
				Replicas: &replicas, Selector: selector, Template: template, PodManagementPolicy: appsv1.ParallelPodManagement,
			}}
		},
	}
	for name, controller := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doesNotAdopt(newWorld(t), controller())
		})
	}
}

func doesNotAdopt(w *world, controller client.Object) {
	w.t.Helper()
	controller.SetNamespace(w.namespace)
	controller.SetName("shop")
	switch c := controller.(type) {
	case *appsv1.ReplicaSet:
		c.Spec.Template.Spec = webPod("shop")
	case *appsv1.StatefulSet:
		c.Spec.Template.Spec = webPod("shop")
	}
	shop := w.service("shop").critical()
	w.create(controller)

	// 0: the fallback answers, and stays the operator's own.
	fallback := shop.covered()
	w.Expect(metav1.GetControllerOf(fallback)).To(HaveField("Kind", "CriticalService"))
	shop.keeps(fallback)
	w.Expect(w.ownedBy(w, controller)).To(BeEmpty())

	// 0 -> 2: the fallback leaves, and no real Pod with it.
	w.scale(controller, 2)
	w.Eventually(w.readyOf(controller)).Should(HaveLen(2))
	pods := w.readyOf(controller)(w)
	shop.armed("shop")
	w.Consistently(w.readyOf(controller)).Should(ConsistOf(pods), "the real Pods stay")

	// 2 -> 0: and so the outage begins again.
	w.scale(controller, 0)
	w.Eventually(func(g Gomega) []types.UID { return w.ownedBy(g, controller) }).Should(BeEmpty())
	again := shop.covered()
	w.Expect(metav1.GetControllerOf(again)).To(HaveField("Kind", "CriticalService"))
	shop.keeps(again)
}

// ownedBy are the Pods that a controller counts as its own.
func (w *world) ownedBy(g Gomega, controller client.Object) []types.UID {
	return uids(w.podsWith(g, nil), func(pod *corev1.Pod) bool { return metav1.IsControlledBy(pod, controller) })
}

func (w *world) readyOf(controller client.Object) func(g Gomega) []types.UID {
	return func(g Gomega) []types.UID {
		return uids(w.podsWith(g, nil), func(pod *corev1.Pod) bool {
			return metav1.IsControlledBy(pod, controller) && cluster.PodReady(pod)
		})
	}
}

func uids(pods []corev1.Pod, chosen func(*corev1.Pod) bool) []types.UID {
	var found []types.UID
	for i := range pods {
		if chosen(&pods[i]) {
			found = append(found, pods[i].UID)
		}
	}
	slices.Sort(found)
	return found
}

func (w *world) podsWith(g Gomega, set labels) []corev1.Pod {
	var pods corev1.PodList
	g.Expect(w.List(w.ctx, &pods, client.InNamespace(w.namespace), client.MatchingLabels(set))).To(Succeed())
	return pods.Items
}

func TestAPodThatHoldsTheFallbacksNameIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	foreign := w.pod("service-watcher-shop", labels{"app": "something-else"})
	shop := w.service("shop").critical()

	shop.becomes(criticalv2.StateExposed, criticalv2.ReasonNameTaken, "service-watcher-shop")
	shop.condition(criticalv2.ConditionFallbackReady, metav1.ConditionFalse, criticalv2.ReasonNameTaken, "service-watcher-shop", "delete or rename it")
	w.Eventually(w.warnings("Service", "shop", criticalv2.ReasonNameTaken)).Should(HaveExactElements(ContainSubstring("delete or rename it")))
	uid := foreign.UID
	w.Consistently(func() types.UID {
		w.refresh(foreign)
		w.Expect(foreign.DeletionTimestamp).To(BeNil())
		return foreign.UID
	}).Should(Equal(uid))
	w.Expect(w.warnings("Service", "shop", criticalv2.ReasonNameTaken)(w)).To(HaveLen(1), "one event, not one per try")

	w.remove(foreign)
	shop.covered()
}
