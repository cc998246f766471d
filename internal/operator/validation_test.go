package operator_test

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/webhook/policy"
	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/testenv"
)

const (
	validationManifest = "../../config/webhook/manifests.yaml"
	// refusal is how the API server begins to tell that a broken selector is refused.
	refusal = `admission webhook "validate.criticalservices.mycrd.com" denied the request: CriticalService.mycrd.com "broken" is invalid: ` +
		`spec.serviceSelector.matchLabels[role]: Invalid value: "front end": a valid label must be`
)

// installValidation installs what config/webhook has for it. It goes with the test.
func (w *world) installValidation() {
	w.t.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	w.Expect(read(validationManifest, configuration)).To(Succeed())
	borrow(w.t, configuration)
}

func (w *world) configuration() *admissionregistrationv1.ValidatingWebhookConfiguration {
	w.t.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	w.Expect(admin.Get(w.t.Context(), types.NamespacedName{Name: policy.Service}, configuration)).To(Succeed())
	return configuration
}

// validation tells by which way, and whose authority, the API server asks.
func (w *world) validation() admissionregistrationv1.WebhookClientConfig {
	w.t.Helper()
	return w.configuration().Webhooks[0].ClientConfig
}

// listener is a client that hears the warnings of the API server, as kubectl does.
type listener struct {
	client.Client
	mu    sync.Mutex
	heard []string
}

func (w *world) listener() *listener {
	w.t.Helper()
	l := &listener{}
	config := rest.CopyConfig(adminConfig)
	config.WarningHandler = l
	var err error
	l.Client, err = client.New(config, client.Options{Scheme: admin.Scheme()})
	w.Expect(err).NotTo(HaveOccurred())
	return l
}

// HandleWarningHeader hears one warning.
func (l *listener) HandleWarningHeader(_ int, _, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, text)
}

func (l *listener) warnings() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.heard)
}

func selecting(name, role string) *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": role}}},
	}
}

// change changes an object as it is now; the operator writes its status meanwhile.
func change[T client.Object](w *world, object T, how func(T)) {
	w.t.Helper()
	w.Eventually(func() error { return changed(w, object, how) }).Should(Succeed())
}

func changed[T client.Object](w *world, object T, how func(T)) error {
	if err := admin.Get(w.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	how(object)
	return admin.Update(w.t.Context(), object)
}

// refusal tries to create an object until it is refused, as the API server does
// not hear of the webhook at once, and gives what is said then.
func (w *world) refusal(object client.Object) string {
	w.t.Helper()
	var refused error
	w.Eventually(func() error {
		refused = admin.Create(w.t.Context(), object.DeepCopyObject().(client.Object), client.DryRunAll)
		return refused
	}).Should(Satisfy(apierrors.IsInvalid))
	return refused.Error()
}

// awaitValidation waits until what is broken is refused.
func (w *world) awaitValidation() {
	w.t.Helper()
	w.Expect(w.refusal(selecting("broken", "front end"))).To(HavePrefix(refusal))
}

func TestABrokenSelectorIsRefusedInBothVersions(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	w.installValidation()
	p := w.start()
	w.awaitValidation()
	w.Expect(w.validation().URL).To(Equal(new("https://" + p.Webhook + policy.ValidationPath)))

	inAnnotation := shopV1()
	inAnnotation.Annotations = map[string]string{criticalv1.AnnotationV2Spec: `{"serviceSelector": {"matchLabels": {"role": "frontend"},
		"matchExpressions": [{"key": "tier", "operator": "In", "values": ["a b"]}]}}`}
	w.Expect(w.refusal(inAnnotation)).To(ContainSubstring("metadata.annotations[mycrd.com/v2-spec]: Invalid value: is not a valid spec of v2: " +
		`spec.serviceSelector.matchExpressions[0].values[0]: Invalid value: "a b"`))

	// A good one is changed into a broken one, in either version.
	w.Expect(admin.Create(t.Context(), selecting("broken", "frontend"))).To(Succeed())
	w.Eventually(func() error {
		return changed(w, selecting("broken", ""), func(object *criticalv2.CriticalService) {
			object.Spec.ServiceSelector.MatchLabels["role"] = "front end"
		})
	}).Should(MatchError(HavePrefix(refusal)))
	w.Eventually(func() error {
		view := &criticalv1.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "broken"}}
		return changed(w, view, func(object *criticalv1.CriticalService) {
			object.Annotations[criticalv1.AnnotationV2Spec] = "nonsense"
		})
	}).Should(MatchError(ContainSubstring("is not a spec of v2")))
	change(w, selecting("broken", ""), func(object *criticalv2.CriticalService) { object.Spec.ServiceSelector.MatchLabels["role"] = "backend" })

	// A URL goes with its process, so that config/webhook can be applied again.
	p.Stop()
	w.Expect(w.validation().URL).To(BeNil())
	w.Expect(ptr.Deref(w.validation().Service.Path, "")).To(Equal(policy.ValidationPath))
}

