package appconfig

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// reading makes an observer that reads objects, of which an answer may fail.
func reading(g Gomega, fail func(client.ObjectList) error, objects ...client.Object) *observer {
	scheme := runtime.NewScheme()
	known := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, criticalv2.AddToScheme)
	g.Expect(known.AddToScheme(scheme)).To(Succeed())
	live := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if fail != nil {
				if err := fail(list); err != nil {
					return err
				}
			}
			return c.List(ctx, list, options...)
		},
	})
	return &observer{live: live}
}

func podTemplate(configMap string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", EnvFrom: takes(configMap)}}}}
}

func about(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }

func TestWhatIsInUse(t *testing.T) {
	mounting := corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
			ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "shop-1"}},
		}}},
	}}}}
	elsewhere := about("a")
	elsewhere.Namespace = "other"
	for sentence, test := range map[string]struct {
		object client.Object
		uses   bool
	}{
		"a Pod mounts it":                         {&corev1.Pod{ObjectMeta: about("a"), Spec: mounting}, true},
		"a Deployment would, at zero replicas":    {&appsv1.Deployment{ObjectMeta: about("a"), Spec: appsv1.DeploymentSpec{Template: podTemplate("shop-1")}}, true},
		"a StatefulSet would":                     {&appsv1.StatefulSet{ObjectMeta: about("a"), Spec: appsv1.StatefulSetSpec{Template: podTemplate("shop-1")}}, true},
		"a Pod with a longer name does not":       {&corev1.Pod{ObjectMeta: about("a"), Spec: podTemplate("shop-11").Spec}, false},
		"nor one of another namespace":            {&corev1.Pod{ObjectMeta: elsewhere, Spec: mounting}, false},
		"nor does a Pod whose annotation says so": {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "a", Annotations: map[string]string{"was": `"shop-1"`}}}, false},
		"the page of a ServiceFallback shows it": {&criticalv2.ServiceFallback{ObjectMeta: about("a"), Spec: criticalv2.ServiceFallbackSpec{
			ProtectionSpec: criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{ConfigMapName: "shop-1"}}},
		}}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			used, err := reading(g, nil, test.object).used(t.Context(), "web", []string{"shop-1", "shop-2"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(used["shop-1"]).To(Equal(test.uses))
			g.Expect(used["shop-2"]).To(BeFalse())
			g.Expect(used).NotTo(BeNil(), "it was read")
		})
	}
}

func TestASearchThatCannotBeMade(t *testing.T) {
	failing := func(err error) func(client.ObjectList) error {
		return func(list client.ObjectList) error {
			if _, isFallback := list.(*criticalv2.ServiceFallbackList); isFallback {
				return err
			}
			return nil
		}
	}
	for sentence, err := range map[string]error{
		"of ServiceFallbacks is none where the core is not installed": &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "mycrd.com", Kind: "ServiceFallback"}},
		"nor where it was removed, which the client does not know":    apierrors.NewGenericServerResponse(http.StatusNotFound, "list", schema.GroupResource{}, "", "", 0, true),
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			used, err := reading(g, failing(err)).used(t.Context(), "web", []string{"shop-1"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(used).To(Equal(map[string]bool{"shop-1": false}))
		})
	}
	t.Run("within bounds keeps all", func(t *testing.T) {
		g := NewWithT(t)
		used, err := reading(g, failing(fmt.Errorf("list: %w", &http.MaxBytesError{Limit: maxLive}))).used(t.Context(), "web", []string{"shop-1"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(used["shop-1"]).To(BeTrue())
	})
	t.Run("in time keeps all", func(t *testing.T) {
		g := NewWithT(t)
		used, err := reading(g, failing(fmt.Errorf("list: %w", context.DeadlineExceeded))).used(t.Context(), "web", []string{"shop-1"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(used["shop-1"]).To(BeTrue())
	})
	t.Run("now is made later", func(t *testing.T) {
		g := NewWithT(t)
		_, err := reading(g, failing(http.ErrServerClosed)).used(t.Context(), "web", []string{"shop-1"})
		g.Expect(err).To(MatchError(http.ErrServerClosed))
	})
}

func TestASearchReadsEveryPage(t *testing.T) {
	g := NewWithT(t)
	pages := 0
	o := &observer{live: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			asked := (&client.ListOptions{}).ApplyOptions(options)
			g.Expect(asked.Limit).To(BeEquivalentTo(perPage))
			g.Expect(asked.Namespace).To(Equal("web"))
			pods, isPods := list.(*corev1.PodList)
			if !isPods {
				return nil
			}
			pages++
			*pods = corev1.PodList{Items: []corev1.Pod{{Spec: podTemplate(fmt.Sprint("shop-", pages)).Spec}}}
			if pages < 3 {
				pods.Continue = fmt.Sprint(pages)
			}
			return nil
		},
	})}
	used, err := o.used(t.Context(), "web", []string{"shop-1", "shop-2", "shop-3", "shop-4"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(used).To(Equal(map[string]bool{"shop-1": true, "shop-2": true, "shop-3": true, "shop-4": false}))
}
