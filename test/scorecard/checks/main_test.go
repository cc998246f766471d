package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/webhook/policy"
)

var (
	// admin may do everything.
	admin client.WithWatch
	// tester may do what config/scorecard/rbac.yaml allows, and no more.
	tester client.WithWatch
	// unprivileged is a user without any permission.
	unprivileged client.WithWatch
)

// self is the Pod in which the tests believe to run.
var self = client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "scorecard-test-self"}

// An API server serves all tests of the package. Nothing else runs there: the understudy plays the operator
// and the application.
func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		log.Fatal("these tests need etcd and kube-apiserver: run them with `make test`, or set KUBEBUILDER_ASSETS to the folder that holds both")
	}
	scheme, err := Suite.Operator.Scheme()
	if err != nil {
		log.Fatal(err)
	}
	environment := &envtest.Environment{
		Scheme:                scheme,
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			IgnoreSchemeConvertible: true,
			Paths:                   []string{filepath.Join("..", "..", "..", "config", "webhook", "manifests.yaml")},
		},
		ControlPlaneStartTimeout: 5 * time.Minute,
		ControlPlaneStopTimeout:  5 * time.Minute,
	}
	config, err := environment.Start()
	if err == nil {
		err = prepare(environment, config)
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		log.Print(err)
	}
	if err := environment.Stop(); err != nil {
		log.Print(err)
	}
	os.Exit(code)
}

func prepare(environment *envtest.Environment, config *rest.Config) error {
	config.QPS = -1
	var err error
	if admin, err = client.NewWithWatch(config, client.Options{Scheme: environment.Scheme}); err != nil {
		return err
	}
	for name, connection := range map[string]*client.WithWatch{"tester": &tester, "unprivileged": &unprivileged} {
		user, err := environment.AddUser(envtest.User{Name: name}, config)
		if err != nil {
			return err
		}
		if *connection, err = client.NewWithWatch(user.Config(), client.Options{Scheme: environment.Scheme}); err != nil {
			return err
		}
	}
	ctx := context.Background()
	return errors.Join(
		serveWebhooks(&environment.WebhookInstallOptions),
		admin.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: self.Namespace, Name: self.Name},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "scorecard-test", Image: "registry.example/scorecard:test"}}},
		}),
		makeOperator(ctx),
		grant(ctx),
		wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return tester.List(ctx, &criticalv2.CriticalServiceList{}) == nil, nil // The API server reads permissions from a cache.
		}),
	)
}

// grant gives the tester the permissions that the tests have in a cluster.
func grant(ctx context.Context) error {
	manifest, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "scorecard", "rbac.yaml"))
	if err != nil {
		return err
	}
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal(document, role); err != nil {
			return err
		}
		if role.Kind != "ClusterRole" {
			continue
		}
		return errors.Join(admin.Create(ctx, role), admin.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tester"}},
		}))
	}
	return errors.New("config/scorecard/rbac.yaml has no ClusterRole")
}

// serveWebhooks serves the conversion as the operator does, and a validation that refuses what the operator's does and
// never warns, where envtest has pointed the API server.
func serveWebhooks(options *envtest.WebhookInstallOptions) error {
	handler, err := policy.Conversion()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(options.LocalServingHost, strconv.Itoa(options.LocalServingPort)))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/convert", handler)
	mux.Handle(policy.ValidationPath, &admission.Webhook{Handler: admission.HandlerFunc(validate)})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		folder := options.LocalServingCertDir
		log.Print(server.ServeTLS(listener, filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")))
	}()
	return nil
}

func validate(_ context.Context, request admission.Request) admission.Response {
	var policy criticalv2.CriticalService
	if request.Kind.Version != criticalv2.GroupVersion.Version {
		return admission.Allowed("")
	}
	if err := json.Unmarshal(request.Object.Raw, &policy); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if errs := policy.Spec.ValidateBeyondSchema(); len(errs) > 0 {
		refusal := apierrors.NewInvalid(criticalv2.CriticalServiceKind.GroupKind(), policy.Name, errs)
		return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &refusal.ErrStatus}}
	}
	return admission.Allowed("")
}

// makeOperator makes a Pod that looks like the operator.
func makeOperator(ctx context.Context) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "operator", Labels: map[string]string{
			"app.kubernetes.io/name": "critical-service-operator", "app.kubernetes.io/component": "manager",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "registry.example/operator:test"}}},
	}
	if err := admin.Create(ctx, pod); err != nil {
		return err
	}
	becomeReady(pod, "10.0.0.1")
	return admin.Status().Update(ctx, pod)
}

func becomeReady(pod *corev1.Pod, address string) {
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
}
