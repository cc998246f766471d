//go:build e2e

package e2e

import (
	"net"
	"net/url"
	"strconv"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// database is a Database of the scenario, and what can be expected of it.
type database struct {
	*world
	object *workloadsv1.Database
}

// engines are the types of Databases.
var engines = []workloadsv1.DatabaseType{workloadsv1.DatabaseMongo, workloadsv1.DatabaseMySQL, workloadsv1.DatabasePostgres}

// database makes a Database.
func (w *world) database(name string, kind workloadsv1.DatabaseType, edits ...func(*workloadsv1.Database)) *database {
	w.t.Helper()
	object := &workloadsv1.Database{ObjectMeta: w.named(name), Spec: workloadsv1.DatabaseSpec{Type: kind}}
	for _, edit := range edits {
		edit(object)
	}
	w.create(object)
	return &database{world: w, object: object}
}

// edit changes the spec.
func (d *database) edit(edit func(*workloadsv1.DatabaseSpec)) {
	d.t.Helper()
	change(d.world, d.object, func(object *workloadsv1.Database) { edit(&object.Spec) })
}

func (d *database) suspend(away bool) {
	d.t.Helper()
	d.edit(func(spec *workloadsv1.DatabaseSpec) { spec.Suspend = away })
}

// runs waits until the database answers, and the next outage would be covered.
func (d *database) runs() *database {
	d.t.Helper()
	d.is(workloadsv1.ConditionReady, metav1.ConditionTrue, workloadsv1.ReasonRunning)
	d.is(workloadsv1.ConditionProtected, metav1.ConditionTrue, criticalv2.ReasonStandbyReady)
	return d
}

// is waits for a condition that is of the spec as it is now, with a message that has these words.
func (d *database) is(kind string, status metav1.ConditionStatus, reason string, words ...string) {
	d.t.Helper()
	d.hasCondition(d.object, &d.object.Status.Conditions, kind, status, reason, words...)
}

// pod reads the Pod of the Database, which must be there.
func (d *database) pod() *corev1.Pod {
	d.t.Helper()
	pod := &corev1.Pod{ObjectMeta: d.named(d.object.Name)}
	d.refresh(pod)
	return pod
}

// keeps expects that the Pod is still this one, and ready.
func (d *database) keeps(pod *corev1.Pod) {
	d.t.Helper()
	now := d.pod()
	d.Expect(now.UID).To(Equal(pod.UID), "the Pod was not replaced")
	d.Expect(now.Status.ContainerStatuses).To(ConsistOf(HaveField("RestartCount", pod.Status.ContainerStatuses[0].RestartCount)))
	d.Expect(cluster.PodReady(now)).To(BeTrue())
}

// replaced waits until another Pod is in the place of this one, and ready.
func (d *database) replaced(pod *corev1.Pod) *corev1.Pod {
	d.t.Helper()
	now := &corev1.Pod{ObjectMeta: d.named(d.object.Name)}
	d.Eventually(func(g Gomega) {
		g.Expect(d.Get(d.ctx, client.ObjectKeyFromObject(now), now)).To(Succeed())
		g.Expect(now.UID).NotTo(Equal(pod.UID))
		g.Expect(cluster.PodReady(now)).To(BeTrue(), cluster.PodTrouble(now))
	}).Should(Succeed(), "the next Pod of Database %s", d.object.Name)
	return now
}

// uri is how clients on this machine reach the Database: with the credentials of its Secret, by the port of a node, or by
// the address of its Service where it has none.
func (d *database) uri() *url.URL {
	d.t.Helper()
	d.refresh(d.object)
	secret := &corev1.Secret{ObjectMeta: d.named(d.object.Status.SecretName)}
	d.refresh(secret)
	uri, err := url.Parse(string(secret.Data["uri"]))
	d.Expect(err).NotTo(HaveOccurred())
	d.Expect(uri.Host).To(Equal(d.object.Status.Address))
	if d.object.Status.NodePort == 0 {
		return d.routed(uri)
	}
	uri.Host = net.JoinHostPort(d.nodeAddress(), strconv.Itoa(int(d.object.Status.NodePort)))
	return uri
}

// routed gives a URI the address of the Service, in the place of its name.
func (d *database) routed(uri *url.URL) *url.URL {
	d.t.Helper()
	service := &corev1.Service{ObjectMeta: d.named(d.object.Name)}
	d.refresh(service)
	uri.Host = net.JoinHostPort(service.Spec.ClusterIP, uri.Port())
	return uri
}

func (w *world) nodeAddress() string {
	w.t.Helper()
	var nodes corev1.NodeList
	w.Expect(w.List(w.ctx, &nodes)).To(Succeed())
	for _, address := range nodes.Items[0].Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	w.t.Fatalf("node %s has no internal address", nodes.Items[0].Name)
	return ""
}

// ofDatabases selects the Pods of all Databases.
var ofDatabases = client.MatchingLabels{workloadsv1.LabelApp: workloadsv1.AppDatabase}

func inNamespace(w *world) client.InNamespace { return client.InNamespace(w.namespace) }

// endpoints are the names of the Pods to which the cluster sends what clients ask the Database.
func (d *database) endpoints() []string {
	d.t.Helper()
	var list discoveryv1.EndpointSliceList
	d.Expect(d.List(d.ctx, &list, inNamespace(d.world), client.MatchingLabels{discoveryv1.LabelServiceName: d.object.Name})).To(Succeed())
	var names []string
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) && endpoint.TargetRef != nil {
				names = append(names, endpoint.TargetRef.Name)
			}
		}
	}
	return names
}
