package installation_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/installation"
)

// definition is the CustomResourceDefinition with some way to its webhook.
func definition(way map[string]any) client.Object {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": installation.Definition},
		"spec":     map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": way}}},
	}}
}

func convertedIn(namespace string) client.Object {
	return definition(map[string]any{"service": map[string]any{"namespace": namespace, "name": "critical-service-webhook"}})
}

// labelled is a Deployment whose Pods have the operator's labels.
func labelled(namespace string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator"},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: installation.Labels},
			Spec: corev1.PodSpec{
				ServiceAccountName: "of-" + namespace,
				Containers:         []corev1.Container{{Name: "proxy", Image: "proxy"}, {Name: installation.Container, Image: "of-" + namespace}},
			},
		}},
	}
}

func TestTheOperatorIsWhereTheDefinitionSays(t *testing.T) {
	imposter := labelled("aaa-attacker")
	responder := labelled("operators")
	responder.Name, responder.Spec.Template.Labels = "responder", map[string]string{"app.kubernetes.io/name": installation.Name}
	for sentence, test := range map[string]struct {
		objects []client.Object
		refuse  bool
		// namespace is where it is looked for, and found whether it is there.
		namespace string
		found     bool
	}{
		"in the namespace of the conversion":                  {[]client.Object{convertedIn("operators"), labelled("operators"), labelled(installation.UsualNamespace), imposter, responder}, false, "operators", true},
		"and nowhere else":                                    {[]client.Object{convertedIn("operators"), imposter}, false, "operators", false},
		"one outside the cluster has no namespace":            {[]client.Object{definition(map[string]any{"url": "https://192.0.2.1/convert"}), imposter}, false, installation.UsualNamespace, false},
		"a definition without conversion":                     {[]client.Object{definition(map[string]any{}), labelled(installation.UsualNamespace), imposter}, false, installation.UsualNamespace, true},
		"no definition":                                       {[]client.Object{labelled(installation.UsualNamespace), imposter}, false, installation.UsualNamespace, true},
		"a definition that may not be read":                   {[]client.Object{convertedIn("operators"), labelled("operators"), labelled(installation.UsualNamespace)}, true, installation.UsualNamespace, true},
		"a definition that may not be read, and no operator":  {[]client.Object{convertedIn("operators"), labelled("operators"), imposter}, true, installation.UsualNamespace, false},
		"labels of the operator's name alone are not its own": {[]client.Object{convertedIn("operators"), responder}, false, "operators", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			scheme, err := access.Scheme()
			g.Expect(err).NotTo(HaveOccurred())
			from := fake.NewClientBuilder().WithScheme(scheme).WithObjects(test.objects...).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if test.refuse {
						return apierrors.NewForbidden(schema.GroupResource{}, key.Name, nil)
					}
					return c.Get(ctx, key, object, options...)
				},
			}).Build()
			namespace, deployments, err := installation.Find(t.Context(), from)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(namespace).To(Equal(test.namespace))
			if !test.found {
				g.Expect(deployments).To(BeEmpty())
				return
			}
			g.Expect(deployments).To(HaveLen(1))
			g.Expect(installation.Image(&deployments[0])).To(Equal("of-" + namespace))
		})
	}
}

func TestAnAnswerThatSaysNothingIsAnError(t *testing.T) {
	g := NewWithT(t)
	from := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewInternalError(context.Canceled)
		},
	})
	_, _, err := installation.Find(t.Context(), from)
	g.Expect(err).To(MatchError(ContainSubstring("read CustomResourceDefinition criticalservices.mycrd.com")))
}

func TestADeploymentThatNamesNothing(t *testing.T) {
	g := NewWithT(t)
	bare := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "operators"}}
	g.Expect(installation.Image(bare)).To(BeEmpty())
}
