//go:build e2e

package olm

import (
	"fmt"
	"slices"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// thing is an object of any kind.
type thing struct {
	resource        schema.GroupResource
	namespace, name string
}

func (t thing) String() string {
	if t.namespace == "" {
		return fmt.Sprintf("%s %s", t.resource, t.name)
	}
	return fmt.Sprintf("%s %s/%s", t.resource, t.namespace, t.name)
}

// notKept are resources whose objects come and go by themselves.
var notKept = []string{"events", "events.events.k8s.io"}

// inventory is everything that is in the cluster.
func (w *world) inventory(g Gomega) map[thing]bool {
	// A group whose server is about to go, or to come, has nothing that counts.
	lists, err := w.Clientset.Discovery().ServerPreferredResources()
	if !discovery.IsGroupDiscoveryFailedError(err) {
		g.Expect(err).NotTo(HaveOccurred())
	}
	resources := discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists)
	config := rest.CopyConfig(w.Config)
	// Some resources are deprecated, and are in the cluster all the same.
	config.WarningHandler = rest.NoWarnings{}
	reader, err := metadata.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	found := map[thing]bool{}
	for _, list := range resources {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		g.Expect(err).NotTo(HaveOccurred())
		for _, resource := range list.APIResources {
			kind := schema.GroupResource{Group: version.Group, Resource: resource.Name}
			if slices.Contains(notKept, kind.String()) {
				continue
			}
			objects, err := reader.Resource(version.WithResource(resource.Name)).List(w.ctx, metav1.ListOptions{})
			g.Expect(err).NotTo(HaveOccurred(), "list %s", kind)
			for _, object := range objects.Items {
				found[thing{resource: kind, namespace: object.Namespace, name: object.Name}] = true
			}
		}
	}
	return found
}

// leavesNothing waits until nothing is in the cluster that was not there before the operator. It removes again what OLM v0
// creates once more while it catches up, as the guide says.
func (w *world) leavesNothing(removeAgain func()) {
	w.t.Helper()
	w.Eventually(func(g Gomega) []string {
		var more []string
		for object := range w.inventory(g) {
			if !w.before[object] {
				more = append(more, object.String())
			}
		}
		slices.Sort(more)
		if len(more) > 0 {
			w.t.Logf("still there: %s", more)
			removeAgain()
		}
		return more
	}).Should(BeEmpty(), "what the operator leaves in the cluster")
}
