package chart_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/operator/check"
	"github.com/critical-service/operator/test/ports"
	testprocess "github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/test/testenv"
)

// testOf is what `helm test` makes: the Pod, and the account that it has meanwhile.
func (p project) testOf() (pod *corev1.Pod, account []client.Object) {
	named := metav1.ObjectMeta{Name: p.name + "-test", Namespace: p.namespace}
	account = []client.Object{&corev1.ServiceAccount{ObjectMeta: named}}
	if p == operatorProject {
		cluster := metav1.ObjectMeta{Name: named.Name}
		return &corev1.Pod{ObjectMeta: named}, append(account, &rbacv1.ClusterRole{ObjectMeta: cluster}, &rbacv1.ClusterRoleBinding{ObjectMeta: cluster})
	}
	return &corev1.Pod{ObjectMeta: named}, append(account, &rbacv1.Role{ObjectMeta: named}, &rbacv1.RoleBinding{ObjectMeta: named})
}

// helmTests runs `helm test`, with a function for the kubelet: it runs the Pod, and is how that ends.
func (w *world) helmTests(p project, run func(*corev1.Pod) corev1.PodPhase) error {
	w.t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := tool(w.t, "helm", "test", p.name, "--namespace", p.namespace, "--timeout", "2m")
		ended <- err
	}()
	pod, _ := p.testOf()
	w.Eventually(func() error { return admin.Get(w.t.Context(), client.ObjectKeyFromObject(pod), pod) }).Should(Succeed())
	pod.Status.Phase = run(pod)
	w.Expect(admin.Status().Update(w.t.Context(), pod)).To(Succeed())
	var err error
	w.Eventually(ended).Should(Receive(&err))
	return err
}

func TestHelmTestChecksTheWebhooksWithAnAccountThatMayNothingElse(t *testing.T) {
	w := newWorld(t)
	w.helm("install", release, chart)
	port := fmt.Sprint(ports.Port(t))
	operator := w.start("WEBHOOK_PORT="+port, "WEBHOOK_URL=https://127.0.0.1:"+port)
	pod, account := operatorProject.testOf()

	w.Expect(w.helmTests(operatorProject, func(pod *corev1.Pod) corev1.PodPhase {
		user := w.mayBeRun(operatorProject, pod)
		config := rest.CopyConfig(adminConfig)
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
		w.Expect(check.Webhooks(t.Context(), config, "", &bytes.Buffer{}, check.CriticalServices...)).To(Succeed())
		w.mayOnly(user, authorizationv1.ResourceAttributes{Group: "mycrd.com", Resource: "criticalservices", Verb: "create"})
		return corev1.PodSucceeded
	})).To(Succeed())
	for _, object := range append(account, pod) {
		w.goes(object)
	}

	// The Pod stays, with what it wrote.
	w.Expect(w.helmTests(operatorProject, func(*corev1.Pod) corev1.PodPhase { return corev1.PodFailed })).NotTo(Succeed())
	for _, object := range account {
		w.goes(object)
	}
	w.read(pod)
	w.delete(pod)
	operator.stop()
}

// mayBeRun checks what the Pod of a test may be, and is the user of its account.
func (w *world) mayBeRun(p project, pod *corev1.Pod) string {
	w.t.Helper()
	w.Expect(w.admits("restricted", corev1.PodTemplateSpec{Spec: pod.Spec})).To(Succeed())
	w.Expect(pod.Spec.Containers[0].Args).To(Equal([]string{check.Command().Name()}))
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name}}
	w.read(deployment)
	w.Expect(pod.Spec.Containers[0].Image).To(Equal(deployment.Spec.Template.Spec.Containers[0].Image))
	w.Expect(pod.Labels).NotTo(HaveKeyWithValue("app.kubernetes.io/component", "manager"), "no Service of the operator leads to it")
	return "system:serviceaccount:" + p.namespace + ":" + pod.Spec.ServiceAccountName
}

