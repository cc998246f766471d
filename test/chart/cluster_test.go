package chart_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/testenv"
)

// waitTimeout is far more than anything here takes. When a definition is deleted that was made just
// before, Kubernetes itself may wait a minute for its objects to go, and then tries again.
const waitTimeout = 3 * time.Minute

// world is a cluster in which nothing of ours is installed. There is one API
// server, so that tests run one after the other.
type world struct {
	*WithT
	t *testing.T
	// The objects that the operator tells which authority to trust, and the Deployment.
	definition *apiextensionsv1.CustomResourceDefinition
	validation *admissionregistrationv1.ValidatingWebhookConfiguration
	deployment *appsv1.Deployment
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		WithT: NewWithT(t), t: t,
		definition: &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "criticalservices.mycrd.com"}},
		validation: &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "critical-service-webhook"}},
		deployment: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "critical-service-operator"}},
	}
	w.SetDefaultEventuallyTimeout(waitTimeout)
	t.Cleanup(func() {
		w.helm("uninstall", release, "--ignore-not-found")
		var kept apiextensionsv1.CustomResourceDefinitionList
		w.Expect(admin.List(context.WithoutCancel(t.Context()), &kept)).To(Succeed())
		for i := range kept.Items {
			w.delete(&kept.Items[i])
		}
	})
	return w
}

// helm runs Helm in the namespace of config/default.
func (w *world) helm(arguments ...string) {
	w.t.Helper()
	output, err := tool(w.t, "helm", append(arguments, "--namespace", namespace)...)
	w.Expect(err).NotTo(HaveOccurred(), output)
}

// refused is why Helm rejects a command.
func (w *world) refused(arguments ...string) string {
	w.t.Helper()
	_, err := tool(w.t, "helm", append(arguments, "--namespace", namespace)...)
	w.Expect(err).To(HaveOccurred())
	return err.Error()
}

func (w *world) kubectl(input string, arguments ...string) {
	w.t.Helper()
	command := exec.CommandContext(w.t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+w.t.TempDir())
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), string(output))
}

// read reads objects again.
func (w *world) read(objects ...client.Object) {
	w.t.Helper()
	for _, object := range objects {
		w.Expect(admin.Get(w.t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
	}
}

// delete deletes an object, and waits until it is gone.
func (w *world) delete(object client.Object) {
	w.t.Helper()
	w.Expect(client.IgnoreNotFound(admin.Delete(context.WithoutCancel(w.t.Context()), object))).To(Succeed())
	w.goes(object)
}

// goes waits until an object that is being deleted is gone.
func (w *world) goes(object client.Object) {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context())
	w.Eventually(func() bool { return testenv.Gone(ctx, admin, object) }).Should(BeTrue(), func() string {
		// The conditions of a definition say what its deletion waits for.
		left, _ := yaml.Marshal(object)
		return "it is still there:\n" + string(left)
	})
}

// policy makes a CriticalService. The webhook that would warn of it is not there,
// and is not waited for.
func (w *world) policy() *criticalv2.CriticalService {
	w.t.Helper()
	policy := &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: "storefront"},
		Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "frontend"}}},
	}
	w.Eventually(func() error { return admin.Create(w.t.Context(), policy) }).Should(Succeed())
	return policy
}

// defined waits until the API server serves CriticalServices.
func (w *world) defined() {
	w.t.Helper()
	w.served(w.definition)
}

// served waits until the API server serves a kind, and says so. Until then an
// operator of it ends at once, and kubelet would have to start it again.
func (w *world) served(definition *apiextensionsv1.CustomResourceDefinition) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		w.read(definition)
		g.Expect(definition.Status.Conditions).To(ContainElement(And(
			HaveField("Type", apiextensionsv1.Established), HaveField("Status", apiextensionsv1.ConditionTrue))))
		// A mapper of its own, because one that found the kind before does not ask again.
		httpClient, err := rest.HTTPClientFor(adminConfig)
		g.Expect(err).NotTo(HaveOccurred())
		mapper, err := apiutil.NewDynamicRESTMapper(adminConfig, httpClient)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = mapper.RESTMapping(schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind})
		g.Expect(err).NotTo(HaveOccurred())
	}).Should(Succeed())
}

// operate runs the operator until the API
// server has the authorities to trust, which are returned.
func (w *world) operate() (definition, validation []byte) {
	w.t.Helper()
	operator := w.start()
	operator.until(func(g Gomega) {
		definition, validation = w.trusted()
		g.Expect(definition).NotTo(BeEmpty())
		g.Expect(validation).NotTo(BeEmpty())
	})
	operator.stop()
	return definition, validation
}

// process is a running operator.
type process struct {
	*world
	command *exec.Cmd
	log     *strings.Builder
	ended   chan error
}

// start runs the operator, with the permissions of the chart.
func (w *world) start(settings ...string) *process {
	w.t.Helper()
	w.defined()
	var log strings.Builder
	operator := exec.CommandContext(w.t.Context(), os.Args[0])
	operator.Env = append(os.Environ(), asOperator+"=", "KUBECONFIG="+operatorKubeconfig, "POD_NAMESPACE="+namespace, "WEBHOOK_PORT="+fmt.Sprint(ports.Port(w.t)),
		"METRICS_BIND_ADDRESS=0", "HEALTH_PROBE_BIND_ADDRESS=0", "WEBHOOK_CERT_DIR="+w.t.TempDir())
	operator.Env = append(operator.Env, settings...)
	operator.Stderr = &log
	w.Expect(operator.Start()).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- operator.Wait() }()
	return &process{world: w, command: operator, log: &log, ended: ended}
}

