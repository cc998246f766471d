//go:build e2e

package e2e

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/prober"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// TestAWebAppOfSevenFields: the fields of the exercise alone make an application with a database that keeps its data.
func TestAWebAppOfSevenFields(t *testing.T) {
	t.Parallel()
	w := newWebWorld(t)
	w.volumeFor("shop-db-data")
	app := w.webApp("shop", func(spec *workloadsv1.WebAppSpec) {
		*spec = workloadsv1.WebAppSpec{
			AppName: "shop", Image: demoImage, DBImage: "mysql:8.0", Replicas: new(int32(2)), DBSize: "1Gi",
			AutoScaleEnabled: true, TrafficThreshold: 100,
		}
	}).runs()
	app.becomes(2)

	// What there is, and all of it belongs to the WebApp.
	d := app.database()
	w.Expect(d.object.Spec).To(And(HaveField("Type", workloadsv1.DatabaseMySQL), HaveField("Image", "mysql:8.0"), HaveField("Storage.Size", "1Gi")))
	d.runs()
	service := &corev1.Service{ObjectMeta: w.named("shop")}
	w.refresh(service)
	w.Expect(service.Spec.Ports).To(ConsistOf(And(HaveField("Name", "http"), HaveField("Port", int32(80)))))
	budget, fallback := &policyv1.PodDisruptionBudget{ObjectMeta: w.named("shop")}, &criticalv2.ServiceFallback{ObjectMeta: w.named("shop")}
	w.refresh(budget)
	w.refresh(fallback)
	deployment := app.deployment()
	w.refresh(deployment)
	for _, owned := range []client.Object{deployment, service, budget, fallback, d.object} {
		w.Expect(metav1.IsControlledBy(owned, app.object)).To(BeTrue(), "%T", owned)
	}
	w.Expect(app.metered(app)).To(Equal([]bool{true, true}))

	// It answers through the Service, and talks to its database; what its variables say opens that.
	app.answers("/", 200, "It works.")
	app.answers("/db", 200, "The database is ")
	variables := app.variables(app)
	w.Expect(variables["DB_HOST"]).To(HavePrefix("shop-db"))
	w.Expect(variables["DB_PORT"]).To(Equal("3306"))
	d.opens(variables["DATABASE_URL"])
	w.Expect(variables["DATABASE_URL"]).To(ContainSubstring(url.UserPassword(variables["DB_USER"], variables["DB_PASSWORD"]).String() + "@"))

	// The traffic is known, and is no reason for another number of Pods.
	app.is(workloadsv1.ConditionScalingActive, metav1.ConditionTrue, workloadsv1.ReasonTrafficKnown)
	w.Eventually(func() string { w.refresh(app.object); return app.object.Status.RequestsPerSecond }).ShouldNot(BeEmpty())
	w.Expect(app.object.Status).To(And(HaveField("Replicas", int32(2)), HaveField("ReadyReplicas", int32(2)), HaveField("DesiredReplicas", int32(2))))

	// It goes with all that it made, but for the data and its key.
	d.write("first")
	secret, claim := &corev1.Secret{ObjectMeta: w.named(d.object.SecretName())}, d.claim()
	w.remove(app.object)
	for _, object := range []client.Object{deployment, service, budget, fallback, d.object} {
		w.gone(object)
	}
	w.refresh(claim)
	w.refresh(secret)
	w.Expect(claim.DeletionTimestamp).To(BeNil())
	again := w.webApp("shop", func(spec *workloadsv1.WebAppSpec) { *spec = app.object.Spec }).runs()
	again.database().holds("first")
}

// opens waits until a client is answered with the URL of an application's variable, from this machine: by the Service's address.
// Until kube-proxy has followed, a connection may still lead to the responder, which refuses it.
func (d *database) opens(address string) {
	d.t.Helper()
	uri, err := url.Parse(address)
	d.Expect(err).NotTo(HaveOccurred())
	d.Eventually(func() (string, error) { return d.run(d.routed(uri), "SELECT '"+fine+"'") }).Should(Equal(fine))
}

// TestWhileAWebAppIsDownItsPageAnswers: its processes end again and again, until the node waits before it starts the next.
func TestWhileAWebAppIsDownItsPageAnswers(t *testing.T) {
	t.Parallel()
	w := newWebWorld(t)
	app := w.webApp("shop", fixed(2)).runs()
	app.becomes(2)
	visitors := app.visitedFrom(prober.HighPorts)
	visitors.see(false)
	w.Eventually(func(g Gomega) { keepDown(g, app.pods(g)) }).Should(Succeed())
	app.is(workloadsv1.ConditionReady, metav1.ConditionFalse, workloadsv1.ReasonPodFailing)
	w.Eventually(func(g Gomega) answer { return app.get(g, "/") }).Should(And(HaveField("Status", 503), HaveField("Says", ContainSubstring(pageSentence))))
	visitors.see(false)
	app.runs()
	t.Logf("%+v", countAnswers(visitors.leave()))

	// To nothing and back by its scale subresource, as kubectl does it: an outage by intention.
	visitors = app.visitedFrom(prober.LowPorts)
	w.Expect(w.kubectl("scale", "webapp", "shop", "--replicas=0")).To(ContainSubstring("scaled"))
	visitors.see(true)
	w.Expect(w.kubectl("scale", "webapp", "shop", "--replicas=1")).To(ContainSubstring("scaled"))
	visitors.see(false)
	app.runs()
	of := countAnswers(visitors.leave())
	w.Expect(of.none).To(BeZero(), "%+v: requests that were not answered while Pods left in good order", of)
}

