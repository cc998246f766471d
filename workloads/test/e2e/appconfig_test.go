//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// TestTheExerciseOfTheSlides is the exercise "CRDs et WebHook", as docs/appconfig.md walks through it. It is not parallel:
// what is stored shows when no one converts.
func TestTheExerciseOfTheSlides(t *testing.T) {
	w := newWorld(t)
	w.Expect(w.kubectl("get", "crd", "appconfigs.mycrd.com", "-o",
		`jsonpath={range .spec.versions[*]}{.name}{" served="}{.served}{" storage="}{.storage}{"\n"}{end}`)).To(Equal(
		"v1 served=true storage=false\nv2 served=true storage=true\n"))
	const file = "testdata/document-appconfigs.yaml"
	// kube-proxy follows a new Pod of the operator a moment later.
	w.Eventually(func() error { _, err := w.tryKubectl("apply", "-f", file, "--dry-run=server"); return err }).Should(Succeed())
	w.Expect(w.kubectl("apply", "-f", file)).To(Equal("appconfig.mycrd.com/first created\nappconfig.mycrd.com/second created\n"))
	w.t.Cleanup(func() { w.kubectl("delete", "-f", file, "--ignore-not-found") })

	// Each is read as the other, and loses nothing.
	spec := func(version, name string) string {
		return w.kubectl("get", "appconfigs."+version+".mycrd.com", name, "-o", "jsonpath={.spec}")
	}
	const first, second = `{"appName":"shop","configuration":{"settings":{"COLOUR":"blue","LOG_LEVEL":"debug"}}}`,
		`{"appName":"till","configuration":{"settings":{"LOG_LEVEL":"info"},"version":"1.4"}}`
	w.Expect(spec("v2", "first")).To(MatchJSON(first))
	w.Expect(spec("v1", "first")).To(MatchJSON(`{"appName":"shop","config":{"COLOUR":"blue","LOG_LEVEL":"debug"}}`))
	w.Expect(spec("v1", "second")).To(MatchJSON(`{"appName":"till","config":{"LOG_LEVEL":"info"}}`))
	w.Expect(w.kubectl("get", "appconfigs.v1.mycrd.com", "second", "-o", "jsonpath={.metadata.annotations}")).To(
		ContainSubstring(`"` + workloadsv2.AnnotationVersion + `":"1.4"`))
	w.Expect(w.kubectl("get", "crd", "appconfigs.mycrd.com", "-o", "jsonpath={.status.storedVersions}")).To(MatchJSON(`["v2"]`))

	// Without the webhook, both are read as they are stored, and neither as v1.
	start := w.stop(workloads)
	w.Expect(spec("v2", "first")).To(MatchJSON(first))
	w.Expect(spec("v2", "second")).To(MatchJSON(second))
	said, err := w.tryKubectl("get", "appconfigs.v1.mycrd.com", "first")
	w.Expect(err).To(HaveOccurred())
	w.Expect(said).To(ContainSubstring("conversion webhook for mycrd.com/v2, Kind=AppConfig failed"))
	start()
	w.Eventually(func() error { _, err := w.tryKubectl("get", "appconfigs.v1.mycrd.com", "first"); return err }).Should(Succeed())
}

// stop scales an operator to nothing; start brings it back, at the latest when the scenario ends.
func (w *world) stop(operator client.ObjectKey) (start func()) {
	w.t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: operator.Name}}
	w.refresh(deployment)
	before := *deployment.Spec.Replicas
	scale := func(replicas int32) {
		body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		w.Expect(w.SubResource("scale").Update(w.ctx, deployment, client.WithSubResourceBody(body))).To(Succeed())
	}
	start = func() {
		w.t.Helper()
		scale(before)
		w.Expect(w.AwaitDeployment(w.ctx, operator, installLimit)).To(Succeed())
	}
	w.t.Cleanup(start)
	scale(0)
	w.Eventually(func() ([]corev1.Pod, error) { return w.PodsOf(w.ctx, operator) }).Should(BeEmpty(), "Pods of %s", operator.Name)
	return start
}

