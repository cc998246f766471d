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

	"github.com/critical-service/operator/internal/operator/crdcache"
)

const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 30 * time.Second
	// farewell is how long the last write of a process may take.
	farewell = 2 * time.Second
)

// trust keeps an object of the API server pointed at the webhook, with the
// authorities that the API server shall trust. Every replica does so: there is no
// leader yet when the first conversion is needed, and all want the same.
//
// Each object has a trust of its own: conversion must not wait for what is only
// good to have.
type trust[T client.Object] struct {
	controller.Controller
	pointer[T]
	client  client.Client
	options Options
}

// pointer is an object that tells the API server where a webhook is.
type pointer[T client.Object] struct {
	// keeper is the name of the controller that keeps it.
	keeper string
	// name is that of the object.
	name string
	// does is what the webhook does, for people.
	does string
	// empty makes an object of the kind.
	empty func() T
	// trusted are the authorities that an object has.
	trusted func(T) []byte
	// point makes an object what it should be, with a URL (empty is by the
	// Service) and authorities. What cannot be pointed it leaves alone.
	point func(T, Options, string, []byte)
}

func newTrust[T client.Object](cluster cluster.Cluster, options Options, to pointer[T]) (*trust[T], error) {
	t := &trust[T]{client: cluster.GetClient(), options: options, pointer: to}
	var err error
	t.Controller, err = controller.NewUnmanaged(t.keeper, controller.Options{
		Reconciler:  reconcile.Func(t.reconcile),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		// Without an API server there is nothing to do, and nothing to end for.
		CacheSyncTimeout: crdcache.NoTimeout,
		// The name is for logs and metrics; tests run several in one process.
		SkipNameValidation: new(true),
	})
	if err != nil {
		return nil, fmt.Errorf("make the controller of the webhook's trust: %w", err)
	}
	pointers := source.Kind(cluster.GetCache(), t.empty(), wakes[T](t.name))
	secrets := source.Kind(cluster.GetCache(), &corev1.Secret{}, wakes[*corev1.Secret](t.name))
	return t, errors.Join(t.Watch(pointers), t.Watch(secrets))
}

// wakes the one key that there is.
func wakes[T client.Object](name string) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, T) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: name}}}
	})
}

// Start runs until the context ends. A URL ends with the process behind it: the
// object is then left as it was installed.
func (t *trust[T]) Start(ctx context.Context) error {
	err := t.Controller.Start(ctx)
	if t.options.URL != "" {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		err = errors.Join(err, t.write(last, ""))
	}
	return err
}

func (t *trust[T]) reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, t.write(ctx, t.options.URL)
}

// write makes the object what it should be, and writes nothing if it is. If it,
// or the Secret, is not there, its coming wakes us.
func (t *trust[T]) write(ctx context.Context, url string) error {
	var secret corev1.Secret
	if err := t.client.Get(ctx, t.options.SecretKey(), &secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	found := t.empty()
	if err := t.client.Get(ctx, types.NamespacedName{Name: t.name}, found); err != nil {
		return client.IgnoreNotFound(err)
	}
	current := secret.Data[cmmeta.TLSCAKey]
	if len(current) == 0 {
		return nil // The authority is about to mend its Secret.
	}
	trusted, err := bundle(current, t.trusted(found), time.Now())
	if err != nil {
		return fmt.Errorf("read the authority in Secret %s: %w", t.options.SecretKey(), err)
	}
	wanted := found.DeepCopyObject().(T)
	t.point(wanted, t.options, url, trusted)
	if equality.Semantic.DeepEqual(found, wanted) {
		return nil
	}
	change := client.MergeFromWithOptions(found, client.MergeFromWithOptimisticLock{})
	if err := t.client.Patch(ctx, wanted, change); err != nil {
		return fmt.Errorf("tell the API server where CriticalServices are %s (%T %s): %w", t.does, found, t.name, err)
	}
	log.FromContext(ctx).Info("told the API server where CriticalServices are "+t.does, "url", url)
	return nil
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
