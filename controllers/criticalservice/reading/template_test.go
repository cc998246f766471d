package reading

import (
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
)

// templateExample is a template of the Service's namespace, with an image as its text.
var templateExample = example{
	fallback: criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{Namespace: ours.Namespace, Name: ours.Name}},
	object: func(text string, n int) client.Object {
		return &corev1.PodTemplate{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"example.com/n": strconv.Itoa(n)}},
			Template:   corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: text}}}},
		}
	},
	one:    version{text: "one", seen: Equal("one")},
	two:    version{text: "two", seen: Equal("two")},
	reader: func(r *Readers) anyReader { return r.templates },
	keys:   func(known *memory.Memory) []memory.ObjectKey { return known.Templates.Keys() },
	seen: func(snap *decide.Snapshot) (any, bool) {
		if snap.Template == nil {
			return nil, false
		}
		return snap.Template.Template.Spec.Containers[0].Image, len(snap.Unread) == 0
	},
}

// A Pod may be given up for a new version: what is not the last one is no reason.
func TestALiveLookTrustsNoVersionButTheLast(t *testing.T) {
	w := newWorld(t, templateExample)
	w.write("one")
	w.look()
	snap, err := w.ObserveLive(t.Context(), web)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(snap.Template).NotTo(BeNil())

	w.write("two")
	snap, err = w.ObserveLive(t.Context(), web)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(snap.Template).To(BeNil())
	w.Expect(snap.Unread).To(ConsistOf(ours))
	w.Expect(w.live.reads).To(Equal(1), "it asks for the version only")
}

func TestATemplateThatIsTooLargeIsNotKept(t *testing.T) {
	w := newWorld(t, templateExample)
	w.write(strings.Repeat("x", decide.MaxTemplate))
	w.look()
	snap := w.observe()
	w.Expect(snap.Template).To(BeNil())
	w.Expect(snap.TemplateTooLarge).To(BeTrue())
	w.Expect(snap.Unread).To(BeEmpty())
	w.Expect(w.wakes()).To(Equal(1))

	w.clock.SetTime(w.clock.Now().Add(interval))
	w.write("one")
	w.look()
	w.Expect(w.sees()).To(Equal("one"))
	w.Expect(w.wakes()).To(Equal(1))
}

// A Service selects the fallback Pods of others of its namespace as well.
func TestTheTemplateOfANeighborIsRead(t *testing.T) {
	neighbor := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "admin"}, Spec: criticalv2.CriticalServiceSpec{
		ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"tier": "admin"}},
		ProtectionSpec: criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{
			Namespace: ours.Namespace, Name: ours.Name, Publish: criticalv2.PublishSelectorLabels,
		}}},
	}}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: "admin", Labels: map[string]string{"tier": "admin"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}},
	}
	w := newWorld(t, templateExample, neighbor, service)
	policy := &criticalv2.CriticalService{}
	w.Expect(w.client.Get(t.Context(), types.NamespacedName{Name: "storefront"}, policy)).To(Succeed())
	policy.Spec.Fallback.PodTemplate = &criticalv2.PodTemplateFallback{Publish: criticalv2.PublishSelectorLabels}
	w.Expect(w.client.Update(t.Context(), policy)).To(Succeed())

	w.write("one")
	w.Expect(w.observe().Unread).To(ConsistOf(ours))
	w.look()
	snap := w.observe()
	w.Expect(snap.Unread).To(BeEmpty())
	w.Expect(snap.Neighbors).To(ConsistOf(HaveField("Template.Name", ours.Name)))
	w.Expect(w.wakes()).To(Equal(2), "the Service and its neighbor")
}
