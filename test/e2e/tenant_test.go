//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
)

// What users of any namespace can write, as editors of it, must not end the operator of all.

// configMapSize is nearly as much as a ConfigMap may have, 1 MiB.
const configMapSize = 1<<20 - 4096

// annotationsSize is nearly as much as the annotations of an object may have, 256 KiB.
const annotationsSize = 1<<18 - 4096

// quadraticTable is a table of 72 KB in which every listener has the same page of many paths: as large
// as their product where each listener gets a copy of its page.
func quadraticTable() string {
	const entries = 12000
	return `{"pages":[{"probes":{"paths":[""` + strings.Repeat(`,""`, entries) + `]}}],"listeners":[{}` + strings.Repeat(`,{}`, entries) + `]}`
}

// longTable is a table of as many listeners as fit into a ConfigMap.
func longTable() string {
	return `{"pages":[{}],"listeners":[{}` + strings.Repeat(`,{}`, configMapSize/len(`,{}`)-20) + `]}`
}

// foreignTable makes a table of a responder that there is not. The operator removes it; a finalizer keeps
// it there until the scenario ends.
func (w *world) foreignTable(data string) {
	w.t.Helper()
	table := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: criticalv2.ResponderName, Labels: labels{criticalv2.LabelResponder: criticalv2.ResponderListeners},
			Finalizers: []string{"example.com/stays"},
		},
		Data: map[string]string{listener.Key: data},
	}
	w.create(table)
	w.t.Cleanup(func() { change(w, table, func(c *corev1.ConfigMap) { c.Finalizers = nil }) })
	w.Eventually(func() *metav1.Time {
		w.refresh(table)
		return table.DeletionTimestamp
	}).ShouldNot(BeNil(), "the operator has seen the table, and removes it")
}

// assignedPort is the port of the responder that stands in for the Service's port; 0 if the table has none.
func (s *service) assignedPort(g Gomega) int32 {
	var table corev1.ConfigMap
	g.Expect(s.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: criticalv2.ResponderName}, &table)).To(Succeed())
	listeners, err := listener.Parse([]byte(table.Data[listener.Key]))
	g.Expect(err).NotTo(HaveOccurred())
	port, _ := listeners.Find(s.object.Name, s.object.Spec.Ports[0].Name)
	return port
}

// TestTheOperatorOutlivesWhatTenantsWrite is not parallel: it kills the operator, and keeps the API server busy.
func TestTheOperatorOutlivesWhatTenantsWrite(t *testing.T) {
	const manyObjects, attacks = 400, 5
	shops := []*service{}
	apps := map[*service]*appsv1.Deployment{}
	for range 2 {
		w := newWorld(t)
		app := w.deployment("shop")
		shop := w.service("shop").withPage()
		shops, apps[shop] = append(shops, shop), app
	}
	for _, shop := range shops {
		shop.ready()
	}
	attacked, w := shops[0], shops[1].world
	w.Expect(w.operatorMemoryLimit()).To(Equal("512Mi"), "the limit that is shipped")
	before := w.operatorProcesses()

	// Tables where nothing is critical. A Service beside them changes, so that the operator looks there.
	for _, data := range []string{quadraticTable(), longTable()} {
		tenant := newWorld(t).asTeam()
		web := tenant.service("web")
		tenant.foreignTable(data)
		change(tenant, web.object, func(s *corev1.Service) { s.Labels["changed"] = "yes" })
	}
	// ConfigMaps with the label, Maintenances and ServiceFallbacks, as large as they may be. They go
	// with their namespace.
	tenant := newWorld(t).asTeam()
	for i := range manyObjects {
		w.Expect(tenant.Create(w.ctx, largeObject(tenant.namespace, i))).To(Succeed())
	}
	// The table of a responder that there is: the operator puts it right, with the same port.
	port, editor := attacked.assignedPort(attacked), attacked.asTeam()
	table := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: attacked.namespace, Name: criticalv2.ResponderName}}
	for range attacks {
		change(editor, table, func(c *corev1.ConfigMap) { c.Data[listener.Key] = quadraticTable() })
		attacked.Eventually(attacked.assignedPort).Should(Equal(port), "the port in the table")
	}
	w.logOperatorMemory()
	w.Expect(w.operatorProcesses()).To(Equal(before), "the operator has not ended")

	// With all of it in the cluster it starts, and fails over.
	w.killOperator()
	again := w.operatorProcesses()
	w.Expect(again).To(HaveEach(BeZero()), "restarts of each replica")
	for _, shop := range shops {
		shop.scale(apps[shop], 0)
		shop.standsIn(thePage)
	}
	w.logOperatorMemory()
	w.Expect(w.operatorProcesses()).To(Equal(again), "the operator has not ended")
}

// largeObject is one of the kinds that an editor may write and the operator watches.
func largeObject(namespace string, i int) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("large-%d", i)}
	services := make([]string, 64)
	for k := range services {
		services[k] = fmt.Sprintf("%s-%d-%d", strings.Repeat("s", 40), i, k)
	}
	if i%4 < 2 {
		meta.Labels = labels{criticalv2.LabelResponder: []string{"anything", criticalv2.ResponderContent}[i%4]}
		return &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"index.html": strings.Repeat("x", configMapSize)}}
	}
	meta.Annotations = map[string]string{"example.com/notes": strings.Repeat("x", annotationsSize)}
	if i%4 == 2 {
		return &criticalv2.Maintenance{ObjectMeta: meta, Spec: criticalv2.MaintenanceSpec{
			Services: services[:16], Message: strings.Repeat("x", criticalv2.MaxMaintenanceMessage), Restore: &criticalv2.WorkloadReplicas{Deployment: "none", Replicas: 1},
		}}
	}
	return &criticalv2.ServiceFallback{ObjectMeta: meta, Spec: criticalv2.ServiceFallbackSpec{Services: services}}
}

func (w *world) operatorMemoryLimit() string {
	w.t.Helper()
	var deployment appsv1.Deployment
	w.Expect(w.Get(w.ctx, types.NamespacedName{Namespace: operatorNamespace, Name: operatorName}, &deployment)).To(Succeed())
	return deployment.Spec.Template.Spec.Containers[0].Resources.Limits.Memory().String()
}

func (w *world) logOperatorMemory() {
	w.t.Helper()
	for _, pod := range w.operatorPods(w) {
		w.t.Logf("the operator has %.1f MiB in memory", float64(w.residentMemory(&pod, "manager"))/(1<<20))
	}
}
