//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/test/cluster"
)

// What an editor of one namespace writes there, to be led to what is elsewhere. All of it is written as that
// editor; an administrator helps only where a scenario says so.

// bank is the application of a neighbour, and the address of its Pod.
func (w *world) bank() (bank *service, address string) {
	w.t.Helper()
	w.deployment("bank")
	bank = w.service("bank")
	bank.answeredBy("bank")
	return bank, w.podsWith(w, labels{"app": "bank"})[0].Status.PodIP
}

// isUntouched wants the neighbour's Service to be as it was.
func (s *service) isUntouched() {
	s.t.Helper()
	s.answeredBy("bank")
	s.Expect(s.standbyEndpoints(s)).To(BeEmpty(), "the neighbour asked for no standby")
}

// published are the addresses that the operator publishes in the namespace.
func (w *world) published(g Gomega) []string {
	var list discoveryv1.EndpointSliceList
	g.Expect(w.List(w.ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels{discoveryv1.LabelManagedBy: criticalv2.ManagedBy})).To(Succeed())
	var addresses []string
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			addresses = append(addresses, endpoint.Addresses...)
		}
	}
	return addresses
}

// mayNotMake wants the API server to refuse an object.
func (w *world) mayNotMake(object client.Object, what string) {
	w.t.Helper()
	err := w.Create(w.ctx, object)
	w.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", what, err)
}

func TestATeamGetsNowhereElse(t *testing.T) {
	t.Parallel()
	w, neighbour := newWorld(t), newWorld(t)
	team := w.asTeam()
	bank, _ := neighbour.bank()
	naming := func(namespace string) *criticalv2.ServiceFallback {
		return &criticalv2.ServiceFallback{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "try-"}, Spec: criticalv2.ServiceFallbackSpec{Services: []string{"bank"}},
		}
	}

	team.mayNotMake(naming(neighbour.namespace), "another namespace")
	w.Expect(team.Create(w.ctx, naming(w.namespace))).To(Succeed(), "a name that exists elsewhere only")
	elsewhere := naming(w.namespace)
	elsewhere.Spec.Fallback.PodTemplate = &criticalv2.PodTemplateFallback{Name: "any", Namespace: neighbour.namespace}
	w.Expect(team.Create(w.ctx, elsewhere)).To(MatchError(ContainSubstring("leave namespace out")))
	team.mayNotMake(&criticalv2.Maintenance{
		ObjectMeta: metav1.ObjectMeta{Namespace: neighbour.namespace, Name: "theirs"}, Spec: criticalv2.MaintenanceSpec{Services: []string{"bank"}},
	}, "a maintenance of another namespace")
	team.mayNotMake(&criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Spec: criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: labels{"a": "b"}}},
	}, "a kind of the cluster")
	team.mayNotMake(&corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "theirs"}}, "PodTemplates are the administrator's to give")

	own := team.service("own").withTeam(team.Client, pageSentence)
	planned := &criticalv2.Maintenance{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "planned"}, Spec: criticalv2.MaintenanceSpec{Services: []string{"bank"}}}
	w.Expect(team.Create(w.ctx, planned)).To(Succeed())
	for lie, object := range map[string]client.Object{
		`{"status":{"details":null}}`:                               own.policy,
		`{"status":{"owed":{"deployment":"bank","replicas":1000}}}`: planned,
	} {
		err := team.Status().Patch(w.ctx, object, client.RawPatch(types.MergePatchType, []byte(lie)))
		w.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "only the operator writes the status: %v", err)
	}
	// Its own page answers for its own Service alone.
	own.standsIn(thePage)
	bank.isUntouched()
}