// keepDown ends the processes of Pods, and expects that their node waits before it starts the next ones.
func keepDown(g Gomega, pods []corev1.Pod) {
	g.Expect(pods).NotTo(BeEmpty())
	for _, pod := range pods {
		if trouble := cluster.PodTrouble(&pod); !strings.HasPrefix(trouble, "CrashLoopBackOff") {
			// A container that is only just being made must come up first: what its runtime leaves is another error.
			if slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.State.Running != nil }) {
				killProcesses([]corev1.Pod{pod})
			}
			g.Expect(trouble).To(HavePrefix("CrashLoopBackOff"), "Pod %s", pod.Name)
		}
	}
}

// killProcesses ends the processes of Pods without a chance to say goodbye. Those of some may be gone already.
func killProcesses(pods []corev1.Pod) {
	for i := range pods {
		_ = cluster.Signal(&pods[i], syscall.SIGKILL)
	}
}

// TestAWebAppWhoseDatabaseIsDownAnswersItself: clients of the database get the refusal of its protocol, and visitors what the
// application makes of it.
func TestAWebAppWhoseDatabaseIsDownAnswersItself(t *testing.T) {
	t.Parallel()
	w := newWebWorld(t)
	app := w.webApp("shop", withDatabase).runs()
	d, pods := app.database(), app.ready()
	app.answers("/db", 200, "The database is ")
	visitors := app.visited("/", fewVisitors)
	w.Eventually(func(g Gomega) { keepDown(g, []corev1.Pod{*d.pod()}) }).Should(Succeed())
	app.is(workloadsv1.ConditionDatabaseReady, metav1.ConditionFalse, workloadsv1.ReasonPodFailing)
	app.answers("/db", 503, "ERROR 1053") // The refusal of the protocol, in the application's answer.
	app.answers("/db", 200, "The database is ")
	app.runs()
	of := countAnswers(visitors.leave())
	w.Expect(of.application).To(Equal(of.requests), "%+v: all other pages, meanwhile", of)
	w.Expect(app.ready()).To(Equal(pods), "no Pod of the application was replaced")
}

// TestAWebAppWithABadImageKeepsItsPods, and so it is with settings that are missing.
func TestAWebAppWithABadImageKeepsItsPods(t *testing.T) {
	t.Parallel()
	w := newWebWorld(t)
	app := w.webApp("shop", fixed(2)).runs()
	app.becomes(2)
	visitors, pods := app.visited("/", fewVisitors).settled(), app.ready()
	for _, test := range []struct {
		edit   func(*workloadsv1.WebAppSpec)
		reason string
		words  []string
	}{
		{func(s *workloadsv1.WebAppSpec) { s.Image = demoImage + "-missing" }, workloadsv1.ReasonImagePullFailing, []string{demoImage + "-missing"}},
		{func(s *workloadsv1.WebAppSpec) { s.Pod.NodeSelector = map[string]string{"example.com/disk": "fast"} }, workloadsv1.ReasonUnschedulable, []string{"spec.pod"}},
		{func(s *workloadsv1.WebAppSpec) { s.ConfigName = "missing" }, workloadsv1.ReasonConfigMissing, []string{`"missing"`}},
	} {
		app.edit(test.edit)
		app.is(workloadsv1.ConditionReady, metav1.ConditionFalse, test.reason, test.words...)
		w.Consistently(app.ready).Should(Equal(pods), "the Pods that run, with reason %s", test.reason)
		app.edit(func(s *workloadsv1.WebAppSpec) {
			s.Image, s.ConfigName, s.Pod = demoImage, "", workloadsv1.PodSettings{}
		})
		app.runs()
		w.Expect(app.ready()).To(Equal(pods), "the Pods that run, once that is put right")
	}
	of := countAnswers(visitors.leave())
	w.Expect(of.application).To(Equal(of.requests), "%+v", of)
}

