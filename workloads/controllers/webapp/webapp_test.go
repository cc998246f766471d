package webapp_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

func TestTheSevenFieldsOfTheDocumentMakeAnApplication(t *testing.T) {
	w := start(t)
	a := w.webApp(scaling, func(s *workloadsv1.WebAppSpec) { s.DBImage, s.DBSize = "mysql:8.0", "1Gi" })
	deployment, service, database := &appsv1.Deployment{ObjectMeta: w.named("shop")}, &corev1.Service{ObjectMeta: w.named("shop")}, &workloadsv1.Database{ObjectMeta: w.named("shop-db")}
	for _, object := range []client.Object{
		deployment, service, database, &policyv1.PodDisruptionBudget{ObjectMeta: w.named("shop")}, &criticalv2.ServiceFallback{ObjectMeta: w.named("shop")},
	} {
		w.Eventually(func() bool { return w.Exists(object) }).Should(BeTrue(), "%T", object)
		w.Expect(metav1.IsControlledBy(object, a)).To(BeTrue())
	}
	w.Expect(*deployment.Spec.Replicas).To(Equal(int32(2)))
	w.Expect(deployment.Spec.Template.Spec.InitContainers).To(HaveLen(1), "the meter")
	w.Expect(database.Spec.Type).To(Equal(workloadsv1.DatabaseMySQL))
	w.Expect(database.Spec.Storage.Size).To(Equal("1Gi"))
	w.Expect(service.Spec.Ports[0].TargetPort.StrVal).To(Equal("http"))
	w.Eventually(w.reason(a, workloadsv1.ConditionScalingActive)).Should(Equal(workloadsv1.ReasonTrafficUnknown))
	w.Expect(a.Status.DesiredReplicas).To(Equal(int32(2)))

	testenv.Update(w.World, a, func(a *workloadsv1.WebApp) { a.Spec.DBSize = "2Gi" })
	w.Eventually(func() string { w.Exists(database); return database.Spec.Storage.Size }).Should(Equal("2Gi"))
}

func TestAnApplicationThatRollsOutIsReady(t *testing.T) {
	w := start(t)
	a := w.webApp()
	w.rollsOut(w.deployment(a))
	w.Eventually(w.reason(a, workloadsv1.ConditionReady)).Should(Equal(workloadsv1.ReasonRunning))
	w.Expect(a.Status.ReadyReplicas).To(Equal(int32(2)))
	w.Expect(a.Status.Selector).To(Equal(workloadsv1.LabelWebApp + "=shop"))
	w.Eventually(w.EventsOf(a, "Running")).Should(HaveLen(1))
	w.operator.Settled(w.World)
	w.WritesNothing(func() []testenv.Request {
		before, reconciles := len(w.writes()), w.operator.Reconciles("webapp", w.Namespace, a.Name)
		testenv.Update(w.World, w.deployment(a), func(d *appsv1.Deployment) {
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, "example.com/touched", d.ResourceVersion)
		})
		w.Eventually(func() int { return w.operator.Reconciles("webapp", w.Namespace, a.Name) }).Should(BeNumerically(">", reconciles))
		w.operator.Settled(w.World)
		return w.writes()[before:]
	})
}

// The counter of a Pod is asked over the network, and what it says reaches the Deployment.
func TestTheNumberOfPodsFollowsTheTraffic(t *testing.T) {
	w := start(t)
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(rw, "requests_total %d\n", served.Add(5_000))
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	w.Expect(err).NotTo(HaveOccurred())
	number, err := strconv.ParseInt(port, 10, 32)
	w.Expect(err).NotTo(HaveOccurred())
	metrics := int32(number)
	a := w.webApp(scaling, func(s *workloadsv1.WebAppSpec) {
		s.TrafficSource = &workloadsv1.TrafficSource{Port: metrics, Path: "/metrics", Metric: "requests_total"}
	})
	deployment := w.deployment(a)
	w.Expect(deployment.Spec.Template.Spec.InitContainers).To(BeEmpty(), "the application counts by itself")
	pod := w.podOf(deployment, "shop-5d4f-a")
	w.PodStatus(pod, func(status *corev1.PodStatus) {
		status.PodIP, status.PodIPs = "127.0.0.1", []corev1.PodIP{{IP: "127.0.0.1"}}
	})
	w.MakeReady(pod)
	w.Eventually(w.replicas(deployment)).Should(Equal(int32(6)), "2 Pods and four at most at once")
	w.Eventually(w.reason(a, workloadsv1.ConditionScalingActive)).Should(Equal(workloadsv1.ReasonTrafficKnown))
	w.Expect(a.Status.RequestsPerSecond).NotTo(BeEmpty())
	w.Eventually(w.EventsOf(a, "Scaled")).ShouldNot(BeEmpty())

	autoscaler := autoscalerOf(w, "Deployment", "apps/v1")
	w.Eventually(w.reason(a, workloadsv1.ConditionScalingActive)).Should(Equal(workloadsv1.ReasonAutoscalerPresent))
	w.Delete(autoscaler)
	w.Eventually(w.reason(a, workloadsv1.ConditionScalingActive)).ShouldNot(Equal(workloadsv1.ReasonAutoscalerPresent))
}

