package read_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

func TestUnchanged(t *testing.T) {
	deleted := func(pod *corev1.Pod) {
		pod.DeletionTimestamp, pod.Finalizers = new(metav1.Now()), []string{"example.com/wait"}
		pod.Generation++
	}
	before := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", Generation: 1}}
	for sentence, c := range map[string]struct {
		change    func(now *corev1.Pod)
		conflicts bool
	}{
		"as it was read":       {func(*corev1.Pod) {}, false},
		"with another label":   {func(now *corev1.Pod) { now.Labels = map[string]string{"a": "b"} }, false},
		"with another spec":    {func(now *corev1.Pod) { now.Generation = 2 }, true},
		"another of this name": {func(now *corev1.Pod) { now.UID = "2" }, true},
		"being deleted":        {deleted, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			now := before.DeepCopy()
			c.change(now)
			live := fake.NewClientBuilder().WithObjects(now).Build()
			err := read.Unchanged(t.Context(), live, corev1.Resource("pods"), before)
			NewWithT(t).Expect(apierrors.IsConflict(err)).To(Equal(c.conflicts), "%v", err)
		})
	}
	deleted(before)
	live := fake.NewClientBuilder().WithObjects(before).Build()
	NewWithT(t).Expect(read.Unchanged(t.Context(), live, corev1.Resource("pods"), before)).To(Succeed(), "it was read as one that goes")
}
