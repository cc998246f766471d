package criticalservice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/cause"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
	"github.com/critical-service/operator/controllers/criticalservice/protect"
	"github.com/critical-service/operator/controllers/criticalservice/selftest"
	"github.com/critical-service/operator/controllers/criticalservice/status"
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

// Setup adds the controllers of this kind to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &discoveryv1.EndpointSlice{}, observe.IndexServiceOfSlice, observe.ServiceOfSlice); err != nil {
		return fmt.Errorf("index EndpointSlices by Service: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &discoveryv1.EndpointSlice{}, observe.IndexBackupOfSlice, observe.BackupOfSlice); err != nil {
		return fmt.Errorf("index EndpointSlices by backup: %w", err)
	}
	observer := observe.Observer{
		Cached: mgr.GetClient(),
		Live:   mgr.GetAPIReader(),
		Settings: decide.Settings{
			Template: options.Template, OperatorNamespace: options.OperatorNamespace,
			PodNamePrefix: options.PodNamePrefix, NoResponder: options.NoResponder,
		},
		Attempts:      memory.NewAnswers[decide.Attempt](),
		Refusals:      memory.NewAnswers[decide.Refusal](),
		Causes:        memory.NewAnswers[criticalv2.OutageCause](),
		Checks:        memory.NewAnswers[summary.Check](),
		Untested:      options.SelfTestInterval <= 0,
		NameConflicts: memory.NewAnswers[corev1.Pod](),
		Tables:        memory.NewTables(),
		Clock:         clock.RealClock{},
		Namespaces:    options.Namespaces,
	}
	recorder, err := events.NewRecorder(mgr, "critical-service-operator")
	if err != nil {
		return err
	}
	measured := metrics.New()
	writer, err := write.Counted(mgr.GetClient(), options.Registry)
	if err == nil && options.Registry != nil {
		err = errors.Join(measured.Register(options.Registry), options.Registry.Register(measured.Gauges(observer, mgr.Elected())))
	}
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	announcer := events.Announcer{Recorder: recorder, Scheme: mgr.GetScheme()}
	wakeStatus := make(wake.Status, 1024)
	diagnoses := cause.NewDiagnoses(options.DiagnoseAfter, observer.Causes)

	services := &protect.Reconciler{
		Observer: observer, Announcer: announcer, Client: writer, Wake: wakeStatus, Metrics: measured, Diagnoses: diagnoses,
	}
	if err := services.Setup(mgr); err != nil {
		return fmt.Errorf("set up the service controller: %w", err)
	}
	statuses := &status.Reconciler{Observer: observer, Announcer: announcer, Client: writer, Metrics: measured, Wake: wakeStatus}
	if err := statuses.Setup(mgr); err != nil {
		return fmt.Errorf("set up the status controller: %w", err)
	}
	causes := &cause.Reconciler{Observer: observer, Announcer: announcer, Diagnoses: diagnoses, Wake: wakeStatus}
	if err := causes.Setup(mgr); err != nil {
		return fmt.Errorf("set up the cause controller: %w", err)
	}
	if observer.Untested {
		return nil
	}
	tester := &selftest.Reconciler{
		Observer: observer, Announcer: announcer, Wake: wakeStatus, Metrics: measured,
		Every: options.SelfTestInterval, Dial: options.SelfTestDial,
	}
	if err := tester.Setup(mgr); err != nil {
		return fmt.Errorf("set up the self-test: %w", err)
	}
	return nil
}

// CacheByObject says what this kind needs of each watched kind.
func CacheByObject(options Options) map[client.Object]cache.ByObject {
	return observe.CacheByObject(options.Namespaces, options.Template.Namespace, options.OperatorNamespace)
}
