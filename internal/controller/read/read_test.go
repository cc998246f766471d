package read_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/internal/controller/read"
)

func TestExisting(t *testing.T) {
	g := NewWithT(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	from := fake.NewClientBuilder().WithObjects(pod).Build()

	found, err := read.Existing[corev1.Pod](t.Context(), from, client.ObjectKeyFromObject(pod))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Name).To(Equal("web"))

	found, err = read.Existing[corev1.Pod](t.Context(), from, client.ObjectKey{Namespace: "shop", Name: "other"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(BeNil())

	broken := interceptor.NewClient(from, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("connection refused")
		},
	})
	_, err = read.Existing[corev1.Pod](t.Context(), broken, client.ObjectKeyFromObject(pod))
	g.Expect(err).To(MatchError("connection refused"))
}