func autoscalerOf(w *world, kind, version string) *autoscalingv2.HorizontalPodAutoscaler {
	w.T.Helper()
	made := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: w.named("own"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: version, Kind: kind, Name: "shop"}, MaxReplicas: 9,
	}}
	w.Create(made)
	return made
}

func TestAnAutoscalerOfTheDeploymentIsLeftAlone(t *testing.T) {
	w := start(t)
	a := w.webApp()
	deployment := w.deployment(a)
	autoscalerOf(w, "Deployment", "apps/v1")
	w.Eventually(w.reason(a, workloadsv1.ConditionScalingActive)).Should(Equal(workloadsv1.ReasonAutoscalerPresent))
	testenv.Update(w.World, deployment, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(7)) })
	testenv.Update(w.World, a, func(a *workloadsv1.WebApp) { a.Spec.Image = "shop:2" })
	w.Eventually(func() string {
		w.Expect(w.Exists(deployment)).To(BeTrue())
		return deployment.Spec.Template.Spec.Containers[0].Image
	}).Should(Equal("shop:2"))
	w.Expect(*deployment.Spec.Replicas).To(Equal(int32(7)))
}

func TestAnAutoscalerOfTheWebAppIsFollowed(t *testing.T) {
	w := start(t)
	a := w.webApp()
	deployment := w.deployment(a)
	autoscalerOf(w, "WebApp", "mycrd.com/v1")
	testenv.Update(w.World, a, func(a *workloadsv1.WebApp) { a.Spec.Replicas = new(int32(5)) })
	w.Eventually(w.replicas(deployment)).Should(Equal(int32(5)))
}

func TestTheMeterGoesWithAutoscaling(t *testing.T) {
	w := start(t)
	a := w.webApp(scaling)
	deployment, service := w.deployment(a), &corev1.Service{ObjectMeta: w.named("shop")}
	w.Expect(deployment.Spec.Template.Spec.InitContainers).To(HaveLen(1))
	testenv.Update(w.World, a, func(a *workloadsv1.WebApp) { a.Spec.AutoScaleEnabled = false })
	w.Eventually(func() []corev1.Container {
		w.Expect(w.Exists(deployment)).To(BeTrue())
		return deployment.Spec.Template.Spec.InitContainers
	}).Should(BeEmpty())
	w.Eventually(func() string {
		w.Expect(w.Exists(service)).To(BeTrue())
		return service.Spec.Ports[0].TargetPort.StrVal
	}).Should(Equal("http"))
	w.Eventually(w.reason(a, workloadsv1.ConditionScalingActive)).Should(BeEmpty())
}

func TestABudgetIsThereForTwoPodsAndGone(t *testing.T) {
	w := start(t)
	a := w.webApp()
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: w.named("shop")}
	w.Eventually(func() bool { return w.Exists(budget) }).Should(BeTrue())
	testenv.Update(w.World, a, func(a *workloadsv1.WebApp) { a.Spec.Replicas = new(int32(1)) })
	w.Eventually(func() bool { return w.Exists(budget) }).Should(BeFalse())
}

func TestAServiceOfAnotherIsLeftAlone(t *testing.T) {
	w := start(t)
	service := w.Service("shop")
	before := service.ResourceVersion
	a := w.webApp()
	w.Eventually(w.reason(a, workloadsv1.ConditionReady)).Should(Equal(workloadsv1.ReasonNameTaken))
	w.Expect(w.Exists(service)).To(BeTrue())
	w.Expect(service.ResourceVersion).To(Equal(before))
	w.Expect(w.Exists(&appsv1.Deployment{ObjectMeta: w.named("shop")})).To(BeFalse())
	w.Expect(w.Exists(&criticalv2.ServiceFallback{ObjectMeta: w.named("shop")})).To(BeFalse())
	w.Delete(service)
	w.deployment(a)
}

