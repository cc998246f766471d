package apiserver_test

import (
	"io"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

func TestDiscoveryListsWhatIsServed(t *testing.T) {
	w := serving(t)
	found, err := w.discover()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(found.APIResources).To(ConsistOf(
		And(HaveField("Name", "etcdinstances"), HaveField("Verbs", BeEmpty()), HaveField("Namespaced", true)),
		And(HaveField("Name", "etcdinstances/backup"), HaveField("Verbs", ConsistOf("get", "create")), HaveField("Namespaced", true)),
		And(HaveField("Name", "etcdinstances/restore"), HaveField("Verbs", ConsistOf("get", "create")), HaveField("Namespaced", true)),
	))
	clients, err := discovery.NewDiscoveryClientForConfig(cluster.Admin)
	w.Expect(err).NotTo(HaveOccurred())
	aggregated := func() map[schema.GroupVersion]*metav1.APIResourceList {
		_, resources, _, err := clients.GroupsAndMaybeResources()
		w.Expect(err).NotTo(HaveOccurred())
		return resources
	}
	w.Eventually(aggregated).Should(HaveKeyWithValue(schema.GroupVersion{Group: group, Version: "v1alpha1"},
		HaveField("APIResources", ContainElement(HaveField("Name", "etcdinstances/backup")))), "by discovery v2, too")
}

func TestOpenAPIDescribesIt(t *testing.T) {
	w := serving(t)
	described := func(path string) func() string {
		return func() string {
			answer := w.get(cluster.Admin, path)
			body, err := io.ReadAll(answer.Body)
			w.Expect(err).NotTo(HaveOccurred())
			return http.StatusText(answer.StatusCode) + string(body)
		}
	}
	const path = "/apis/subresources.mycrd.com/v1alpha1/namespaces/{namespace}/etcdinstances/{name}/backup"
	w.Eventually(described("/openapi/v3/apis/subresources.mycrd.com/v1alpha1")).Should(And(HavePrefix("OK"), ContainSubstring(path)))
	w.Eventually(described("/openapi/v2")).Should(And(ContainSubstring(path), ContainSubstring("BackupResult")))
}

// A server that is down must be distinguished from one that was withdrawn: as long as the APIService is
// there, discovery is incomplete, and the namespace controller deletes no namespace.
func TestDiscoveryFailsWhileItIsDown(t *testing.T) {
	w := serving(t)
	w.Die()
	w.Eventually(w.available).Should(Equal("False"))
	clients, err := discovery.NewDiscoveryClientForConfig(cluster.Admin)
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(func() map[schema.GroupVersion]error {
		_, _, failed, err := clients.GroupsAndMaybeResources()
		w.Expect(err).NotTo(HaveOccurred())
		return failed
	}).Should(HaveKey(schema.GroupVersion{Group: group, Version: "v1alpha1"}))
}
