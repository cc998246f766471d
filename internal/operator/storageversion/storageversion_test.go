package storageversion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/crdcache"
)

// kind is what is migrated here.
var kind = crdcache.Kind{GroupVersionKind: criticalv2.CriticalServiceKind, Plural: "criticalservices"}

// apiServer is a pretended API server. It lists objects in pages of its own, and
// notes what is written.
type apiServer struct {
	crd *apiextensionsv1.CustomResourceDefinition
	// pages are the names of the stored objects, NAMESPACE/NAME where they have a namespace.
	pages [][]string
	// refuse is the answer to the rewriting of an object; nil accepts.
	refuse func(name string) error
	// meanwhile happens before an object is rewritten.
	meanwhile func(ctx context.Context, crd client.Client) error

	announced int
	rewritten []string
	noted     []string
}

func definitionThatStores(stored ...string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: kind.Definition()},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1"}, {Name: "v2", Storage: true}},
			Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte("authority")},
				},
			},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: stored},
	}
}

func (c *apiServer) migrator(g *WithT) *migrator {
	scheme := runtime.NewScheme()
	g.Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	g.Expect(criticalv2.AddToScheme(scheme)).To(Succeed())
	definitions := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.crd).WithStatusSubresource(c.crd).Build()
	served := interceptor.NewClient(definitions, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return c.list(list.(*metav1.PartialObjectMetadataList), options)
		},
		SubResourcePatch: func(ctx context.Context, _ client.Client, resource string, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
			g.Expect(resource).To(Equal("status"), "the operator may write nothing else")
			if object.GetName() == kind.Definition() {
				c.noted = object.(*apiextensionsv1.CustomResourceDefinition).Status.StoredVersions
				return definitions.Status().Patch(ctx, object, patch)
			}
			return c.rewrite(ctx, g, definitions, object, patch)
		},
	})
	return &migrator{kind: kind, client: served, live: served, announce: func(context.Context) error {
		g.Expect(c.rewritten).To(BeEmpty(), "it is announced before anything is rewritten")
		c.announced++
		return errors.New("OLM does not answer, which blocks nothing")
	}}
}

func (c *apiServer) list(list *metav1.PartialObjectMetadataList, given []client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(given)
	number, _ := strconv.Atoi(options.Continue) // The first page is asked for by nothing.
	if number >= len(c.pages) {
		return nil
	}
	for _, name := range c.pages[number] {
		namespace, name, namespaced := strings.Cut(name, "/")
		if !namespaced {
			namespace, name = "", namespace
		}
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	if number+1 < len(c.pages) {
		list.Continue = strconv.Itoa(number + 1)
	}
	return nil
}

func (c *apiServer) rewrite(ctx context.Context, g *WithT, definitions client.Client, object client.Object, patch client.Patch) error {
	if c.meanwhile != nil {
		g.Expect(c.meanwhile(ctx, definitions)).To(Succeed())
	}
	data, err := patch.Data(object)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(data).To(MatchJSON("{}"), "nothing is changed")
	path := strings.TrimPrefix(client.ObjectKeyFromObject(object).String(), "/")
	if !slices.Contains(slices.Concat(c.pages...), path) {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind.Plural}, path)
	}
	if c.refuse != nil {
		if err := c.refuse(path); err != nil {
			return err
		}
	}
	c.rewritten = append(c.rewritten, path)
	return nil
}