func TestABadImageIsReportedAndKeepsTheOldPods(t *testing.T) {
	w := start(t)
	a := w.webApp()
	deployment := w.deployment(a)
	w.rollsOut(deployment)
	w.Eventually(w.reason(a, workloadsv1.ConditionReady)).Should(Equal(workloadsv1.ReasonRunning))
	testenv.Update(w.World, a, func(a *workloadsv1.WebApp) { a.Spec.Image = "shop:nonsense" })
	w.Eventually(func() string {
		w.Expect(w.Exists(deployment)).To(BeTrue())
		return deployment.Spec.Template.Spec.Containers[0].Image
	}).Should(Equal("shop:nonsense"))
	w.PodStatus(w.podOf(deployment, "shop-5d4f-a"), func(status *corev1.PodStatus) {
		status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"},
		}}}
	})
	w.Eventually(w.reason(a, workloadsv1.ConditionReady)).Should(Equal(workloadsv1.ReasonImagePullFailing))
	w.Expect(meta.FindStatusCondition(a.Status.Conditions, workloadsv1.ConditionReady).Message).To(And(
		ContainSubstring(`"shop:nonsense" cannot be pulled`), ContainSubstring("the application answers as it did")))
	w.Expect(deployment.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue()).To(Equal(0))
}

func TestPodsThatAreRefusedAreReported(t *testing.T) {
	w := start(t)
	a := w.webApp()
	deployment := w.deployment(a)
	w.Eventually(func() error {
		w.Expect(w.Exists(deployment)).To(BeTrue())
		deployment.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota: team",
		}}
		return w.Cluster.Client.Status().Update(t.Context(), deployment)
	}).Should(Succeed())
	w.Eventually(w.reason(a, workloadsv1.ConditionReady)).Should(Equal(workloadsv1.ReasonCreateDenied))
	w.Expect(meta.FindStatusCondition(a.Status.Conditions, workloadsv1.ConditionReady).Message).To(ContainSubstring("exceeded quota: team"))
}

func TestAWebAppWaitsForItsSettings(t *testing.T) {
	w := start(t)
	a := w.webApp(func(s *workloadsv1.WebAppSpec) { s.ConfigName = "settings" })
	w.Eventually(w.reason(a, workloadsv1.ConditionReady)).Should(Equal(workloadsv1.ReasonConfigMissing))
	w.Expect(w.Exists(&appsv1.Deployment{ObjectMeta: w.named("shop")})).To(BeFalse())

	config := &workloadsv2.AppConfig{ObjectMeta: w.named("settings"), Spec: workloadsv2.AppConfigSpec{AppName: "shop"}}
	w.Create(config)
	config.Status.ConfigMapName = "settings-1"
	w.Expect(w.Cluster.Client.Status().Update(t.Context(), config)).To(Succeed())
	from := w.deployment(a).Spec.Template.Spec.Containers[0].EnvFrom
	w.Expect(from).To(HaveLen(1))
	w.Expect(from[0].ConfigMapRef.Name).To(Equal("settings-1"))
	w.Expect(w.Cluster.Client.Delete(t.Context(), config)).To(Succeed())
	w.Eventually(w.reason(a, workloadsv1.ConditionReady)).Should(Equal(workloadsv1.ReasonConfigMissing))
	w.Expect(w.deployment(a).Spec.Template.Spec.Containers[0].EnvFrom).To(HaveLen(1), "what runs keeps its settings")
}

func TestWhatTheDatabaseSaysIsSaid(t *testing.T) {
	w := start(t)
	a := w.webApp(func(s *workloadsv1.WebAppSpec) { s.DBImage = "mysql:8.0" })
	database := &workloadsv1.Database{ObjectMeta: w.named("shop-db")}
	w.Eventually(func() bool { return w.Exists(database) }).Should(BeTrue())
	w.Eventually(w.reason(a, workloadsv1.ConditionDatabaseReady)).Should(Equal(workloadsv1.ReasonDatabasePending))
	database.Status.ObservedGeneration = database.Generation
	database.Status.Conditions = []metav1.Condition{{
		Type: workloadsv1.ConditionReady, Status: metav1.ConditionTrue, Reason: workloadsv1.ReasonRunning, Message: "It answers.", LastTransitionTime: metav1.Now(),
	}}
	w.Expect(w.Cluster.Client.Status().Update(t.Context(), database)).To(Succeed())
	w.Eventually(w.reason(a, workloadsv1.ConditionDatabaseReady)).Should(Equal(workloadsv1.ReasonRunning))

	testenv.Update(w.World, a, func(a *workloadsv1.WebApp) { a.Spec.DBImage = "mongo:4.0" })
	w.Eventually(w.reason(a, workloadsv1.ConditionDatabaseReady)).Should(Equal(workloadsv1.ReasonDatabaseTypeChanged))
	w.Expect(w.Exists(database)).To(BeTrue())
	w.Expect(database.Spec.Image).To(Equal("mysql:8.0"))
}

// What goes with it is deleted by Kubernetes, of which there is only the API server here.
func TestNothingIsMadeForAWebAppThatIsGone(t *testing.T) {
	w := start(t)
	a := w.webApp(scaling)
	deployment := w.deployment(a)
	w.Delete(a)
	w.Delete(deployment)
	w.operator.Settled(w.World)
	w.Expect(w.Exists(deployment)).To(BeFalse())
}