// mayOnly checks that a user has one permission, and none of some others.
func (w *world) mayOnly(user string, one authorizationv1.ResourceAttributes) {
	w.t.Helper()
	home := strings.Split(user, ":")[2]
	for _, can := range []authorizationv1.ResourceAttributes{
		one,
		{Group: one.Group, Resource: one.Resource, Verb: "get", Namespace: one.Namespace},
		{Group: one.Group, Resource: one.Resource, Verb: "update", Namespace: one.Namespace},
		{Group: one.Group, Resource: one.Resource, Verb: "delete", Namespace: one.Namespace},
		{Group: one.Group, Resource: "servicefallbacks", Verb: one.Verb, Namespace: one.Namespace},
		{Resource: "secrets", Verb: "get", Namespace: home}, {Resource: "pods", Verb: "create", Namespace: home},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &can}}
		w.Expect(admin.Create(w.t.Context(), review)).To(Succeed())
		w.Expect(review.Status.Allowed).To(Equal(can == one), "%+v", can)
	}
}

// The second operator is of another module: what runs here is the program of its image.
func TestHelmTestOfTheSecondChartRunsTheProgramOfItsImage(t *testing.T) {
	testenv.Since(t, adminConfig, "1.31", "rules that the chart's definitions use")
	w, second := newWorld(t), projects[1]
	program := filepath.Join(t.TempDir(), "manager")
	built, err := exec.CommandContext(t.Context(), "go", "-C", filepath.Join(root, second.folder), "build", "-buildvcs=false", "-o", program, ".").CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), string(built))
	helm := func(arguments ...string) {
		output, err := tool(t, "helm", append(arguments, "--namespace", second.namespace)...)
		w.Expect(err).NotTo(HaveOccurred(), output)
	}
	helm("install", second.name, second.chart(), "--set", "crds.keep=false", "--create-namespace")
	t.Cleanup(func() { helm("uninstall", second.name) })
	var definitions apiextensionsv1.CustomResourceDefinitionList
	w.Expect(admin.List(t.Context(), &definitions, client.MatchingLabels{"app.kubernetes.io/name": second.name})).To(Succeed())
	w.Expect(definitions.Items).NotTo(BeEmpty())
	for i := range definitions.Items {
		w.served(&definitions.Items[i])
	}
	operator, err := testprocess.Launch(program, secondKubeconfig, second.namespace, "WEBHOOK_CERT_DIR="+t.TempDir())
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { w.Expect(operator.End()).To(Succeed(), operator.Log.String()) })
	pod, account := second.testOf()
	// run runs the container of the Pod, with the permissions of its account, and more arguments.
	run := func(pod *corev1.Pod, arguments ...string) (string, error) {
		user := w.mayBeRun(second, pod)
		command := exec.CommandContext(t.Context(), program, append(pod.Spec.Containers[0].Args, arguments...)...)
		command.Env = append(os.Environ(), "KUBECONFIG="+w.impersonates(user, second.namespace))
		said, err := command.CombinedOutput()
		return string(said), err
	}

	w.Expect(w.helmTests(second, func(pod *corev1.Pod) corev1.PodPhase {
		said, err := run(pod)
		w.Expect(err).NotTo(HaveOccurred(), "%s\n%s", said, operator.Log)
		w.Expect(said).To(Equal("conversion: the API server reaches the operator's webhook\n"))
		user := "system:serviceaccount:" + second.namespace + ":" + pod.Spec.ServiceAccountName
		w.mayOnly(user, authorizationv1.ResourceAttributes{Group: "mycrd.com", Resource: "appconfigs", Verb: "create", Namespace: second.namespace})
		return corev1.PodSucceeded
	})).To(Succeed())
	for _, object := range append(account, pod) {
		w.goes(object)
	}

	w.Expect(operator.End()).To(Succeed())
	w.Expect(w.helmTests(second, func(pod *corev1.Pod) corev1.PodPhase {
		said, err := run(pod, "--timeout=3s")
		w.Expect(err).To(HaveOccurred(), "no operator runs")
		w.Expect(said).To(ContainSubstring("the API server must reach the port webhook of the operator's Pods"))
		return corev1.PodFailed
	})).NotTo(Succeed())
	w.delete(pod)
}

// impersonates is a kubeconfig of a user, in a namespace.
func (w *world) impersonates(user, namespace string) string {
	w.t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	w.Expect(err).NotTo(HaveOccurred())
	current := config.Contexts[config.CurrentContext]
	current.Namespace = namespace
	config.AuthInfos[current.AuthInfo].Impersonate = user
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}
