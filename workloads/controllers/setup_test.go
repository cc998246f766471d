package controllers_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/controllers/ingress"
)

// The cache takes one narrowing for each type. Of two, what one of the controllers reads would be missing.
func TestNoTwoKindsNarrowTheSameCache(t *testing.T) {
	g := NewWithT(t)
	scheme, err := controllers.Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	narrowed := map[schema.GroupVersionKind]int{}
	for object, by := range controllers.CacheOptions(controllers.Options{Ingress: ingress.Options{Permitted: true}}).ByObject {
		gvk, err := apiutil.GVKForObject(object, scheme)
		g.Expect(err).NotTo(HaveOccurred())
		narrowed[gvk]++
		g.Expect(by.Transform).NotTo(BeNil(), "%s: only what decisions read is kept", gvk.Kind)
	}
	g.Expect(narrowed).NotTo(BeEmpty())
	for gvk, times := range narrowed {
		g.Expect(times).To(Equal(1), gvk.Kind)
	}
}

// Nothing of these kinds waits for the operator when it is deleted: Kubernetes deletes what belongs to it. The
// operator may not even write metadata there, where a finalizer would be.
func TestNoKindIsKeptByAFinalizer(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile("../config/rbac/role.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	kinds := 0
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		g.Expect(yaml.Unmarshal([]byte(part), &role)).To(Succeed())
		for _, rule := range role.Rules {
			for kind, may := range map[string][]string{
				"appconfigs": nil, "webapps": nil,
				// A WebApp makes its Database. The manager of its fields has no finalizer among them.
				"databases": {"create", "patch"},
			} {
				g.Expect(rule.Resources).NotTo(ContainElement(kind + "/finalizers"))
				if slices.Contains(rule.Resources, kind) {
					kinds++
					g.Expect(rule.Verbs).To(HaveEach(BeElementOf(append(may, "get", "list", "watch"))), kind)
				}
			}
		}
	}
	g.Expect(kinds).To(BeNumerically(">=", 3))
}
