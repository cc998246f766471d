package webhook

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/critical-service/operator/internal/definition"
)

const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 30 * time.Second
	// farewell is how long the last write of a process may take.
	farewell = 2 * time.Second
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=criticalservices.mycrd.com,verbs=patch

// trust keeps the CustomResourceDefinition pointed at the webhook, with the
// authorities that the API server shall trust. Every replica does so: there is no
// leader yet when the first conversion is needed, and all want the same.
type trust struct {
	controller.Controller
	client  client.Client
	options Options
}

func newTrust(cluster cluster.Cluster, options Options) (*trust, error) {
	t := &trust{client: cluster.GetClient(), options: options}
	var err error
	t.Controller, err = controller.NewUnmanaged("webhook-trust", controller.Options{
		Reconciler:  reconcile.Func(t.reconcile),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		// Without an API server there is nothing to do, and nothing to end for.
		CacheSyncTimeout: definition.NoTimeout,
		// The name is for logs and metrics; tests run several in one process.
		SkipNameValidation: new(true),
	})
	if err != nil {
		return nil, fmt.Errorf("make the controller of the webhook's trust: %w", err)
	}
	definitions := source.Kind(cluster.GetCache(), &apiextensionsv1.CustomResourceDefinition{}, wakes[*apiextensionsv1.CustomResourceDefinition]())
	secrets := source.Kind(cluster.GetCache(), &corev1.Secret{}, wakes[*corev1.Secret]())
	return t, errors.Join(t.Watch(definitions), t.Watch(secrets))
}

// wakes the one key that there is.
func wakes[T client.Object]() handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, T) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: definition.Name}}}
	})
}

// Start runs until the context ends. A URL ends with the process behind it: the
// CustomResourceDefinition is then left as it was installed.
func (t *trust) Start(ctx context.Context) error {
	err := t.Controller.Start(ctx)
	if t.options.URL != "" {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		err = errors.Join(err, t.write(last, ""))
	}
	return err
}

func (t *trust) reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, t.write(ctx, t.options.URL)
}

// write makes the CustomResourceDefinition what it should be, and writes nothing
// if it is. If it, or the Secret, is not there, its coming wakes us.
func (t *trust) write(ctx context.Context, url string) error {
	var secret corev1.Secret
	if err := t.client.Get(ctx, t.options.SecretKey(), &secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	var found apiextensionsv1.CustomResourceDefinition
	if err := t.client.Get(ctx, types.NamespacedName{Name: definition.Name}, &found); err != nil {
		return client.IgnoreNotFound(err)
	}
	current := secret.Data[cmmeta.TLSCAKey]
	if len(current) == 0 {
		return nil // The authority is about to mend its Secret.
	}
	trusted, err := bundle(current, bundleOf(&found), time.Now())
	if err != nil {
		return fmt.Errorf("read the authority in Secret %s: %w", t.options.SecretKey(), err)
	}
	wanted := found.DeepCopy()
	wanted.Spec.Conversion = conversionBy(t.clientConfig(url, trusted))
	if equality.Semantic.DeepEqual(found.Spec.Conversion, wanted.Spec.Conversion) {
		return nil
	}
	change := client.MergeFromWithOptions(&found, client.MergeFromWithOptimisticLock{})
	if err := t.client.Patch(ctx, wanted, change); err != nil {
		return fmt.Errorf("tell the API server where CriticalServices are converted (CustomResourceDefinition %s): %w", definition.Name, err)
	}
	log.FromContext(ctx).Info("told the API server where CriticalServices are converted", "url", url)
	return nil
}

func (t *trust) clientConfig(url string, trusted []byte) *apiextensionsv1.WebhookClientConfig {
	if url != "" {
		return &apiextensionsv1.WebhookClientConfig{URL: new(url + Path), CABundle: trusted}
	}
	return &apiextensionsv1.WebhookClientConfig{
		Service: &apiextensionsv1.ServiceReference{
			Namespace: t.options.Namespace, Name: Service, Path: new(Path), Port: new(int32(servicePort)),
		},
		CABundle: trusted,
	}
}

func conversionBy(config *apiextensionsv1.WebhookClientConfig) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: config, ConversionReviewVersions: []string{"v1"},
		},
	}
}

func bundleOf(crd *apiextensionsv1.CustomResourceDefinition) []byte {
	if crd.Spec.Conversion == nil || crd.Spec.Conversion.Webhook == nil || crd.Spec.Conversion.Webhook.ClientConfig == nil {
		return nil
	}
	return crd.Spec.Conversion.Webhook.ClientConfig.CABundle
}

// bundle is the current authority and, while it is valid, the newest of ours
// before it: other replicas may still show certificates that it signed.
func bundle(current, found []byte, now time.Time) ([]byte, error) {
	authorities, err := cert.ParseCertsPEM(current)
	if err != nil {
		return nil, err
	}
	// What cannot be read is not kept; the API server may have been given anything.
	others, _ := cert.ParseCertsPEM(found)
	var previous *x509.Certificate
	for _, other := range others {
		ours := other.Subject.CommonName == authorityName && !bytes.Equal(other.Raw, authorities[0].Raw)
		if ours && now.Before(other.NotAfter) && (previous == nil || previous.NotBefore.Before(other.NotBefore)) {
			previous = other
		}
	}
	if previous != nil {
		authorities = append(authorities[:1], previous)
	}
	return cert.EncodeCertificates(authorities...)
}
