package drift_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/critical-service/operator/internal/controller/drift"
)

// They are of any kind, and are compared as they are.
func TestUnstructuredObjectsStayAsTheyAre(t *testing.T) {
	g := NewWithT(t)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "status": map[string]any{},
		"metadata": map[string]any{"name": "web", "resourceVersion": "7"},
	}}
	before := object.DeepCopy()
	g.Expect(drift.Covers(object, object)).To(BeTrue())
	g.Expect(object).To(Equal(before))
}

func TestWhatCoversWhatIsWanted(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*corev1.Service)
		want   bool
	}{
		"the same":                   {func(*corev1.Service) {}, true},
		"what others added":          {func(s *corev1.Service) { s.Labels["team"], s.Spec.ClusterIP = "shop", "10.0.0.1" }, true},
		"what the API server counts": {func(s *corev1.Service) { s.ResourceVersion, s.Generation = "7", 7 }, true},
		"a status":                   {func(s *corev1.Service) { s.Status.Conditions = []metav1.Condition{{Type: "Ready"}} }, true},
		"one more port, before the wanted": {func(s *corev1.Service) {
			s.Spec.Ports = append([]corev1.ServicePort{{Name: "admin", Port: 81}}, s.Spec.Ports...)
		}, true},
		"a label that another has changed":   {func(s *corev1.Service) { s.Labels["app"] = "cart" }, false},
		"a label that another took off":      {func(s *corev1.Service) { s.Labels = nil }, false},
		"a port that another has changed":    {func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 }, false},
		"a list of words with one more word": {func(s *corev1.Service) { s.Spec.ExternalIPs = append(s.Spec.ExternalIPs, "192.0.2.2") }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			wanted := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"app": "web"}},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}, ExternalIPs: []string{"192.0.2.1"}},
			}
			existing := wanted.DeepCopy()
			c.change(existing)
			NewWithT(t).Expect(drift.Covers(existing, wanted)).To(Equal(c.want))
		})
	}
}

func TestADigestIsOfBoth(t *testing.T) {
	g := NewWithT(t)
	one, other := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "cart"}}
	g.Expect(drift.Digest(one, other)).To(Equal(drift.Digest(one.DeepCopy(), other.DeepCopy())))
	g.Expect(drift.Digest(one, other)).NotTo(Equal(drift.Digest(other, one)))
	g.Expect(drift.Digest(one, other)).NotTo(Equal(drift.Digest(one, one)))
}