// until waits for something, while the operator runs.
func (p *process) until(holds func(g Gomega)) {
	p.t.Helper()
	p.Eventually(func(g Gomega) {
		select {
		case err := <-p.ended:
			StopTrying("the operator has ended").Wrap(err).Attach("log", p.log.String()).Now()
		default:
		}
		holds(g)
	}).Should(Succeed())
}

// stop ends the operator.
func (p *process) stop() {
	p.t.Helper()
	p.Expect(p.command.Process.Signal(syscall.SIGTERM)).To(Succeed())
	p.Eventually(p.ended).Should(Receive(Succeed()), "%s", p.log)
}

// trusted is whom the API server trusts to convert and to validate.
func (w *world) trusted() (definition, validation []byte) {
	w.t.Helper()
	w.read(w.definition, w.validation)
	return w.definition.Spec.Conversion.Webhook.ClientConfig.CABundle, w.validation.Webhooks[0].ClientConfig.CABundle
}

// trusts checks that the API server has these authorities.
func (w *world) trusts(definition, validation []byte) {
	w.t.Helper()
	toConvert, toValidate := w.trusted()
	w.Expect(toConvert).To(Equal(definition))
	w.Expect(toValidate).To(Equal(validation))
}

// current is the version of the chart.
func current(t *testing.T) string {
	t.Helper()
	return metadata(t)["version"].(string)
}

// before is the version of the chart before it.
const before = "0.9.0"

// previous is the chart of a release before this one, in which the objects that
// the operator writes to, and the Deployment, were others.
func previous(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	folder := filepath.Join(t.TempDir(), "chart")
	g.Expect(os.CopyFS(folder, os.DirFS(chart))).To(Succeed())
	for name, change := range map[string][2]string{
		"Chart.yaml": {"ersion: " + current(t) + "\n", "ersion: " + before + "\n"},
		"templates/generated/customresourcedefinition.yaml":       {"description: Services this object matches", "description: Services"},
		"templates/generated/validatingwebhookconfiguration.yaml": {"timeoutSeconds: 5", "timeoutSeconds: 7"},
	} {
		path := filepath.Join(folder, name)
		data, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(data)).To(ContainSubstring(change[0]), name)
		g.Expect(os.WriteFile(path, []byte(strings.ReplaceAll(string(data), change[0], change[1])), 0o600)).To(Succeed())
	}
	return folder
}

// version is which of the two charts is installed, as its objects say.
func (w *world) version() string {
	w.t.Helper()
	w.read(w.definition, w.validation, w.deployment)
	version, description, timeout := before, "Services", 7
	if strings.HasSuffix(w.deployment.Spec.Template.Spec.Containers[0].Image, ":v"+current(w.t)) {
		version, description, timeout = current(w.t), "Services this object matches", 5
	}
	w.Expect(w.definition.Spec.Versions[0].AdditionalPrinterColumns[1].Description).To(Equal(description))
	w.Expect(w.validation.Webhooks[0].TimeoutSeconds).To(HaveValue(BeEquivalentTo(timeout)))
	return version
}

// Without the authority in spec.conversion, objects of v1 could be neither read
// nor written until the operator has fixed it.
func TestAnUpgradeTakesNothingAwayThatTheOperatorWrote(t *testing.T) {
	for sentence, flag := range map[string]string{
		"by server-side apply":                     "--server-side=true",
		"by a merge in the client, as Helm 3 does": "--server-side=false",
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.helm("install", release, previous(t), flag)
			w.Expect(w.version()).To(Equal(before))
			definition, validation := w.operate()
			policy := w.policy()

			for step, does := range []struct {
				version   string
				arguments []string
			}{
				{current(t), []string{"upgrade", release, chart, "--set", "replicas=3"}},
				{before, []string{"rollback", release, "1"}},
				{current(t), []string{"upgrade", release, chart}},
			} {
				w.helm(append(does.arguments, flag)...)
				w.Expect(w.version()).To(Equal(does.version), "step %d", step)
				w.trusts(definition, validation)
				w.read(policy)
			}
		})
	}
}

func TestAnUninstallLeavesTheCriticalServicesAndTheNextReleaseTakesThemOver(t *testing.T) {
	w := newWorld(t)
	w.helm("install", release, chart)
	w.operate()
	policy := w.policy()

	w.helm("uninstall", release)
	w.read(policy, w.definition)
	account := &corev1.ServiceAccount{ObjectMeta: w.deployment.ObjectMeta}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "critical-service-operator"}}
	for _, object := range []client.Object{w.deployment, w.validation, account, role} {
		w.goes(object)
	}

	w.helm("install", release, chart)
	w.read(policy, w.deployment)
	w.Expect(w.refused("install", "another", chart)).To(ContainSubstring("invalid ownership metadata"))
}

func TestAnUninstallMayTakeTheDefinitionToo(t *testing.T) {
	w := newWorld(t)
	w.helm("install", release, chart, "--set", "crds.keep=false")
	w.helm("uninstall", release)
	w.goes(w.definition)
}

func TestHelmTakesOverWhatKustomizeInstalled(t *testing.T) {
	w := newWorld(t)
	w.apply(kustomized(w), "--server-side")
	definition, validation := w.operate()

	w.Expect(w.refused("install", release, chart)).To(ContainSubstring("invalid ownership metadata"))
	w.helm("install", release, chart, "--take-ownership", "--force-conflicts")
	w.trusts(definition, validation)
	w.Expect(w.version()).To(Equal(current(t)))
	// kubectl goes on owning what it applied.
	w.Expect(w.refused("upgrade", release, chart, "--set", "replicas=3")).To(ContainSubstring("conflict with \"kubectl\": .spec.replicas"))
	w.helm("upgrade", release, chart, "--set", "replicas=3", "--force-conflicts")
}
