package criticalservice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
	"github.com/critical-service/operator/controllers/criticalservice/protect"
	"github.com/critical-service/operator/controllers/criticalservice/provision"
	"github.com/critical-service/operator/controllers/criticalservice/reading"
	"github.com/critical-service/operator/controllers/criticalservice/selftest"
	"github.com/critical-service/operator/controllers/criticalservice/status"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/write"
	"github.com/critical-service/operator/internal/diagnosis/evidence"
	"github.com/critical-service/operator/internal/protection"
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
	// NoPods says why no Pods of PodTemplates can be run; empty where they can.
	NoPods string
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
	// NoTenants is true where ServiceFallbacks are ignored.
	NoTenants bool
	// Registry is where metrics are registered; nil is nowhere.
	Registry prometheus.Registerer
}

const (
	// maxLive is how many bytes a live read takes: those of the EndpointSlices of 10,000
	// endpoints, and more.
	maxLive = 4 << 20
	// maxEvidence is how many a read takes that explains an outage: those of 250 workloads
	// of the usual size. In memory they may become six times as many.
	maxEvidence = 1 << 20
)

// What this kind may do. What is in the role critical-service-operator-namespaces may be bound in the watched
// namespaces only (config/components/namespaced).
//
// +kubebuilder:rbac:groups=mycrd.com,resources=criticalservices,verbs=get;list;watch
// +kubebuilder:rbac:groups=mycrd.com,resources=criticalservices/status,verbs=patch
// +kubebuilder:rbac:groups=mycrd.com,resources=servicefallbacks,verbs=get;list;watch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=mycrd.com,resources=servicefallbacks/status,verbs=patch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=mycrd.com,resources=maintenances,verbs=get;list;watch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
//
// OpenShift requires the permission to create the subresource of those who write the
// addresses of a slice (admission plugin RestrictedEndpointsAdmission).
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch;create;patch;delete,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices/restricted,verbs=create,roleName=critical-service-operator-namespaces
//
// What podTemplate fallbacks need besides. It is a role of its own, which may be left out.
// +kubebuilder:rbac:groups="",resources=podtemplates,verbs=get;list;watch,roleName=critical-service-operator-pod-templates
// +kubebuilder:rbac:groups="",resources=pods,verbs=create;patch;delete,roleName=critical-service-operator-pod-templates
//
// What is read to explain an outage; docs/causes.md says what each is for.
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets;replicasets,verbs=list,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=list,roleName=critical-service-operator-namespaces

// Setup adds the controllers of this kind to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	observer, err := observerOf(mgr, options)
	if err != nil {
		return err
	}
	explaining, err := read.Bounded(mgr, maxEvidence)
	if err != nil {
		return fmt.Errorf("make a reader of the API server: %w", err)
	}
	recorder, err := events.NewRecorder(mgr, "critical-service-operator")
	if err != nil {
		return err
	}
	measured := metrics.New(observer.Memory)
	writer, err := write.Counted(mgr.GetClient(), options.Registry)
	if err == nil && options.Registry != nil {
		err = errors.Join(measured.Register(options.Registry), options.Registry.Register(measured.Gauges(observer, mgr.Elected())))
	}
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	emitter := events.Emitter{Recorder: recorder, Scheme: mgr.GetScheme()}
	wakeStatus := wake.NewStatus(observer.Memory)
	diagnoses := cause.NewDiagnoses(options.DiagnoseAfter, observer.Memory)
	readers := reading.New(observer, wakeStatus)

	wakeProtect, wakeProvision, wakeSelfTest := queue.NewWaker(0), queue.NewWaker(0), selftest.NewWaker(options.SelfTestInterval)
	services := &protect.Reconciler{
		Observer: observer, Emitter: emitter, Client: writer, Metrics: measured, Diagnoses: diagnoses, Readers: readers,
		Protect: wakeProtect, Provision: wakeProvision, SelfTest: wakeSelfTest, Wake: wakeStatus,
	}
	if err := services.Setup(mgr); err != nil {
		return fmt.Errorf("set up the service controller: %w", err)
	}
	provider := &provision.Reconciler{
		Observer: observer, Emitter: emitter, Client: writer, Metrics: measured, Wake: wakeProvision, Protect: wakeProtect,
	}
	if err := provider.Setup(mgr); err != nil {
		return fmt.Errorf("set up the provision controller: %w", err)
	}
	if err := setUpStatuses(mgr, &options, &status.Reconciler{
		Observer: observer, Emitter: emitter, Client: writer, Metrics: measured, Wake: wakeStatus, Protect: wakeProtect, Untested: options.SelfTestInterval <= 0,
	}); err != nil {
		return fmt.Errorf("set up the status controller: %w", err)
	}
	causes := &cause.Reconciler{Observer: observer, Emitter: emitter, Reader: evidence.Shared(explaining), Diagnoses: diagnoses, Wake: wakeStatus}
	if err := causes.Setup(mgr); err != nil {
		return fmt.Errorf("set up the cause controller: %w", err)
	}
	if err := readers.Setup(mgr); err != nil {
		return fmt.Errorf("set up the content and template controllers: %w", err)
	}
	if options.SelfTestInterval <= 0 {
		return nil
	}
	tester := &selftest.Reconciler{
		Observer: observer, Emitter: emitter, Wake: wakeStatus, Protect: wakeProtect, Metrics: measured,
		Every: options.SelfTestInterval, Woken: wakeSelfTest, Dial: options.SelfTestDial,
	}
	if err := tester.Setup(mgr); err != nil {
		return fmt.Errorf("set up the self-test: %w", err)
	}
	return nil
}

