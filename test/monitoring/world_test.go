//go:build e2e

package monitoring_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/test/testenv"
)

// group is that of the Prometheus operator.
const group = "monitoring.coreos.com/v1"

// names are those of the operator's objects, by kind.
var names = map[string]string{
	"ServiceMonitor": "critical-service-operator", "PodMonitor": "critical-service-responder", "PrometheusRule": "critical-service-operator",
}

type world struct {
	*testenv.World
	t *testing.T
	// token is that of Prometheus.
	token string
	// metrics is where the operator serves them.
	metrics string
	// prometheusOperator is the log of the Prometheus operator.
	prometheusOperator *process.Journal
}

// newWorld is one in which the Prometheus operator runs, and none of the operator's objects is left.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: cluster.NewWorld(t), t: t, metrics: ports.Free(t)}
	for kind := range names {
		if left := w.applied(kind); left != nil {
			w.Delete(left)
		}
	}
	var err error
	w.token, err = process.TokenOf(t.Context(), cluster.Admin, namespace, account)
	w.Expect(err).NotTo(HaveOccurred())
	w.prometheusOperator = w.run("prometheus-operator", "--as=system:serviceaccount:default:prometheus-operator",
		"--apiserver="+cluster.Admin.Host, "--ca-file="+w.file("ca.crt", cluster.Admin.CAData),
		"--cert-file="+w.file("tls.crt", cluster.Admin.CertData), "--key-file="+w.file("tls.key", cluster.Admin.KeyData),
		"--web.listen-address="+ports.Free(t), "--disable-unmanaged-prometheus-configuration",
		"--feature-gates=StatusForConfigurationResources=true")
	return w
}

// file writes a file of the test.
func (w *world) file(name string, content []byte) (path string) {
	w.t.Helper()
	path = filepath.Join(w.t.TempDir(), name)
	w.Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
	return path
}

// run runs a program until the test ends.
func (w *world) run(program string, arguments ...string) *process.Journal {
	w.t.Helper()
	log, ended := &process.Journal{}, make(chan struct{})
	command := exec.Command(filepath.Join(programs, program), arguments...)
	command.Stdout, command.Stderr = log, log
	w.Expect(command.Start()).To(Succeed())
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	w.t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // If it has ended by itself, its log says why.
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = command.Process.Kill()
			w.t.Errorf("%s does not end", program)
		}
		if w.t.Failed() {
			w.t.Logf("%s:\n%s", program, log)
		}
	})
	return log
}

// startOperator starts the operator under its own permissions.
func (w *world) startOperator() {
	w.t.Helper()
	p := process.Start(w.t, w.file("kubeconfig", cluster.OperatorKubeconfig), testenv.OperatorNamespace, "METRICS_BIND_ADDRESS="+w.metrics,
		"WEBHOOK_URL=", "WEBHOOK_CERT_DIR="+cluster.CertDir(), "RESPONDER_IMAGE=registry.example.com/operator:v1", "SELF_TEST_INTERVAL=0s")
	w.Eventually(p.Ready).Should(Succeed())
}

// prometheus makes a Prometheus that selects objects by the label of docs/metrics.md.
func (w *world) prometheus(name string, more map[string]any) *unstructured.Unstructured {
	w.t.Helper()
	selected := map[string]any{"matchLabels": map[string]any{"release": "prometheus"}}
	spec := map[string]any{
		"serviceAccountName": account, "serviceDiscoveryRole": "EndpointSlice", "scrapeInterval": "1s", "evaluationInterval": "1s",
		"serviceMonitorSelector": selected, "podMonitorSelector": selected, "ruleSelector": selected,
		"serviceMonitorNamespaceSelector": map[string]any{}, "podMonitorNamespaceSelector": map[string]any{}, "ruleNamespaceSelector": map[string]any{},
		"apiserverConfig": map[string]any{
			"host":          cluster.Admin.Host,
			"tlsConfig":     map[string]any{"caFile": w.file("ca.crt", cluster.Admin.CAData)},
			"authorization": map[string]any{"credentialsFile": w.file("token", []byte(w.token))},
		},
	}
	maps.Copy(spec, more)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group, "kind": "Prometheus", "metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	}}
	w.create(object)
	return object
}

// create makes an object that goes with the test.
func (w *world) create(object client.Object) {
	w.t.Helper()
	w.Create(object)
	w.deletedAtLast(object)
}

// deletedAtLast deletes an object when the test ends.
func (w *world) deletedAtLast(object client.Object) {
	w.t.Helper()
	w.t.Cleanup(func() {
		w.Expect(client.IgnoreNotFound(cluster.Client.Delete(context.WithoutCancel(w.t.Context()), object))).To(Succeed())
	})
}