// appConfig makes an AppConfig.
func (w *world) appConfig(name string, settings workloadsv2.Settings) *workloadsv2.AppConfig {
	w.t.Helper()
	config := &workloadsv2.AppConfig{ObjectMeta: w.named(name), Spec: workloadsv2.AppConfigSpec{
		AppName: name, Configuration: workloadsv2.Configuration{Settings: settings},
	}}
	w.create(config)
	return config
}

// takes waits until an AppConfig is up to date, and returns the name of its ConfigMap.
func (w *world) takes(config *workloadsv2.AppConfig) string {
	w.t.Helper()
	w.says(config, metav1.ConditionTrue, workloadsv2.ReasonUpToDate)
	return config.Status.ConfigMapName
}

// says waits for what an AppConfig says of its spec as it is now.
func (w *world) says(config *workloadsv2.AppConfig, status metav1.ConditionStatus, reason string, words ...string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(config), config)).To(Succeed())
		ready := meta.FindStatusCondition(config.Status.Conditions, workloadsv2.ConditionReady)
		g.Expect(ready).To(HaveValue(And(HaveField("Status", status), HaveField("Reason", reason), HaveField("ObservedGeneration", config.Generation))))
		for _, word := range words {
			g.Expect(ready.Message).To(ContainSubstring(word))
		}
	}).Should(Succeed(), "condition Ready of AppConfig %s", config.Name)
}

func (w *world) configure(config *workloadsv2.AppConfig, settings workloadsv2.Settings) {
	w.t.Helper()
	change(w, config, func(c *workloadsv2.AppConfig) { c.Spec.Configuration.Settings = settings })
}

func TestADeploymentRollsOnceForEachChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.appConfig("shop", workloadsv2.Settings{"COLOUR": "blue", "LOG_LEVEL": "debug"})
	blue := w.takes(config)
	shop := w.deployment("shop")
	w.runsWith(shop, blue, "COLOUR=blue", "LOG_LEVEL=debug")
	before := w.rollouts(shop)

	// Several settings are one rollout.
	w.configure(config, workloadsv2.Settings{"COLOUR": "red", "LOG_LEVEL": "info", "SIZE": "9"})
	red := w.takes(config)
	w.Expect(red).NotTo(Equal(blue))
	w.runsWith(shop, red, "COLOUR=red", "LOG_LEVEL=info", "SIZE=9")
	w.Expect(w.rollouts(shop)).To(Equal(before + 1))

	// What its author calls it is none.
	change(w, config, func(c *workloadsv2.AppConfig) { c.Spec.Configuration.Version = "2" })
	w.Expect(w.takes(config)).To(Equal(red))

	// The old spec is the rollback, by the old name, and to the old Pods' template.
	w.configure(config, workloadsv2.Settings{"COLOUR": "blue", "LOG_LEVEL": "debug"})
	w.Expect(w.takes(config)).To(Equal(blue))
	w.runsWith(shop, blue, "COLOUR=blue", "LOG_LEVEL=debug")
	w.Expect(w.rollouts(shop)).To(Equal(before + 2))
	var sets appsv1.ReplicaSetList
	w.Expect(w.List(w.ctx, &sets, inNamespace(w), client.MatchingLabels{"app": "shop"})).To(Succeed())
	w.Expect(sets.Items).To(ContainElement(HaveField("Status.Replicas", BeEquivalentTo(1))))
	for i := range sets.Items {
		from := sets.Items[i].Spec.Template.Spec.Containers[0].EnvFrom
		if *sets.Items[i].Spec.Replicas > 0 {
			w.Expect(from).To(ConsistOf(HaveField("ConfigMapRef.Name", blue)))
		}
	}
}