func TestMigration(t *testing.T) {
	resource := schema.GroupResource{Group: criticalv2.GroupVersion.Group, Resource: "criticalservices"}
	tests := map[string]struct {
		server    apiServer
		rewritten []string
		noted     []string
		err       string
	}{
		"every object of every page is rewritten, and then it is noted": {
			server:    apiServer{crd: definitionThatStores("v1", "v2"), pages: [][]string{{"a", "b"}, {"c"}}},
			rewritten: []string{"a", "b", "c"}, noted: []string{"v2"},
		},
		"objects of namespaces are rewritten there": {
			server:    apiServer{crd: definitionThatStores("v1", "v2"), pages: [][]string{{"shop/a", "web/a"}}},
			rewritten: []string{"shop/a", "web/a"}, noted: []string{"v2"},
		},
		"without objects it is noted": {
			server: apiServer{crd: definitionThatStores("v1", "v2")}, noted: []string{"v2"},
		},
		"nothing is written if nothing else is stored": {
			server: apiServer{crd: definitionThatStores("v2"), pages: [][]string{{"a"}}},
		},
		"nothing is written while no webhook converts": {
			server: apiServer{crd: func() *apiextensionsv1.CustomResourceDefinition {
				crd := definitionThatStores("v1", "v2")
				crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
				return crd
			}(), pages: [][]string{{"a"}}},
		},
		"nothing is written while the API server has no authority to trust the webhook by": {
			server: apiServer{crd: func() *apiextensionsv1.CustomResourceDefinition {
				crd := definitionThatStores("v1", "v2")
				crd.Spec.Conversion.Webhook.ClientConfig.CABundle = nil
				return crd
			}(), pages: [][]string{{"a"}}},
		},
		"nothing is written while v1 is the one that is stored": {
			server: apiServer{crd: func() *apiextensionsv1.CustomResourceDefinition {
				crd := definitionThatStores("v1")
				crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Storage: true}, {Name: "v2"}}
				return crd
			}(), pages: [][]string{{"a"}}},
		},
		"an object that cannot be rewritten keeps its version noted": {
			server: apiServer{
				crd: definitionThatStores("v1", "v2"), pages: [][]string{{"a", "b"}, {"c"}},
				refuse: func(name string) error {
					if name == "b" {
						return errors.New("no answer from the webhook")
					}
					return nil
				},
			},
			rewritten: []string{"a"}, err: `rewrite CriticalService "b": no answer from the webhook`,
		},
		"an object that another client wrote, or deleted, is done": {
			server: apiServer{
				crd: definitionThatStores("v1", "v2"), pages: [][]string{{"a", "b", "c"}},
				refuse: func(name string) error {
					switch name {
					case "a":
						return apierrors.NewConflict(resource, name, errors.New("modified"))
					case "b":
						return apierrors.NewNotFound(resource, name)
					}
					return nil
				},
			},
			rewritten: []string{"c"}, noted: []string{"v2"},
		},
		"a definition that changes meanwhile is looked at again": {
			server: apiServer{
				crd: definitionThatStores("v1", "v2"), pages: [][]string{{"a"}},
				meanwhile: func(ctx context.Context, definitions client.Client) error {
					var crd apiextensionsv1.CustomResourceDefinition
					if err := definitions.Get(ctx, types.NamespacedName{Name: kind.Definition()}, &crd); err != nil {
						return err
					}
					crd.Labels = map[string]string{"changed": "yes"}
					return definitions.Update(ctx, &crd)
				},
			},
			rewritten: []string{"a"}, noted: []string{"v2"}, err: "object was modified",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m := test.server.migrator(g)
			_, err := m.reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: kind.Definition()}})
			g.Expect(fmt.Sprint(err)).To(ContainSubstring(test.err))
			g.Expect(err != nil).To(Equal(test.err != ""))
			g.Expect(test.server.rewritten).To(Equal(test.rewritten))
			g.Expect(test.server.noted).To(Equal(test.noted))
			runs := test.rewritten != nil || test.noted != nil || test.err != ""
			g.Expect(test.server.announced).To(Equal(map[bool]int{true: 1}[runs]), "only what runs is announced")

			var crd apiextensionsv1.CustomResourceDefinition
			g.Expect(m.live.Get(t.Context(), types.NamespacedName{Name: kind.Definition()}, &crd)).To(Succeed())
			if test.noted != nil && test.err == "" {
				g.Expect(crd.Status.StoredVersions).To(Equal([]string{"v2"}))
			} else {
				g.Expect(crd.Status.StoredVersions).NotTo(BeEmpty())
				g.Expect(test.err == "" || len(crd.Status.StoredVersions) == 2).To(BeTrue(), "no version is dropped after a failure")
			}
		})
	}
}
