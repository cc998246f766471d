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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/operator/crdcache"
)

const (
	// shutdownTimeout is how long the last write of a process may take.
	shutdownTimeout = 4 * time.Second
)

// trust keeps the client config of a webhook in an object of the API server up to
// date. Every replica does so: there is no leader yet when the first conversion is
// needed, and all want the same.
//
// Each object has a trust of its own: conversion must not wait for the validation.
type trust struct {
	controller.Controller
	client  client.Client
	options Options
	update  updateFunc
}

// updateFunc writes the client config of a webhook, if it is not as wanted, with a
// URL (empty means the Service) and the current authority. It does nothing where
// there is no object: its creation wakes the trust.
type updateFunc func(ctx context.Context, c client.Client, options Options, url string, authority []byte) error

func newTrust(cluster cluster.Cluster, options Options, name string, object client.Object, update updateFunc) (*trust, error) {
	t := &trust{client: cluster.GetClient(), options: options, update: update}
	var err error
	t.Controller, err = controller.NewUnmanaged(name, controller.Options{
		Reconciler:  reconcile.Func(t.reconcile),
		RateLimiter: queue.Backoff[reconcile.Request](queue.LastRetry),
		// Without an API server there is nothing to do, and nothing to end for.
		CacheSyncTimeout: crdcache.NoTimeout,
		// The name is for logs and metrics; tests run several in one process.
		SkipNameValidation: new(true),
	})
	if err != nil {
		return nil, fmt.Errorf("make the controller %s: %w", name, err)
	}
	// There is one key, whatever changes.
	wake := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: name}}}
	})
	return t, errors.Join(
		t.Watch(source.Kind(cluster.GetCache(), object, wake)),
		t.Watch(source.Kind(cluster.GetCache(), client.Object(&corev1.Secret{}), wake)),
	)
}

// Start runs until the context ends. A URL ends with the process behind it: the
// object is then left as it was installed.
func (t *trust) Start(ctx context.Context) error {
	err := t.Controller.Start(ctx)
	if t.options.URL != "" {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		err = errors.Join(err, t.write(last, ""))
	}
	return err
}

func (t *trust) reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, t.write(ctx, t.options.URL)
}

func (t *trust) write(ctx context.Context, url string) error {
	var secret corev1.Secret
	if err := t.client.Get(ctx, t.options.SecretKey(), &secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	authority := secret.Data[cmmeta.TLSCAKey]
	if len(authority) == 0 {
		return nil // The authority is about to fill its Secret, which wakes us.
	}
	return t.update(ctx, t.client, t.options, url, authority)
}

// bundle is the current authority and, while it is valid, the newest of ours
// before it: other replicas may still show certificates that it signed.
func (o Options) bundle(current, found []byte, now time.Time) ([]byte, error) {
	authorities, err := cert.ParseCertsPEM(current)
	if err != nil {
		return nil, fmt.Errorf("read the authority in Secret %s: %w", o.authority(), err)
	}
	// What cannot be read is not kept; the API server may have been given anything.
	others, _ := cert.ParseCertsPEM(found)
	var previous *x509.Certificate
	for _, other := range others {
		ours := other.Subject.CommonName == o.authority() && !bytes.Equal(other.Raw, authorities[0].Raw)
		if ours && now.Before(other.NotAfter) && (previous == nil || previous.NotBefore.Before(other.NotBefore)) {
			previous = other
		}
	}
	if previous != nil {
		authorities = append(authorities[:1], previous)
	}
	return cert.EncodeCertificates(authorities...)
}
