package responder_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/write"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/test/testenv"
)

// The same story is lived again and again; each time another write of the operator goes wrong, or is its last. Every scene
// must be reached and the end must be the same.
func TestTheEndIsTheSameWhicheverWriteGoesWrong(t *testing.T) {
	t.Parallel()
	testenv.WhicheverWriteGoesWrong(t, 22, lived)
}

// The same story is lived by operators that see the cluster as it was, in another order, or with gaps.
func TestTheEndIsTheSameHoweverItIsSeen(t *testing.T) {
	t.Parallel()
	testenv.HoweverItIsSeen(t, lived)
}

var lived = testenv.SideBySide(func(t *testing.T, fate *testenv.Fate) string { return newWorldAlone(t).live(fate) })

// live lives one story, of a responder that comes, serves a team's page to two Services, is damaged, goes and comes again,
// under an operator of its own, and describes the end.
func (w *world) live(fate *testenv.Fate) string {
	w.T.Helper()
	scaling := standard
	scaling.MaxReplicas = 6
	fate.Record(w.World, testenv.Laws{Manager: write.FieldManager, Writes: map[string][]string{
		"Pod": {"status", "metadata.annotations"},
	}, Further: []func([]testenv.Revision) []string{strangers}}, &corev1.ServiceList{}, &corev1.PodList{}, &corev1.ConfigMapList{},
		&discoveryv1.EndpointSliceList{}, &appsv1.DeploymentList{}, &policyv1.PodDisruptionBudgetList{}, &autoscalingv2.HorizontalPodAutoscalerList{})
	w.startWith(scaling, fate.Befall)
	replace := func() { w.stop(); w.startWith(scaling, fate.Follow) }
	fate.Succeed(w.T, replace)
	beWhole := ConsistOf("Deployment", "ConfigMap", "PodDisruptionBudget", "HorizontalPodAutoscaler")

	service, web := w.critical("web", criticalv2.PageFallback{ConfigMapName: "page"})
	page := w.content("page", "<h1>Back soon</h1>")
	w.Eventually(w.there).Should(beWhole)
	w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http"}), "one Service comes before the other, also where Services are seen late")
	w.Eventually(func() int { return len(w.deployment().Spec.Template.Spec.Volumes) }).Should(Equal(2), "the page is mounted")
	pod := w.pod("responder-1")
	w.containersReady(pod, "10.9.0.1")
	w.Eventually(func() bool { return w.Exists(pod) && protection.IsPublished(pod) }).Should(BeTrue())
	version := func() string { w.Exists(pod); return pod.Annotations[criticalv2.AnnotationContentVersion] }
	w.Eventually(version).ShouldNot(BeEmpty())

	_, api := w.critical("api", criticalv2.PageFallback{Replicas: new(int32(3))})
	w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http", "20001 api/http"}))
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{}
	w.Eventually(func() *int32 { w.Exists(w.named(autoscaler)); return autoscaler.Spec.MinReplicas }).Should(HaveValue(BeEquivalentTo(3)))
	published := w.publishPod("web", pod)
	testenv.Update(w.World, service, func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "grpc", Port: 81, TargetPort: intstr.FromInt32(8081)})
	})
	w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http", "20001 api/http", "20002 web/grpc"}))
	first := version()
	testenv.Update(w.World, page, func(c *corev1.ConfigMap) { c.Data["index.html"] = "<h1>Tomorrow</h1>" })
	w.Eventually(version).ShouldNot(Equal(first), "the new page is fetched at once")

	w.Delete(w.named(&policyv1.PodDisruptionBudget{}))
	testenv.Update(w.World, w.deployment(), func(d *appsv1.Deployment) { d.Spec.Template.Spec.AutomountServiceAccountToken = new(true) })
	w.Eventually(func() bool { return *w.deployment().Spec.Template.Spec.AutomountServiceAccountToken }).Should(BeFalse())
	w.Eventually(w.there).Should(beWhole, "what a user removed comes back")

	testenv.Update(w.World, service, func(s *corev1.Service) { s.Spec.Ports = s.Spec.Ports[:1] })
	w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http", "20001 api/http"}), "a port that is gone, and not published")
	w.Delete(web)
	w.Delete(published)
	w.Eventually(w.numbers).Should(Equal([]string{"20001 api/http"}), "its number stays")
	w.Delete(api)
	w.Eventually(w.there).Should(BeEmpty())
	w.asking("api", criticalv2.PageFallback{Replicas: new(int32(3))})
	w.Eventually(w.there).Should(beWhole)

	fate.AwaitRest(w.World, replace, func() *testenv.Operator { return w.current().Settled(w.World) })
	table := w.table()
	w.Expect(table.Listeners).To(HaveLen(1))
	table.Listeners[0].Port, table.Next = 0, 0 // The table of before may still have been there.
	text, err := table.Encode()
	w.Expect(err).NotTo(HaveOccurred())
	return string(text) + w.Describe(&appsv1.DeploymentList{}, &policyv1.PodDisruptionBudgetList{}, &autoscalingv2.HorizontalPodAutoscalerList{})
}

// strangers are owners of what the operator has made that are those of no slice which asks for it.
func strangers(revisions []testenv.Revision) []string {
	asking := map[types.UID]bool{}
	for _, r := range revisions {
		if r.Kind == "EndpointSlice" {
			for _, owner := range r.GetOwnerReferences() {
				asking[owner.UID] = true
			}
		}
	}
	var found []string
	for _, r := range revisions {
		for _, owner := range r.GetOwnerReferences() {
			if !asking[owner.UID] {
				found = append(found, fmt.Sprintf("%s has the owner %s %q", r, owner.Kind, owner.Name))
			}
		}
	}
	return found
}
