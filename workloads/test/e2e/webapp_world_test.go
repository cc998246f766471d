//go:build e2e

package e2e

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/prober"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// webApp is a WebApp of the scenario, and what can be expected of it.
type webApp struct {
	*world
	object *workloadsv1.WebApp
}

const (
	// pageSentence is what the responder says for a WebApp.
	pageSentence = "The shop is away for a moment."
	// meter is the container with the metering proxy.
	meter = "meter"
)

// newWebWorld makes a namespace for a scenario with WebApps: their images may want to run as root.
func newWebWorld(t *testing.T) *world {
	t.Helper()
	takePlace(t)
	return newWorldOf(t, "baseline")
}

// webApp makes a WebApp of one Pod and no database, unless an edit says otherwise.
func (w *world) webApp(name string, edits ...func(*workloadsv1.WebAppSpec)) *webApp {
	w.t.Helper()
	object := &workloadsv1.WebApp{ObjectMeta: w.named(name), Spec: workloadsv1.WebAppSpec{
		AppName: name, Image: demoImage, Fallback: &workloadsv1.ServiceProtection{Page: &criticalv2.PageFallback{Message: pageSentence}},
	}}
	for _, edit := range edits {
		edit(&object.Spec)
	}
	w.create(object)
	return &webApp{w, object}
}

// withDatabase gives a WebApp a MySQL, whose data goes with its Pod.
func withDatabase(spec *workloadsv1.WebAppSpec) { spec.DBImage = "mysql:8.0" }

// scaled lets a WebApp scale by its traffic, from one Pod.
func scaled(threshold int32) func(*workloadsv1.WebAppSpec) {
	return func(spec *workloadsv1.WebAppSpec) { spec.AutoScaleEnabled, spec.TrafficThreshold = true, threshold }
}

// fixed gives a WebApp a number of Pods.
func fixed(replicas int32) func(*workloadsv1.WebAppSpec) {
	return func(spec *workloadsv1.WebAppSpec) { spec.Replicas = new(replicas) }
}

// edit changes the spec.
func (a *webApp) edit(edit func(*workloadsv1.WebAppSpec)) {
	a.t.Helper()
	change(a.world, a.object, func(object *workloadsv1.WebApp) { edit(&object.Spec) })
}

// is waits for a condition that is of the spec as it is now, with a message that has these words.
func (a *webApp) is(kind string, status metav1.ConditionStatus, reason string, words ...string) {
	a.t.Helper()
	a.hasCondition(a.object, &a.object.Status.Conditions, kind, status, reason, words...)
}

// runs waits until the application answers with its database, and the next outage would be covered.
func (a *webApp) runs() *webApp {
	a.t.Helper()
	a.is(workloadsv1.ConditionReady, metav1.ConditionTrue, workloadsv1.ReasonRunning)
	a.is(workloadsv1.ConditionProtected, metav1.ConditionTrue, criticalv2.ReasonStandbyReady)
	reason := workloadsv1.ReasonNoDatabase
	if a.object.Spec.DBImage != "" {
		reason = workloadsv1.ReasonRunning
	}
	a.is(workloadsv1.ConditionDatabaseReady, metav1.ConditionTrue, reason)
	return a
}

// database is that of the WebApp.
func (a *webApp) database() *database {
	a.t.Helper()
	d := &database{world: a.world, object: &workloadsv1.Database{ObjectMeta: a.named(a.object.DatabaseName())}}
	a.refresh(d.object)
	return d
}

func (a *webApp) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: a.named(a.object.Name)}
}

// size is how many Pods the Deployment is to have.
func (a *webApp) size() int32 {
	a.t.Helper()
	deployment := a.deployment()
	a.refresh(deployment)
	return *deployment.Spec.Replicas
}

// becomes waits until there are so many Pods, all ready and of the spec as it is now.
func (a *webApp) becomes(pods int32) {
	a.t.Helper()
	a.Eventually(func(g Gomega) {
		deployment := a.deployment()
		g.Expect(a.Get(a.ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
		g.Expect(deployment.Spec.Replicas).To(HaveValue(Equal(pods)))
		g.Expect(deployment.Status.ObservedGeneration).To(Equal(deployment.Generation))
		g.Expect(deployment.Status).To(And(HaveField("Replicas", pods), HaveField("UpdatedReplicas", pods), HaveField("AvailableReplicas", pods)))
	}).Should(Succeed(), "%d Pods of WebApp %s", pods, a.object.Name)
}

// pods are those of the application that are not on their way out.
func (a *webApp) pods(g Gomega) []corev1.Pod {
	var list corev1.PodList
	g.Expect(a.List(a.ctx, &list, inNamespace(a.world), client.MatchingLabels{workloadsv1.LabelWebApp: a.object.Name})).To(Succeed())
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// ready are the UIDs of the Pods that are.
func (a *webApp) ready() []types.UID {
	a.t.Helper()
	var found []types.UID
	for _, pod := range a.pods(a) {
		if cluster.PodReady(&pod) {
			found = append(found, pod.UID)
		}
	}
	slices.Sort(found)
	return found
}

// metered reports of each Pod whether it has the metering proxy.
func (a *webApp) metered(g Gomega) []bool {
	var found []bool
	for _, pod := range a.pods(g) {
		containers := slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers)
		found = append(found, slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == meter }))
	}
	return found
}

// variables are those of the application's process, in one of its Pods.
func (a *webApp) variables(g Gomega) map[string]string {
	pods := a.pods(g)
	g.Expect(pods).NotTo(BeEmpty())
	found := map[string]string{}
	for _, environment := range environments(g, &pods[0]) {
		for _, variable := range environment {
			name, value, _ := strings.Cut(variable, "=")
			found[name] = value
		}
	}
	return found
}

// url is how clients reach a page of the application: through its Service.
func (a *webApp) url(path string) string {
	a.t.Helper()
	service := &corev1.Service{ObjectMeta: a.named(a.object.Name)}
	a.refresh(service)
	return (&url.URL{Scheme: "http", Host: at(service.Spec.ClusterIP, 80), Path: path}).String()
}

// answer is what became of one request.
type answer struct {
	Status   int
	By, Says string
}

// get asks for a page once, by a connection of its own.
func (a *webApp) get(g Gomega, path string) answer {
	request, err := http.NewRequestWithContext(a.ctx, http.MethodGet, a.url(path), http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	client := &http.Client{Timeout: awhile, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return answer{response.StatusCode, response.Header.Get(prober.AnsweredByHeader), string(content)}
}

// answers waits until the application itself says these words on a page, with a status.
func (a *webApp) answers(path string, status int, words string) {
	a.t.Helper()
	a.Eventually(func(g Gomega) answer { return a.get(g, path) }).Should(
		And(HaveField("Status", status), HaveField("Says", ContainSubstring(words)), HaveField("By", Not(BeEmpty()))), "%s of WebApp %s", path, a.object.Name)
}
