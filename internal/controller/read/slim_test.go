package read_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/test/bulk"
)

func TestWhatIsKeptOfMetadata(t *testing.T) {
	g := NewWithT(t)
	object := bulk.Fill(&corev1.ConfigMap{})
	object.Name, object.Namespace, object.UID, object.ResourceVersion = "web", "shop", "1", "2"
	kept := read.Meta(&object.ObjectMeta)
	g.Expect(kept.Name + kept.Namespace + string(kept.UID) + kept.ResourceVersion).To(Equal("webshop12"))
	g.Expect(size(g, kept)).To(BeNumerically("<", 300))
	g.Expect(size(g, read.Controller(&object.ObjectMeta))).To(BeNumerically("<", 1_200))
	for i := range object.OwnerReferences {
		object.OwnerReferences[i].Controller = nil
	}
	g.Expect(size(g, read.Owners(&object.ObjectMeta))).To(BeNumerically("<", 9_000))
	g.Expect(size(g, read.Finalizers(&object.ObjectMeta))).To(BeNumerically("<", 3_000))
	object.Annotations["mine"] = strings.Repeat("ä", 200_000)
	annotations := read.OnlyShort(object.Annotations, "mine", "other")
	g.Expect(annotations).To(HaveKeyWithValue("mine", HavePrefix("ä")))
	g.Expect(size(g, annotations)).To(BeNumerically("<", 300))
}

func size(g Gomega, value any) int {
	data, err := json.Marshal(value)
	g.Expect(err).NotTo(HaveOccurred())
	return len(data)
}

func TestTheControllerIsKeptHoweverManyOwnersThereAre(t *testing.T) {
	g := NewWithT(t)
	object := &metav1.ObjectMeta{}
	for range 100 {
		object.OwnerReferences = append(object.OwnerReferences, metav1.OwnerReference{Kind: "Job", Name: "other", UID: "2"})
	}
	controller := metav1.OwnerReference{Kind: "Database", Name: "orders", UID: "1", Controller: new(true)}
	object.OwnerReferences = append(object.OwnerReferences, controller)
	g.Expect(read.Controller(object)).To(Equal([]metav1.OwnerReference{controller}))
	kept := &metav1.ObjectMeta{OwnerReferences: read.Owners(object)}
	g.Expect(metav1.GetControllerOf(kept)).To(Equal(&controller))
	g.Expect(len(kept.OwnerReferences)).To(BeNumerically("<", 10))

	controller.UID = types.UID(strings.Repeat("1", 300))
	object.OwnerReferences = []metav1.OwnerReference{controller}
	g.Expect(read.Controller(object)[0].UID).NotTo(Equal(controller.UID), "no object has it")
}

func TestNamespaces(t *testing.T) {
	g := NewWithT(t)
	g.Expect(read.Namespaces(nil)).To(BeEmpty(), "all of them")
	g.Expect(read.Namespaces([]string{"shop", "till"})).To(And(HaveLen(2), HaveKey("shop"), HaveKey("till")))
}