// protected makes a Service with a policy, and the Pods that kubelet would run then: the operator's, a responder and one
// of an application, which is not to be scraped.
func (w *world) protected() (policy *criticalv2.CriticalService, scraped map[string]string) {
	w.t.Helper()
	service := w.Service("web", func(s *corev1.Service) { s.Labels = map[string]string{"role": w.Namespace} })
	policy = &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: w.Unique("shop")},
		Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: service.Labels}},
	}
	w.create(policy)
	application := w.Pod("web", service, func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports,
			corev1.ContainerPort{Name: "metrics", ContainerPort: 8443}, corev1.ContainerPort{Name: "admin", ContainerPort: 8081})
	})
	w.MakeReady(application)
	w.PublishEndpoints(service)

	responder := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: criticalv2.ResponderName}}
	w.Eventually(func() bool { return w.Exists(responder) }).Should(BeTrue())
	w.deletedAtLast(responder)
	metrics, manager := &corev1.Service{}, &appsv1.Deployment{}
	w.read("config/manager/metrics_service.yaml", metrics)
	w.read("config/manager/manager.yaml", manager)
	w.create(metrics)
	pod := w.podOf(manager)
	w.PublishEndpoints(metrics)
	w.deletedAtLast(&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: metrics.Namespace, Name: metrics.Name + "-0"}})
	return policy, map[string]string{
		"serviceMonitor/critical-service-system/critical-service-operator/0": net.JoinHostPort(pod.Status.PodIP, "8443"),
		"podMonitor/critical-service-system/critical-service-responder/0":    net.JoinHostPort(w.podOf(responder).Status.PodIP, "8081"),
	}
}

// podOf is a Pod of a Deployment, which is ready.
func (w *world) podOf(deployment *appsv1.Deployment) *corev1.Pod {
	w.t.Helper()
	template := deployment.Spec.Template
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: deployment.Namespace, Name: deployment.Name + "-0", Labels: template.Labels, Annotations: template.Annotations,
	}, Spec: template.Spec}
	w.create(pod)
	w.MakeReady(pod)
	return pod
}

// read reads the object of a file of the repository.
func (w *world) read(path string, object client.Object) {
	w.t.Helper()
	objects, err := testenv.ReadYAML(testenv.Path(path))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(objects).To(HaveLen(1))
	w.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, object)).To(Succeed())
}

// applied is the operator's object of a kind; nil if there is none.
func (w *world) applied(kind string) *unstructured.Unstructured {
	w.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group, "kind": kind}}
	object.SetNamespace(testenv.OperatorNamespace)
	object.SetName(names[kind])
	if !w.Exists(object) {
		return nil
	}
	return object
}

// label does what docs/metrics.md says, once the operator has applied its objects.
func (w *world) label() {
	w.t.Helper()
	for kind := range names {
		w.Eventually(func() any { return w.applied(kind) }).ShouldNot(BeNil(), kind)
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"release":"prometheus"}}}`))
		w.Expect(cluster.Client.Patch(w.t.Context(), w.applied(kind), patch)).To(Succeed())
	}
}

// accepted is what the Prometheus operator says of an object for a Prometheus: True, False, or nothing.
func (w *world) accepted(kind, prometheus string) string {
	w.t.Helper()
	object := w.applied(kind)
	if object == nil {
		return ""
	}
	bindings, _, err := unstructured.NestedSlice(object.Object, "status", "bindings")
	w.Expect(err).NotTo(HaveOccurred())
	for _, one := range bindings {
		binding := one.(map[string]any) //nolint:forcetypeassert // Its definition says so.
		if binding["name"] != prometheus {
			continue
		}
		for _, condition := range binding["conditions"].([]any) { //nolint:forcetypeassert // The same.
			if c := condition.(map[string]any); c["type"] == "Accepted" { //nolint:forcetypeassert // The same.
				return c["status"].(string) //nolint:forcetypeassert // The same.
			}
		}
	}
	return ""
}

// configuration is what the Prometheus operator has generated for a Prometheus; nil as long as it has not.
func (w *world) configuration(prometheus string) map[string]any {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prometheus-" + prometheus}}
	if !w.Exists(secret) {
		return nil
	}
	packed, err := gzip.NewReader(bytes.NewReader(secret.Data["prometheus.yaml.gz"]))
	w.Expect(err).NotTo(HaveOccurred())
	content, err := io.ReadAll(packed)
	w.Expect(err).NotTo(HaveOccurred())
	var parsed map[string]any
	w.Expect(yaml.Unmarshal(content, &parsed)).To(Succeed())
	return parsed
}

// jobs are what the generated configuration scrapes, in order.
func (w *world) jobs(prometheus string) func() []string {
	return func() []string {
		found := []string{}
		for _, job := range jobsOf(w.configuration(prometheus)) {
			found = append(found, job["job_name"].(string)) //nolint:forcetypeassert // Prometheus would refuse it.
		}
		return slices.Sorted(slices.Values(found))
	}
}

// jobsOf are those of a configuration.
func jobsOf(configuration map[string]any) (jobs []map[string]any) {
	list, _ := configuration["scrape_configs"].([]any)
	for _, job := range list {
		jobs = append(jobs, job.(map[string]any)) //nolint:forcetypeassert // Prometheus would refuse it.
	}
	return jobs
}

// rules are the files of rules that the Prometheus operator has generated, by name.
func (w *world) rules(prometheus string) map[string]string {
	w.t.Helper()
	files := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prometheus-" + prometheus + "-rulefiles-0"}}
	if !w.Exists(files) {
		return nil
	}
	return files.Data
}
