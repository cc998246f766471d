package controllers_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/critical-service/operator/workloads/controllers"
)

// The cache takes one narrowing for each type. Of two, what one of the controllers reads would be missing.
func TestNoTwoKindsNarrowTheSameCache(t *testing.T) {
	g := NewWithT(t)
	scheme, err := controllers.Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	narrowed := map[schema.GroupVersionKind]int{}
	for object, by := range controllers.CacheOptions(controllers.Options{}).ByObject {
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
