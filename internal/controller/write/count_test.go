package write_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/internal/controller/write"
)

func pod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
}

// counts are the series of the counter, as "kind verb result".
func counts(g Gomega, registry prometheus.Gatherer) map[string]float64 {
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			label := map[string]string{}
			for _, pair := range metric.GetLabel() {
				label[pair.GetName()] = pair.GetValue()
			}
			found[label["kind"]+" "+label["verb"]+" "+label["result"]] = valueOf(metric)
		}
	}
	return found
}

func valueOf(metric *dto.Metric) float64 { return metric.GetCounter().GetValue() }

func TestEveryWriteIsCountedByWhatItWas(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewRegistry()
	c, err := write.Counted(fake.NewClientBuilder().WithStatusSubresource(&corev1.Pod{}).Build(), registry)
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(write.DryRun(t.Context(), c, pod())).To(Succeed())
	g.Expect(write.Create(t.Context(), c, pod())).To(Succeed())
	g.Expect(write.Create(t.Context(), c, pod())).NotTo(Succeed())
	from := pod()
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(from), from)).To(Succeed())
	to := from.DeepCopy()
	to.Labels = map[string]string{"app": "web"}
	g.Expect(write.Patch(t.Context(), c, from, to)).To(Succeed())
	stale := from.DeepCopy()
	stale.Labels = map[string]string{"app": "other"}
	g.Expect(write.Patch(t.Context(), c, from, stale)).NotTo(Succeed(), "it changed meanwhile")
	ran := to.DeepCopy()
	ran.Status.Phase = corev1.PodRunning
	g.Expect(write.Status(t.Context(), c, to, ran)).To(BeTrue())
	table := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "table"},
	}
	stored, err := write.Apply(t.Context(), c, table, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stored.GetResourceVersion()).NotTo(BeEmpty())
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(from), from)).To(Succeed())
	g.Expect(write.Delete(t.Context(), c, from)).To(Succeed())

	g.Expect(counts(g, registry)).To(Equal(map[string]float64{
		"Pod dry-run ok": 1, "Pod create ok": 1, "Pod create late": 1, "Pod patch ok": 1, "Pod patch late": 1,
		"Pod status ok": 1, "Pod delete ok": 1, "ConfigMap apply ok": 1,
	}))
}

func TestEveryWriteIsCountedByHowItEnded(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	tests := map[string]struct {
		err  error
		want string
	}{
		"accepted":                       {nil, "ok"},
		"changed meanwhile":              {apierrors.NewConflict(pods, "web", errors.New("changed")), "late"},
		"gone meanwhile":                 {apierrors.NewNotFound(pods, "web"), "late"},
		"made meanwhile":                 {apierrors.NewAlreadyExists(pods, "web"), "late"},
		"refused by quota or permission": {apierrors.NewForbidden(pods, "web", errors.New("quota")), "refused"},
		"too many requests":              {apierrors.NewTooManyRequests("busy", 1), "failed"},
		"no answer":                      {errors.New("connection refused"), "failed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			registry := prometheus.NewRegistry()
			api := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return test.err },
			}).Build()
			c, err := write.Counted(api, registry)
			g.Expect(err).NotTo(HaveOccurred())
			_ = write.Create(t.Context(), c, pod()) // What it answers is the test's own.
			g.Expect(counts(g, registry)).To(Equal(map[string]float64{"Pod create " + test.want: 1}))
		})
	}
}

// Two kinds count in one registry, and an operator without one registers nothing.
func TestKindsShareACounter(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewRegistry()
	for range 2 {
		c, err := write.Counted(fake.NewFakeClient(), registry)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(write.Create(t.Context(), c, pod())).To(Succeed())
	}
	g.Expect(counts(g, registry)).To(Equal(map[string]float64{"Pod create ok": 2}))
	c, err := write.Counted(fake.NewFakeClient(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(write.Create(t.Context(), c, pod())).To(Succeed())
	g.Expect(counts(g, registry)).To(Equal(map[string]float64{"Pod create ok": 2}))
}

func TestEveryWriteCarriesTheFieldManager(t *testing.T) {
	g := NewWithT(t)
	api := fake.NewClientBuilder().WithStatusSubresource(&corev1.Pod{}).WithReturnManagedFields().Build()
	c, err := write.CountedAs(api, "another-operator", nil)
	g.Expect(err).NotTo(HaveOccurred())
	made := pod()
	g.Expect(write.Create(t.Context(), c, made)).To(Succeed())
	labelled := made.DeepCopy()
	labelled.Labels = map[string]string{"app": "web"}
	g.Expect(write.Patch(t.Context(), c, made, labelled)).To(Succeed())
	ran := labelled.DeepCopy()
	ran.Status.Phase = corev1.PodRunning
	g.Expect(write.Status(t.Context(), c, labelled, ran)).To(BeTrue())
	table := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "table"},
		Data: map[string]string{"table": "{}"},
	}
	applied, err := write.Apply(t.Context(), c, table, "")
	g.Expect(err).NotTo(HaveOccurred())
	for _, managed := range append(ran.ManagedFields, applied.GetManagedFields()...) {
		g.Expect(managed.Manager).To(Equal("another-operator"))
	}
	g.Expect(ran.ManagedFields).NotTo(BeEmpty())
	g.Expect(applied.GetManagedFields()).NotTo(BeEmpty())
}