// TestAWebAppRollsOnceForEachChangeOfItsSettings, without a lost request.
func TestAWebAppRollsOnceForEachChangeOfItsSettings(t *testing.T) {
	t.Parallel()
	w := newWebWorld(t)
	config := w.appConfig("shop", workloadsv2.Settings{"COLOUR": "blue", "LOG_LEVEL": "debug"})
	w.takes(config)
	app := w.webApp("shop", func(s *workloadsv1.WebAppSpec) { s.ConfigName = "shop" }).runs()
	w.Expect(app.variables(app)).To(And(HaveKeyWithValue("COLOUR", "blue"), HaveKeyWithValue("LOG_LEVEL", "debug")))
	before, visitors := w.rollouts(app.deployment()), app.visited("/", fewVisitors).settled()

	w.configure(config, workloadsv2.Settings{"COLOUR": "red", "LOG_LEVEL": "info"})
	w.Eventually(func(g Gomega) map[string]string { return app.variables(g) }).Should(And(HaveKeyWithValue("COLOUR", "red"), HaveKeyWithValue("LOG_LEVEL", "info")))
	app.becomes(1)
	app.runs()
	w.Consistently(func() int { return w.rollouts(app.deployment()) }).Should(Equal(before+1), "rollouts")
	of := countAnswers(visitors.leave())
	w.Expect(of.application).To(Equal(of.requests), "%+v", of)
}

// TestTheDatabaseOfAWebAppGrows is not parallel, as its claim takes the class that is the cluster's default.
func TestTheDatabaseOfAWebAppGrows(t *testing.T) {
	w := newWebWorld(t)
	w.create(&storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: w.namespace, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: "kubernetes.io/no-provisioner", AllowVolumeExpansion: new(true),
	})
	w.volume(func(volume *corev1.PersistentVolume) { volume.Spec.StorageClassName = w.namespace })
	app := w.webApp("shop", withDatabase, func(s *workloadsv1.WebAppSpec) { s.DBSize = "1Gi" }).runs()
	d, pods := app.database(), app.ready()
	d.write("first")
	pod := d.pod()

	// Nothing here makes the volume itself larger: that is the work of a storage driver, which takes it from the claim.
	app.edit(func(s *workloadsv1.WebAppSpec) { s.DBSize = "2Gi" })
	claim := d.claim()
	w.Eventually(func() string {
		w.refresh(claim)
		return claim.Spec.Resources.Requests.Storage().String()
	}).Should(Equal("2Gi"), "what the claim asks for")
	app.runs()
	d.keeps(pod)
	d.holds("first")
	w.Expect(app.ready()).To(Equal(pods))

	// A class that does not allow it says so, and all goes on.
	change(w, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, func(c *storagev1.StorageClass) { c.AllowVolumeExpansion = new(false) })
	// The admission of the API server learns it a moment later.
	larger := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}`))
	w.Eventually(func() error { return w.Patch(w.ctx, d.claim(), larger, client.DryRunAll) }).Should(MatchError(ContainSubstring("must support resize")))
	app.edit(func(s *workloadsv1.WebAppSpec) { s.DBSize = "3Gi" })
	app.is(workloadsv1.ConditionDatabaseReady, metav1.ConditionTrue, workloadsv1.ReasonStorageDenied, "allowVolumeExpansion")
	d.keeps(pod)

	err := tryToChange(w, app.object, func(o *workloadsv1.WebApp) { o.Spec.DBSize = "1Gi" })
	w.Expect(err).To(MatchError(ContainSubstring("dbSize must not become smaller")))
}

func TestAWebAppThatCannotBeIsRefusedInWords(t *testing.T) {
	t.Parallel()
	w := newWebWorld(t)
	for sentence, test := range map[string]struct{ name, spec, says string }{
		"autoscaling without a threshold":   {"shop", `{appName: shop, image: shop, autoScaleEnabled: true}`, "trafficThreshold is required while autoScaleEnabled is true"},
		"a threshold of nothing":            {"shop", `{appName: shop, image: shop, autoScaleEnabled: true, trafficThreshold: -1}`, "should be greater than or equal to 1"},
		"a size with a blank":               {"shop", `{appName: shop, image: shop, dbImage: "mysql:8.0", dbSize: 1 Gi}`, "dbSize must be a quantity from 1Mi to 1Pi, without a blank"},
		"a size without a database":         {"shop", `{appName: shop, image: shop, dbSize: 1Gi}`, "dbSize is the volume of the database, and needs dbImage"},
		"an image with a blank":             {"shop", `{appName: shop, image: shop 1}`, "image must be the name of an image"},
		"the port of the metering proxy":    {"shop", `{appName: shop, image: shop, port: 18080}`, "port must not be 18080 or 18081"},
		"a greatest number below the least": {"shop", `{appName: shop, image: shop, minReplicas: 3, maxReplicas: 2}`, "maxReplicas must not be less than minReplicas"},
		"a name that no Service can have":   {"4shop", `{appName: shop, image: shop}`, "the name of a WebApp is that of its Service"},
	} {
		manifest := fmt.Sprintf("{apiVersion: mycrd.com/v1, kind: WebApp, metadata: {name: %q, namespace: %s}, spec: %s}", test.name, w.namespace, test.spec)
		w.Expect(w.refuses(manifest)).To(ContainSubstring(test.says), sentence)
	}
}