// Whether a ConfigMap goes is the garbage collector's work, which only a whole cluster has.
func TestADeploymentOutlivesItsAppConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := workloadsv2.Settings{"COLOUR": "blue"}
	config := w.appConfig("shop", settings)
	blue := w.takes(config)
	shop := w.deployment("shop")
	w.runsWith(shop, blue, "COLOUR=blue")
	before := w.rollouts(shop)
	owners := func() []metav1.OwnerReference {
		revision := &corev1.ConfigMap{ObjectMeta: w.named(blue)}
		w.refresh(revision)
		return revision.OwnerReferences
	}
	w.Eventually(owners).Should(HaveLen(2))
	w.remove(config)
	w.Eventually(owners).Should(ConsistOf(HaveField("UID", shop.UID)))

	// As in a drain.
	pods, err := w.PodsOf(w.ctx, client.ObjectKeyFromObject(shop))
	w.Expect(err).NotTo(HaveOccurred())
	w.remove(&pods[0])
	w.gone(&pods[0])
	w.runsWith(shop, blue, "COLOUR=blue")

	again := w.appConfig("shop", settings)
	w.Expect(w.takes(again)).To(Equal(blue), "it is taken over")
	w.Eventually(owners).Should(HaveLen(2))
	w.Expect(w.rollouts(shop)).To(Equal(before))
	w.remove(again)
	w.remove(shop)
	w.gone(&corev1.ConfigMap{ObjectMeta: w.named(blue)})
}

// deployment makes one of a single Pod that uses the AppConfig of its name.
func (w *world) deployment(name string, edits ...func(*appsv1.Deployment)) *appsv1.Deployment {
	w.t.Helper()
	pods := map[string]string{"app": name}
	deployment := &appsv1.Deployment{ObjectMeta: w.named(name), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: pods},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pods}, Spec: cluster.WebPod(demoImage, name)},
	}}
	deployment.Labels = map[string]string{workloadsv2.LabelAppConfig: name}
	for _, edit := range edits {
		edit(deployment)
	}
	w.create(deployment)
	return deployment
}

// rollouts is how often a Deployment has rolled, as Kubernetes counts.
func (w *world) rollouts(deployment *appsv1.Deployment) int {
	w.t.Helper()
	w.refresh(deployment)
	count, err := strconv.Atoi(deployment.Annotations["deployment.kubernetes.io/revision"])
	w.Expect(err).NotTo(HaveOccurred())
	return count
}

// runsWith waits until all Pods of a Deployment take a ConfigMap, and their processes have these variables.
func (w *world) runsWith(deployment *appsv1.Deployment, configMap string, variables ...string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		done, state, err := w.DeploymentAvailable(w.ctx, client.ObjectKeyFromObject(deployment))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(done).To(BeTrue(), state)
		pods, err := w.PodsOf(w.ctx, client.ObjectKeyFromObject(deployment))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pods).To(HaveLen(1))
		g.Expect(pods[0].Spec.Containers[0].EnvFrom).To(ConsistOf(HaveField("ConfigMapRef.Name", configMap)))
		g.Expect(environments(g, &pods[0])).To(ContainElement(ContainElements(variables)))
	}).Should(Succeed(), "the Pod of Deployment %s", deployment.Name)
}

// environments are those of the processes of a Pod.
func environments(g Gomega, pod *corev1.Pod) [][]string {
	processes, err := cluster.Processes(pod)
	g.Expect(err).NotTo(HaveOccurred())
	var found [][]string
	for _, pid := range processes {
		// One may have ended meanwhile.
		content, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		found = append(found, strings.Split(string(content), "\x00"))
	}
	return found
}