// TestUsersReadAndWriteByTheirRoleInTheNamespace: the team above is an editor. A viewer only reads, and an administrator
// of the namespace writes no more than an editor.
func TestUsersReadAndWriteByTheirRoleInTheNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	viewer, admin := w.asUser("viewer", "view"), w.asUser("admin", "admin")
	named := metav1.ObjectMeta{Namespace: w.namespace, Name: "any"}
	for _, object := range []client.Object{
		&criticalv2.ServiceFallback{ObjectMeta: named, Spec: criticalv2.ServiceFallbackSpec{Services: []string{"any"}}},
		&criticalv2.Maintenance{ObjectMeta: named, Spec: criticalv2.MaintenanceSpec{Services: []string{"any"}}},
	} {
		viewer.mayNotMake(object, "a viewer writes nothing")
		w.Expect(admin.Create(w.ctx, object)).To(Succeed())
		w.Expect(viewer.Get(w.ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())

		labelled := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"yes"}}}`))
		lie := client.RawPatch(types.MergePatchType, []byte(`{"status":{"observedGeneration":7}}`))
		for what, err := range map[string]error{
			"a viewer changes it": viewer.Patch(w.ctx, object, labelled), "a viewer deletes it": viewer.Delete(w.ctx, object),
			"a viewer writes its status": viewer.Status().Patch(w.ctx, object, lie), "an administrator writes its status": admin.Status().Patch(w.ctx, object, lie),
		} {
			w.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%T: %s: %v", object, what, err)
		}
		w.Expect(admin.Patch(w.ctx, object, labelled)).To(Succeed())
		w.Expect(admin.Delete(w.ctx, object)).To(Succeed())
	}
}

// TestABackupThatATeamMakesReachesNoNeighbour: a Service can lead to an address elsewhere (CVE-2021-25740), but not
// as a fallback that the operator publishes.
func TestABackupThatATeamMakesReachesNoNeighbour(t *testing.T) {
	t.Parallel()
	w, neighbour := newWorld(t), newWorld(t)
	team := w.asTeam()
	bank, address := neighbour.bank()
	withoutSelector := func(s *corev1.Service) { s.Spec.Selector = nil }
	team.service("exit", withoutSelector)
	own := team.service("own").withTeamsFallback(team.Client, criticalv2.Fallback{Service: &criticalv2.BackupFallback{Name: "exit"}})
	own.becomes(criticalv2.StateExposed, criticalv2.ReasonBackupNotReady, "exit")

	// Where clusters are new, the role edit may write neither kind of endpoints.
	byHand := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "exit-by-hand",
			Labels: labels{discoveryv1.LabelServiceName: "exit", discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"},
		},
		AddressType: discoveryv1.AddressType(bank.object.Spec.IPFamilies[0]),
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{address}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: "pretended", UID: "pretended"},
		}},
		Ports: []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8080))}},
	}
	team.mayNotMake(byHand.DeepCopy(), "an EndpointSlice")
	standby := byHand.DeepCopy()
	standby.Labels = labels{discoveryv1.LabelServiceName: "own", discoveryv1.LabelManagedBy: criticalv2.ManagedBy, criticalv2.LabelFallbackKind: criticalv2.FallbackKindService}
	team.mayNotMake(standby, "a standby slice")
	team.mayNotMake(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Endpoints", "metadata": map[string]any{"namespace": w.namespace, "name": "exit"},
		"subsets": []any{map[string]any{"addresses": []any{map[string]any{"ip": address}}, "ports": []any{map[string]any{"port": int64(8080)}}}},
	}}, "Endpoints")

	// Where they are old it may: what an administrator writes here, a team writes there.
	w.create(byHand)
	own.becomes(criticalv2.StateExposed, criticalv2.ReasonBackupUnsuitable, "are not Pods of namespace")
	w.Expect(w.published(w)).NotTo(ContainElement(address))

	// A name is no endpoint.
	team.service("alias", withoutSelector, func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "bank."+neighbour.namespace+".svc.cluster.local"
	})
	change(team, own.policy.(*criticalv2.ServiceFallback), func(f *criticalv2.ServiceFallback) { f.Spec.Fallback.Service.Name = "alias" })
	own.becomes(criticalv2.StateExposed, criticalv2.ReasonBackupNotReady, "alias")
	w.Consistently(w.published).ShouldNot(ContainElement(address))
	own.answeredByNoOne()
	bank.isUntouched()
}

func TestAPageOfATeamShowsNoContentOfANeighbour(t *testing.T) {
	t.Parallel()
	w, neighbour := newWorld(t), newWorld(t)
	team := w.asTeam()
	neighbour.content("accounts", map[string]string{"index.html": "<p>" + contentSentence})
	showing := func(name string) criticalv2.Fallback {
		return criticalv2.Fallback{Page: &criticalv2.PageFallback{Message: pageSentence, Replicas: new(int32(1)), ConfigMapName: name}}
	}
	for _, path := range []string{neighbour.namespace + "/accounts", "../" + neighbour.namespace + "/accounts"} {
		w.Expect(team.Create(w.ctx, &criticalv2.ServiceFallback{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "own"},
			Spec:       criticalv2.ServiceFallbackSpec{Services: []string{"own"}, ProtectionSpec: criticalv2.ProtectionSpec{Fallback: showing(path)}},
		})).To(MatchError(ContainSubstring("configMapName must be a ConfigMap's name")), path)
	}
	own := team.service("own").withTeamsFallback(team.Client, showing("accounts"))
	own.becomes(criticalv2.StateCovered, criticalv2.ReasonPageContentInvalid, fmt.Sprintf("ConfigMap %q does not exist in namespace %q", "accounts", w.namespace))
	own.answeredBy(thePage)
}

// TestLabelsOfTheOperatorMakeNothingItsOwn: any user of a namespace can write them there. A Pod is the operator's
// by its controller.
func TestLabelsOfTheOperatorMakeNothingItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	team := w.asTeam()
	application := team.deployment("shop")
	// Kubernetes copies labels of a Service to the EndpointSlices that it makes.
	shop := team.service("shop", labelled(labels{
		discoveryv1.LabelManagedBy: criticalv2.ManagedBy, criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage, criticalv2.LabelStandbyPod: "pretended",
	})).withTeam(team.Client, pageSentence).ready()
	shop.answeredBy("shop")

	// It has all that a responder Pod has but its controller, and listens where the responder does.
	listensOn := w.respondersRun()[0].Annotations[criticalv2.AnnotationListeners]
	impostor := team.deployment("impostor", "--port=8080", fmt.Sprintf("--port=%d", shop.assignedPort(shop)))
	marks := labels{criticalv2.LabelResponder: criticalv2.ResponderServer, criticalv2.LabelFallbackFor: "", "app": "impostor"}
	change(team, impostor, func(d *appsv1.Deployment) {
		d.Spec.Template.Labels, d.Spec.Template.Annotations = marks, labels{criticalv2.AnnotationListeners: listensOn}
	})
	var address string
	w.Eventually(func(g Gomega) {
		pods := w.podsWith(g, marks)
		g.Expect(pods).To(HaveLen(1))
		g.Expect(cluster.PodReady(&pods[0])).To(BeTrue())
		address = pods[0].Status.PodIP
	}).Should(Succeed(), "the Pod that pretends")
	w.Expect(ask(urlOf(address, shop.assignedPort(shop)))).To(Equal("impostor"), "it would answer")

	team.scale(application, 0)
	shop.standsIn(thePage)
	w.Consistently(w.published).Should(And(Not(BeEmpty()), Not(ContainElement(address))))
	shop.answeredBy(thePage)
	team.scale(application, 1)
	shop.standsBy("shop")
}

func TestATableThatATeamEditsIsRestoredAndIsNoMatterElsewhere(t *testing.T) {
	t.Parallel()
	w, neighbour := newWorld(t), newWorld(t)
	team := w.asTeam()
	bank := neighbour.service("bank").withPage()
	own := team.service("own").withTeam(team.Client, pageSentence)
	bank.standsIn(thePage)
	own.standsIn(thePage)
	port := own.assignedPort(own)
	o := bank.watched()

	table := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: criticalv2.ResponderName}}
	for sentence, edit := range map[string]func(string) string{
		"it is no table": func(string) string { return "{" },
		"its listeners share a page of many paths":   func(string) string { return quadraticTable() },
		"its listeners are those of another Service": func(text string) string { return strings.ReplaceAll(text, `"own"`, `"bank"`) },
	} {
		change(team, table, func(c *corev1.ConfigMap) { c.Data[listener.Key] = edit(c.Data[listener.Key]) })
		own.Eventually(own.assignedPort).Should(Equal(port), "the port in the table, after %s", sentence)
	}
	results := o.end()
	w.Expect(unanswered(results)).To(BeEmpty(), "requests to the neighbour that no one answered")
	w.Expect(tally(results)).To(And(HaveLen(1), HaveKey(thePage)))
	own.answeredBy(thePage)
}

// TestManyMaintenancesOfATeamDelayNoOther is not parallel: it keeps the operator and the API server busy. What the
// operator is not permitted to restore, it asks for again, ever more seldom: how often is held by a test of its
// controller, because so many delay no other even where each is asked for every second.
func TestManyMaintenancesOfATeamDelayNoOther(t *testing.T) {
	const many = 300
	w, neighbour := newWorld(t), newWorld(t)
	team := w.asTeam()
	application := neighbour.deployment("bank")
	bank := neighbour.service("bank").withPage().ready()
	bank.maintained("on", "--message", moving, "--until", "1h", "--scale-down", "--yes")
	bank.announces(moving, bank.ends())
	for i := range many {
		// They go with their namespace.
		w.Expect(team.Create(w.ctx, &criticalv2.Maintenance{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("never-%d", i)},
			Spec: criticalv2.MaintenanceSpec{
				Services: []string{"own"}, Until: new(metav1.NewTime(time.Now().Add(time.Hour))), Restore: &criticalv2.WorkloadReplicas{Deployment: "own", Replicas: 1},
			},
		})).To(Succeed())
	}
	w.Eventually(func(g Gomega) (waiting int) {
		var list criticalv2.MaintenanceList
		g.Expect(team.List(w.ctx, &list, client.InNamespace(w.namespace))).To(Succeed())
		for i := range list.Items {
			if meta.IsStatusConditionPresentAndEqual(list.Items[i].Status.Conditions, criticalv2.MaintenanceRestored, metav1.ConditionUnknown) {
				waiting++
			}
		}
		return waiting
	}).Should(Equal(many), "Maintenances that the operator may not restore")

	soonest := time.Now().Add(30 * time.Second).Truncate(time.Second)
	bank.maintained("on", "--until", soonest.Format(time.RFC3339))
	bank.answeredBy("bank")
	w.Expect(time.Now()).To(BeTemporally(">=", soonest))
	w.Expect(neighbour.replicas(application)).To(Equal(int32(1)))
	ended := bank.maintenance()
	w.Eventually(func(g Gomega) {
		g.Expect(neighbour.Get(w.ctx, client.ObjectKeyFromObject(ended), ended)).To(Succeed())
		g.Expect(ended.Status.Ended).NotTo(BeNil())
	}).Should(Succeed())
	w.Expect(ended.Status.Restored).To(Equal(&criticalv2.WorkloadReplicas{Deployment: "bank", Replicas: 1}))
	restored := meta.FindStatusCondition(ended.Status.Conditions, criticalv2.MaintenanceRestored)
	t.Logf("beside %d others, the application was given back %s after the end", many, restored.LastTransitionTime.Sub(soonest))
}

// ends is when the maintenance of the Service that the plugin made ends.
func (s *service) ends() time.Time {
	s.t.Helper()
	m := s.maintenance()
	s.refresh(m)
	return m.Spec.Until.Time
}
