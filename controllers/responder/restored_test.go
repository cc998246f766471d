package responder_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/test/testenv"
)

func TestDriftIsReverted(t *testing.T) {
	for name, test := range map[string]struct {
		change   func(w *world)
		restored func(w *world) bool
	}{
		"the table is broken": {
			change:   func(w *world) { w.tamper(func(c *corev1.ConfigMap) { c.Data[listener.Key] = "{" }) },
			restored: func(w *world) bool { return len(w.table().Listeners) == 2 },
		},
		"the table is edited": {
			change: func(w *world) {
				w.tamper(func(c *corev1.ConfigMap) {
					c.Data[listener.Key] = `{"pages":[{}],"listeners":[{"port":20000,"service":"api","portName":"http"}]}`
				})
			},
			restored: func(w *world) bool { return len(w.table().Listeners) == 2 },
		},
		"the table is deleted": {
			change:   func(w *world) { w.Delete(w.named(&corev1.ConfigMap{})) },
			restored: func(w *world) bool { return len(w.table().Listeners) == 2 },
		},
		"the Deployment is scaled to nothing": {
			change: func(w *world) {
				testenv.Update(w.World, w.deployment(), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) })
			},
			restored: func(w *world) bool { return *w.deployment().Spec.Replicas == 2 },
		},
		"the Pods get a token": {
			change: func(w *world) {
				testenv.Update(w.World, w.deployment(), func(d *appsv1.Deployment) {
					d.Spec.Template.Spec.AutomountServiceAccountToken = new(true)
				})
			},
			restored: func(w *world) bool { return !*w.deployment().Spec.Template.Spec.AutomountServiceAccountToken },
		},
		"the Deployment is deleted": {
			change:   func(w *world) { w.Delete(w.deployment()) },
			restored: func(w *world) bool { return w.Exists(w.named(&appsv1.Deployment{})) },
		},
		"the Deployment loses our label": {
			change: func(w *world) {
				testenv.Update(w.World, w.deployment(), func(d *appsv1.Deployment) { d.Labels = nil })
			},
			restored: func(w *world) bool { return w.deployment().Labels[criticalv2.LabelResponder] != "" },
		},
		"the budget forbids every eviction": {
			change: func(w *world) {
				testenv.Update(w.World, w.named(&policyv1.PodDisruptionBudget{}).(*policyv1.PodDisruptionBudget),
					func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = new(intstr.FromInt32(0)) })
			},
			restored: func(w *world) bool {
				budget := &policyv1.PodDisruptionBudget{}
				return w.Exists(w.named(budget)) && budget.Spec.MaxUnavailable.IntVal == 1
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.start(standard)
			_, api := w.critical("api", criticalv2.PageFallback{})
			w.Eventually(w.numbers).Should(Equal([]string{"20000 api/http"}))
			_, web := w.critical("web", criticalv2.PageFallback{})
			w.Eventually(w.numbers).Should(Equal([]string{"20000 api/http", "20001 web/http"}))
			w.Eventually(w.there).Should(beComplete())
			// What the slices publish differs from what a new table would say.
			for number, slice := range map[int32]*discoveryv1.EndpointSlice{20000: api, 20001: web} {
				testenv.Update(w.World, slice, func(s *discoveryv1.EndpointSlice) {
					s.Ports = []discoveryv1.EndpointPort{{Name: new("http"), Port: new(number), Protocol: new(corev1.ProtocolTCP)}}
				})
			}
			w.current().Settled(w.World)

			test.change(w)
			w.Eventually(func() bool { return test.restored(w) }).Should(BeTrue())
			w.current().Settled(w.World)
			w.Expect(w.numbers()).To(Equal([]string{"20000 api/http", "20001 web/http"}), "no number changes")
			w.Expect(w.there()).To(beComplete())
		})
	}
}

func (w *world) tamper(change func(*corev1.ConfigMap)) {
	w.T.Helper()
	testenv.Update(w.World, w.named(&corev1.ConfigMap{}).(*corev1.ConfigMap), change)
}

// What is not the operator's stays as it is. The other objects are made all the
// same, except that without a table nothing else would be of use.
func TestANameThatIsTakenIsLeftAlone(t *testing.T) {
	for name, test := range map[string]struct {
		object func() client.Object
		others []string
	}{
		"by a ConfigMap": {
			object: func() client.Object { return &corev1.ConfigMap{Data: map[string]string{"a": "b"}} },
			others: []string{"ConfigMap"},
		},
		"by a ConfigMap with a team's content": {
			object: func() client.Object {
				return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderContent}}}
			},
			others: []string{"ConfigMap"},
		},
		"by a Deployment": {
			object: func() client.Object {
				labels := map[string]string{"app": "other"}
				return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
					Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: testenv.PodSpec()},
				}}
			},
			others: []string{"ConfigMap", "Deployment", "PodDisruptionBudget"},
		},
		"by a PodDisruptionBudget": {
			object: func() client.Object {
				return &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}}
			},
			others: []string{"ConfigMap", "Deployment", "PodDisruptionBudget"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			strange := w.named(test.object())
			w.Create(strange)
			before := strange.GetResourceVersion()
			w.start(standard)
			_, slice := w.critical("web", criticalv2.PageFallback{})
			w.Eventually(func() []string { return w.events(w.Namespace, criticalv2.ResponderName, criticalv2.ReasonNameTaken) }).
				Should(ContainElement(HavePrefix("Warning: ")))
			w.Eventually(w.there).Should(ConsistOf(elements(test.others)...))

			w.Delete(slice)
			w.Eventually(w.there).Should(HaveLen(1), "what is ours goes")
			w.look()
			w.Expect(w.Exists(strange)).To(BeTrue())
			w.Expect(strange.GetResourceVersion()).To(Equal(before), "it is left as it is")
		})
	}
}