func TestAnAppConfigIsThePageOfAService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := &workloadsv2.AppConfig{ObjectMeta: w.named("sorry"), Spec: workloadsv2.AppConfigSpec{
		AppName: "sorry", Configuration: workloadsv2.Configuration{Settings: workloadsv2.Settings{"index.html": "<h1>Back soon</h1>"}},
	}}
	config.Labels = map[string]string{criticalv2.LabelResponder: "content"}
	w.create(config)
	service := &corev1.Service{ObjectMeta: w.named("storefront"), Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "storefront"}, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	w.create(service)
	w.create(&criticalv2.ServiceFallback{ObjectMeta: w.named("storefront"), Spec: criticalv2.ServiceFallbackSpec{
		Services:       []string{"storefront"},
		ProtectionSpec: criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{ConfigMapName: "sorry"}}},
	}})
	w.Eventually(w.asks).WithArguments(service).Should(Equal("<h1>Back soon</h1>"))
	w.configure(config, workloadsv2.Settings{"index.html": "<h1>At nine</h1>"})
	// The node brings a changed ConfigMap to its Pods within a minute or so.
	w.Eventually(w.asks, 2*soon).WithArguments(service).Should(Equal("<h1>At nine</h1>"))
}

// asks is what a Service answers to a browser.
func (w *world) asks(service *corev1.Service) string {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.ctx, http.MethodGet, "http://"+net.JoinHostPort(service.Spec.ClusterIP, "80")+"/", http.NoBody)
	w.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Accept", "text/html")
	response, err := (&http.Client{Timeout: awhile}).Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(content))
}

func TestAnAppConfigThatCannotBeIsRefusedInWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for sentence, test := range map[string]struct{ version, spec, says string }{
		"an empty appName":              {"v1", `{appName: "", config: {}}`, "spec.appName in body should be at least 1 chars long"},
		"a key that no ConfigMap has":   {"v2", `{appName: shop, configuration: {settings: {"a b": c}}}`, "keys must be those that a ConfigMap may have"},
		"the same in the other version": {"v1", `{appName: shop, config: {"a/b": c}}`, "keys must be those that a ConfigMap may have"},
		"a number":                      {"v2", `{appName: shop, configuration: {settings: {size: 7}}}`, "must be of type string"},
		"more than 256 KiB": {"v2", fmt.Sprintf(`{appName: shop, configuration: {settings: {a: %q}}}`, strings.Repeat("x", 256<<10)),
			"keys and values must have at most 262144 characters (256 KiB) in all"},
	} {
		manifest := fmt.Sprintf("{apiVersion: mycrd.com/%s, kind: AppConfig, metadata: {name: shop, namespace: %s}, spec: %s}", test.version, w.namespace, test.spec)
		w.Expect(w.refuses(manifest)).To(ContainSubstring(test.says), sentence)
	}
}

func TestADeploymentGoesOnWhateverItsAppConfigSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.appConfig("shop", workloadsv2.Settings{"COLOUR": "blue"})
	blue := w.takes(config)
	shop := w.deployment("shop")
	w.runsWith(shop, blue, "COLOUR=blue")
	before := w.rollouts(shop)

	// What the schema refuses changes nothing.
	err := tryToChange(w, config, func(c *workloadsv2.AppConfig) { c.Spec.Configuration.Settings = workloadsv2.Settings{"a b": "c"} })
	w.Expect(err).To(MatchError(ContainSubstring("keys must be those that a ConfigMap may have")))
	w.refresh(config)

	// The namespace has no room for another ConfigMap.
	quota := w.forbid("count/configmaps")
	w.configure(config, workloadsv2.Settings{"COLOUR": "red"})
	w.says(config, metav1.ConditionFalse, workloadsv2.ReasonWriteDenied, "quota: none")
	w.Expect(w.rollouts(shop)).To(Equal(before))
	w.runsWith(shop, blue, "COLOUR=blue")
	w.remove(quota)
	w.runsWith(shop, w.takes(config), "COLOUR=red")

	// Another manager has set what the container takes.
	own := w.appConfig("till", workloadsv2.Settings{"COLOUR": "green"})
	till := w.deployment("till", func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
		}}}
	})
	w.says(own, metav1.ConditionFalse, workloadsv2.ReasonFieldConflict, "till")
	w.runsWith(till, "kube-root-ca.crt")
}