// The operator is down when a user stores what it would have refused. That write is
// not blocked, nor are labelling, finalizing and deleting later.
func TestWhatIsStoredCanAlwaysBeTouched(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	w.installValidation()
	stored := selecting("stored", "front end")
	stored.Finalizers = []string{"example.com/hold"}
	w.Expect(admin.Create(t.Context(), stored)).To(Succeed(), "without an operator no write is blocked")

	w.start()
	w.awaitValidation()
	w.Eventually(w.observed("stored")).Should(BeTrue(), "the status is written")
	change(w, stored, func(object *criticalv2.CriticalService) { object.Labels = map[string]string{"team": "web"} })
	// Of v1, the schema itself has the rule. Kubernetes 1.30 and later hold only what is changed against it.
	ratchets, err := testenv.IsSince(adminConfig, "1.30")
	w.Expect(err).NotTo(HaveOccurred())
	if ratchets {
		view := &criticalv1.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "stored"}}
		change(w, view, func(object *criticalv1.CriticalService) { object.Labels["team"] = "data" })
	}
	w.Eventually(func() error {
		return changed(w, stored, func(object *criticalv2.CriticalService) { object.Spec.ActivationDelay.Duration = time.Second })
	}).Should(Satisfy(apierrors.IsInvalid), "a change of the spec must fix it")

	w.Expect(admin.Delete(t.Context(), stored)).To(Succeed())
	change(w, stored, func(object *criticalv2.CriticalService) { object.Finalizers = nil })
	w.Eventually(func() bool { return testenv.Gone(t.Context(), admin, stored) }).Should(BeTrue())
}

func TestAWarningArrivesAtTheClient(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	w.installValidation()
	w.start("NAMESPACES=default,shop")
	l := w.listener()
	warnings := func(object client.Object) func() ([]string, error) {
		return func() ([]string, error) {
			err := l.Create(t.Context(), object.DeepCopyObject().(client.Object), client.DryRunAll)
			return l.warnings(), err
		}
	}
	w.awaitValidation()
	w.Eventually(warnings(shopV1())).Should(ContainElements(
		`Namespace "shop" does not exist: create it, or name another in the spec.`,
		"PodTemplate critical-service-system/critical-service-pod-template does not exist: create it; until then the built-in page stands in for it, where it can.",
	))
	elsewhere := selecting("page", "frontend")
	elsewhere.Spec.Namespaces = []string{"kube-system"}
	w.Eventually(warnings(elsewhere)).Should(ContainElement(
		`The operator does not look at namespace "kube-system": add it to NAMESPACES, or name another in the spec.`))
	w.Eventually(warnings(selecting("page", "frontend"))).Should(ContainElement(
		HavePrefix("No Service matches right now, so that nothing is protected: ")))
}

// An install of an earlier release has no such configuration. It may come later,
// may be broken, and is fixed; what its owner has set is kept.
func TestTheConfigurationOfTheValidationIsKeptRight(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	p := w.start()
	w.Eventually(p.Ready).Should(Succeed())
	w.Eventually(func() error { return w.converts("without-it") }).Should(Succeed())

	w.installValidation()
	w.awaitValidation()
	authority, err := w.authority()
	w.Expect(err).NotTo(HaveOccurred())
	right := w.validation()
	w.Expect(right.CABundle).To(Equal(authority.Data["ca.crt"]))

	change(w, w.configuration(), func(configuration *admissionregistrationv1.ValidatingWebhookConfiguration) {
		ours := &configuration.Webhooks[0]
		ours.TimeoutSeconds = new(int32(3))
		ours.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/elsewhere")}
	})
	w.Eventually(w.validation).Should(Equal(right))
	w.Expect(w.configuration().Webhooks[0].TimeoutSeconds).To(Equal(new(int32(3))))
	w.awaitValidation()
}

// Who brings certificates writes the caBundle too.
func TestWithProvidedCertificatesTheConfigurationIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	w.installValidation()
	folder := t.TempDir()
	address := ports.Free(w.t)
	_, port, err := net.SplitHostPort(address)
	w.Expect(err).NotTo(HaveOccurred())
	certificate := w.provide(folder, address)
	change(w, w.configuration(), func(configuration *admissionregistrationv1.ValidatingWebhookConfiguration) {
		configuration.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{
			URL: new("https://" + address + policy.ValidationPath), CABundle: certificate,
		}
	})
	before := w.configuration()
	w.start("WEBHOOK_PORT="+port, "WEBHOOK_CERT_DIR="+folder, "WEBHOOK_URL=")
	w.awaitValidation()
	w.Expect(w.configuration()).To(Equal(before))
}
