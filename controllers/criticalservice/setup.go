package criticalservice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/write"
)

// Options are the settings of this kind.
type Options struct {
	// Template names the core PodTemplate of fallback Pods that name none.
	Template types.NamespacedName
	// OperatorNamespace is where PodTemplates are looked for that are named without
	// a namespace.
	OperatorNamespace string
	// NoResponder says why no page can be served; empty where one can.
	NoResponder string
	// PodNamePrefix begins the name of every fallback Pod.
	PodNamePrefix string
	// Namespaces are those whose Services are looked at; empty is all.
	Namespaces []string
	// SelfTestInterval is how often each standby is asked for an answer; 0 is never.
	SelfTestInterval time.Duration
	// DiagnoseAfter is how long after the beginning of an outage its cause is looked
	// for; 0 is never.
	DiagnoseAfter time.Duration
	// SelfTestDial opens the connections of the self-test; nil is the network.
	SelfTestDial func(ctx context.Context, network, address string) (net.Conn, error)
	// Registry is where metrics are registered; nil is nowhere.
	Registry prometheus.Registerer
}

// Back-off of failed reconciles. The library's own cap of 1,000 s is far too
// long for a Service that is down.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Setup adds the controllers of this kind to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &discoveryv1.EndpointSlice{}, indexServiceOfSlice, serviceOfSlice); err != nil {
		return fmt.Errorf("index EndpointSlices by Service: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &discoveryv1.EndpointSlice{}, indexBackupOfSlice, backupOfSlice); err != nil {
		return fmt.Errorf("index EndpointSlices by backup: %w", err)
	}
	observer := observer{
		cached: mgr.GetClient(),
		live:   mgr.GetAPIReader(),
		settings: decide.Settings{
			Template: options.Template, OperatorNamespace: options.OperatorNamespace,
			PodNamePrefix: options.PodNamePrefix, NoResponder: options.NoResponder,
		},
		attempts:   newAnswers[decide.Attempt](),
		refusals:   newAnswers[decide.Refusal](),
		causes:     newAnswers[criticalv2.OutageCause](),
		checks:     newAnswers[summary.Check](),
		untested:   options.SelfTestInterval <= 0,
		namesakes:  newAnswers[corev1.Pod](),
		tables:     newTables(),
		clock:      clock.RealClock{},
		namespaces: options.Namespaces,
	}
	recorder, err := events.NewRecorder(mgr, "critical-service-operator")
	if err != nil {
		return err
	}
	measured := newMetrics()
	writer, err := write.Counted(mgr.GetClient(), options.Registry)
	if err == nil && options.Registry != nil {
		err = errors.Join(measured.register(options.Registry), options.Registry.Register(newGauges(observer, measured.outages, mgr.Elected())))
	}
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	announcer := events.Announcer{Recorder: recorder, Scheme: mgr.GetScheme()}
	wake := make(wakeStatus, 1024)
	inquiries := newInquiries(options.DiagnoseAfter, observer.causes)

	services := &ServiceReconciler{
		observer: observer, Announcer: announcer, client: writer, wake: wake, metrics: measured, inquiries: inquiries,
		rehearsals: make(chan struct{}, rehearsalsAtOnce),
	}
	if err := services.setup(mgr); err != nil {
		return fmt.Errorf("set up the service controller: %w", err)
	}
	status := &StatusReconciler{observer: observer, Announcer: announcer, client: writer, metrics: measured}
	if err := status.setup(mgr, wake); err != nil {
		return fmt.Errorf("set up the status controller: %w", err)
	}
	causes := &CauseReconciler{observer: observer, Announcer: announcer, inquiries: inquiries, wake: wake}
	if err := causes.setup(mgr); err != nil {
		return fmt.Errorf("set up the cause controller: %w", err)
	}
	if observer.untested {
		return nil
	}
	tester := &SelfTestReconciler{
		observer: observer, Announcer: announcer, wake: wake, metrics: measured,
		every: options.SelfTestInterval, dial: options.SelfTestDial, unconfirmed: newAnswers[map[question]bool](),
	}
	if err := tester.setup(mgr); err != nil {
		return fmt.Errorf("set up the self-test: %w", err)
	}
	return nil
}

func (r *ServiceReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("service").
		For(&corev1.Service{}).
		Watches(&discoveryv1.EndpointSlice{}, eachState(serviceOfSliceEvent(r.cached))).
		Watches(&corev1.Service{}, eachState(backupChanged(r.cached))).
		Watches(&corev1.Pod{}, eachState(serviceOfFallback(r.cached))).
		Watches(&appsv1.Deployment{}, eachState(servicesWithPage(r.cached))).
		Watches(&corev1.ConfigMap{}, eachState(serviceOfConfigMap(r.cached))).
		Watches(&corev1.Namespace{}, eachState(servicesOfNamespace(r.cached)), builder.WithPredicates(labelsChanged)).
		Watches(&criticalv2.CriticalService{}, eachState(servicesOfPolicy(r.cached)), builder.WithPredicates(specChanged)).
		Watches(&corev1.PodTemplate{}, eachState(everyMatchedService(r.cached))).
		WithOptions(controllerOptions(8)).
		Complete(r)
}

func (r *StatusReconciler) setup(mgr ctrl.Manager, wake <-chan event.TypedGenericEvent[*criticalv2.CriticalService]) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("status").
		For(&criticalv2.CriticalService{}, builder.WithPredicates(specChanged)).
		Watches(&corev1.Service{}, eachState(policiesOfService(r.cached)), builder.WithPredicates(labelsChanged)).
		Watches(&corev1.Namespace{}, eachState(policiesBySelector(r.cached)), builder.WithPredicates(labelsChanged)).
		WatchesRawSource(source.Channel(wake, statusOfPolicy())).
		WithOptions(controllerOptions(2)).
		Complete(r)
}

// controllerOptions warm the queues of a replica that does not lead, so that a
// new leader starts from full caches.
func controllerOptions(workers int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		EnableWarmup:            new(true),
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	}
}