// setUpStatuses adds the controller that writes statuses, and what writes those of a kind
// that is turned off.
func setUpStatuses(mgr ctrl.Manager, options *Options, statuses *status.Reconciler) error {
	if err := statuses.Setup(mgr); err != nil || !options.NoTenants {
		return err
	}
	return mgr.Add(&status.TurnedOff{Live: mgr.GetAPIReader(), Client: statuses.Client, Namespaces: options.Namespaces, Clock: statuses.Clock})
}

// observerOf reads what the caches of the manager hold, and the API server.
func observerOf(mgr ctrl.Manager, options Options) (observe.Observer, error) {
	live, err := read.Bounded(mgr, maxLive)
	if err != nil {
		return observe.Observer{}, fmt.Errorf("make a reader of the API server: %w", err)
	}
	var cached client.Reader = mgr.GetClient()
	if options.NoTenants {
		cached, live = observe.WithoutTenants{Reader: cached}, observe.WithoutTenants{Reader: live}
	}
	return observe.Observer{
		Cached: cached,
		Live:   live,
		Settings: decide.Settings{
			Template: options.Template, OperatorNamespace: options.OperatorNamespace,
			PodNamePrefix: options.PodNamePrefix, NoResponder: options.NoResponder, NoPods: options.NoPods,
		},
		Memory:     &memory.Memory{},
		Namespaces: options.Namespaces,
		Clock:      clock.RealClock{},

		LivePolicies: observe.NewPolicyReader(mgr.GetAPIReader(), live, cached),
		NoTenants:    options.NoTenants,
	}, nil
}

// index makes the indexes of the caches by which a Service is observed.
func index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &discoveryv1.EndpointSlice{}, protection.IndexServiceOfSlice, observe.ServiceOfSlice); err != nil {
		return fmt.Errorf("index EndpointSlices by Service: %w", err)
	}
	if err := indexer.IndexField(ctx, &discoveryv1.EndpointSlice{}, observe.IndexBackupOfSlice, observe.BackupOfSlice); err != nil {
		return fmt.Errorf("index EndpointSlices by backup: %w", err)
	}
	if err := indexer.IndexField(ctx, &discoveryv1.EndpointSlice{}, observe.IndexPageOfSlice, observe.PageOfSlice); err != nil {
		return fmt.Errorf("index EndpointSlices of pages: %w", err)
	}
	if err := indexer.IndexField(ctx, &criticalv2.Maintenance{}, protection.IndexServicesOfMaintenance, observe.ServicesOfMaintenance); err != nil {
		return fmt.Errorf("index Maintenances by Service: %w", err)
	}
	return nil
}

// CacheByObject says what this kind needs of each watched kind.
func CacheByObject(options Options) map[client.Object]cache.ByObject {
	without := observe.Without{Tenants: options.NoTenants, Templates: options.NoPods != ""}
	return observe.CacheByObject(options.Namespaces, without, options.Template.Namespace, options.OperatorNamespace)
}
