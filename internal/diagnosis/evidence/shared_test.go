package evidence_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/diagnosis/evidence"
)

// When a whole namespace fails, each of its Services would read the same lists.
func TestListsOfANamespaceAreReadOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		server := &reader{objects: []client.Object{&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}}}
		shared := evidence.Shared(server)
		list := func(namespace string, options ...client.ListOption) int {
			var deployments appsv1.DeploymentList
			g.Expect(shared.List(t.Context(), &deployments, append(options, client.InNamespace(namespace), client.Limit(250))...)).To(Succeed())
			return len(deployments.Items)
		}
		g.Expect([]int{list("shop"), list("shop")}).To(Equal([]int{1, 1}))
		g.Expect(server.asked).To(HaveLen(1))
		list("shop", client.MatchingLabels{"app": "web"})
		list("shop", client.MatchingLabels{"app": "web"})
		g.Expect(server.asked).To(HaveLen(3), "what one Service selects is its own")
		g.Expect(list("other")).To(BeZero())
		g.Expect(shared.List(t.Context(), &corev1.PodList{}, client.InNamespace("shop"), client.Limit(50))).To(Succeed())
		g.Expect(server.asked).To(HaveLen(5), "another namespace and another kind are other lists")

		<-time.After(time.Second)
		list("shop")
		g.Expect(server.asked).To(HaveLen(6))
		for i := range 20 {
			<-time.After(time.Millisecond)
			list(string(rune('a' + i)))
		}
		list("shop")
		g.Expect(server.asked).To(HaveLen(27), "few lists are kept")
	})
}

// The containers of a workload may have any size.
func TestOfWorkloadsLittleIsKept(t *testing.T) {
	g := NewWithT(t)
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Args: make([]string, 100_000)}}, NodeSelector: map[string]string{"disk": "ssd"}},
	}
	managed := []metav1.ManagedFieldsEntry{{Manager: "kubectl", Subresource: "scale"}}
	large := func(count int) []client.Object {
		var all []client.Object
		for i := range count {
			meta := metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d", i), ManagedFields: managed, Annotations: map[string]string{"a": strings.Repeat("x", 10_000)}}
			all = append(all, &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Template: template}})
		}
		return all
	}
	server := &reader{objects: large(1)}
	shared := evidence.Shared(server)
	list := func() *appsv1.DeploymentList {
		var found appsv1.DeploymentList
		g.Expect(shared.List(t.Context(), &found, client.InNamespace("shop"), client.Limit(250))).To(Succeed())
		return &found
	}
	g.Expect(list().Items[0].Spec.Template).To(Equal(corev1.PodTemplateSpec{
		ObjectMeta: template.ObjectMeta, Spec: corev1.PodSpec{NodeSelector: template.Spec.NodeSelector},
	}))
	g.Expect(list().Items[0].ManagedFields).To(Equal(managed), "they show what scaled it")
	g.Expect(server.asked).To(HaveLen(1))

	server = &reader{objects: large(100)}
	shared = evidence.Shared(server)
	list()
	list()
	g.Expect(server.asked).To(HaveLen(2), "a large list is not kept")
}
