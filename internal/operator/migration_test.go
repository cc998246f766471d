package operator_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/crdcache"
	"github.com/critical-service/operator/internal/operator/storageversion"
	"github.com/critical-service/operator/internal/operator/webhook"
	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
	"github.com/critical-service/operator/internal/operator/webhook/policy"
	"github.com/critical-service/operator/test/ports"
)

// severalPages is more than the migration lists at once.
const severalPages = 105

// The migration alone, without controllers that write as well: what was stored
// as v1 is read without a webhook afterwards, and says what it said.
func TestWhatIsStoredAsV1IsRewritten(t *testing.T) {
	w := newWorld(t)
	w.installOld()
	for number := range severalPages {
		object := shopV1()
		object.Name = fmt.Sprintf("shop-%d", number)
		object.Spec.Namespace = fmt.Sprintf("team-%d", number)
		object.Labels = map[string]string{"team": strconv.Itoa(number)}
		w.Expect(admin.Create(t.Context(), object)).To(Succeed())
		if number > 2 {
			continue
		}
		object.Status.ObservedGeneration = object.Generation
		object.Status.Conditions = []metav1.Condition{{
			Type: criticalv2.ConditionReady, Status: metav1.ConditionTrue, Reason: "Protected", LastTransitionTime: metav1.Now(),
		}}
		w.Expect(admin.Status().Update(t.Context(), object)).To(Succeed())
	}
	var before criticalv1.CriticalServiceList
	w.Expect(admin.List(t.Context(), &before)).To(Succeed())
	w.Expect(before.Items).To(HaveLen(severalPages))
	w.installNew()
	// A page comes from the storage, and not from the API server's cache, which would be long in saying no.
	w.Eventually(func() error { return admin.List(t.Context(), &criticalv2.CriticalServiceList{}, client.Limit(1)) }).
		Should(MatchError(ContainSubstring("conversion webhook")), "no webhook converts yet")

	stop := w.startMigration()
	// At low priority beside other work, to rewrite them takes more than a minute.
	w.Eventually(func() []string { return w.definition().Status.StoredVersions }).WithTimeout(5 * time.Minute).Should(Equal([]string{"v2"}))
	stop()

	var after criticalv2.CriticalServiceList
	w.Expect(admin.List(t.Context(), &after)).To(Succeed(), "no webhook converts any more, and none is needed")
	w.Expect(after.Items).To(HaveLen(severalPages))
	schema, err := crdschema.Load()
	w.Expect(err).NotTo(HaveOccurred())
	for i := range before.Items {
		var want criticalv2.CriticalService
		w.Expect(criticalv1.ConvertToV2(&before.Items[i], &want, schema.Valid)).To(Succeed())
		if want.Status.ObservedGeneration == 0 {
			want.Status.ObservedGeneration = -1 // The default, where no operator has looked.
		}
		got := after.Items[i]
		w.Expect(got.Spec.Namespaces).To(Equal(want.Spec.Namespaces))
		w.Expect(got.Spec.ServiceSelector).To(Equal(want.Spec.ServiceSelector))
		w.Expect(got.Spec.Fallback).To(Equal(want.Spec.Fallback))
		w.Expect(got.Status).To(Equal(want.Status))
		w.Expect(got.UID).To(Equal(want.UID))
		w.Expect(got.Labels).To(Equal(want.Labels))
		w.Expect(got.Generation).To(Equal(want.Generation), "to rewrite is no change")
	}
}

// startMigration runs webhook and migration, under the operator's permissions.
func (w *world) startMigration() (stop func()) {
	w.t.Helper()
	user, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	w.Expect(err).NotTo(HaveOccurred())
	user.QPS = -1 // As in production.
	mgr, err := w.migrationManager(user)
	w.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return func() {
		w.t.Helper()
		cancel()
		w.Eventually(ended).Should(Receive(Not(HaveOccurred())))
	}
}

func (w *world) migrationManager(user *rest.Config) (ctrl.Manager, error) {
	address := ports.Free(w.t)
	_, text, err := net.SplitHostPort(address)
	w.Expect(err).NotTo(HaveOccurred())
	port, err := strconv.Atoi(text)
	w.Expect(err).NotTo(HaveOccurred())
	options := policy.Options
	options.Port, options.CertDir, options.URL, options.Namespace = port, w.t.TempDir(), "https://"+address, operatorNamespace
	watched, err := crdcache.New(user, options.Kind, options.Service, options.SecretKey())
	if err != nil {
		return nil, err
	}
	server, err := webhook.NewServer(watched, options)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(user, ctrl.Options{
		WebhookServer: server, Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, err
	}
	conversion, err := policy.Conversion()
	if err != nil {
		return nil, err
	}
	mgr.GetWebhookServer().Register(webhook.Path, conversion)
	return mgr, storageversion.Setup(mgr, watched, options.Kind, func(context.Context) error { return nil })
}
