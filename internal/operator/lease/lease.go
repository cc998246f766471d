// Package lease is the Lease by which one of several replicas acts.
//
// Its holder keeps it for as long as the API server gives no answer, because a
// process that ended then would be missing when the API server is back. See
// docs/decisions/0034-a-silent-api-server-ends-no-leader.md. When it answers again, the
// holder writes nothing before it has heard that it is still the one: see
// docs/decisions/0063-a-former-leader-writes-nothing-and-waits.md.
package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/internal/controller/fault"
)

// errTaken is why a Lease is not given back.
var errTaken = errors.New("the lease is not held by this process")

// Lock is a Lease that its holder loses only to another replica.
type Lock struct {
	resourcelock.Interface
	log logr.Logger
	// held is the last record by which this process became, or stayed, the holder. It
	// is nil if the API server has not confirmed that, or has contradicted it since.
	held *resourcelock.LeaderElectionRecord
	// isSilent reports whether the API server gave no answer to the last request.
	isSilent bool
	// isUnheard reports the same of the last read of a process that waits.
	isUnheard bool
	fence     fence
}

// Options say which Lease, and who takes it.
type Options struct {
	types.NamespacedName
	// Pod is the name of the operator's Pod; empty outside of a cluster.
	Pod string
	// Timeout is how long one request may take, and Term how long the Lease lasts.
	Timeout, Term time.Duration
	// Events makes the recorder of the events that a holder writes about itself.
	Events func(holder string) resourcelock.EventRecorder
}

// New makes a lock. Nothing is asked of the API server before it is used.
func New(config *rest.Config, options Options) (*Lock, error) {
	identity, err := identityOf(options.Pod)
	if err != nil {
		return nil, fmt.Errorf("find a name for the holder of Lease %s: %w", options.NamespacedName, err)
	}
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election") // It adds to the one it is given.
	config.Timeout = options.Timeout
	client, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for Lease %s: %w", options.NamespacedName, err)
	}
	return keeping(&resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: options.Namespace, Name: options.Name},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity, EventRecorder: options.Events(identity)},
	}, options.Term), nil
}

func keeping(lock resourcelock.Interface, term time.Duration) *Lock {
	return &Lock{Interface: lock, log: ctrl.Log.WithName("lease"), fence: fence{term: term}}
}

// Guard is a transport that writes nothing for a process that led and has been followed
// by another one. Before it leads, and without a Lease, a process may write.
func (l *Lock) Guard(next http.RoundTripper) http.RoundTripper {
	return guarded{RoundTripper: next, fence: &l.fence}
}

// IsLost reports whether this process has led, and another one has followed it.
func (l *Lock) IsLost() bool { return l.fence.isLost() }

// identityOf is who holds the Lease: the Pod, so that a container that is restarted
// in it leads again at once. The kubelet starts a container only after the one
// before has ended. Elsewhere each process is a holder of its own.
func identityOf(pod string) (string, error) {
	if pod != "" {
		return pod, nil
	}
	host, err := os.Hostname()
	return host + "_" + string(uuid.NewUUID()), err
}

// Get reads who holds the Lease. Without an answer that is still the process that
// held it. When the answers come back, a process that waits begins to wait again:
// the holder, which could not renew either, needs a moment to do so.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	sent := time.Now()
	record, raw, err := l.Interface.Get(ctx)
	if l.keeps(sent, err) {
		raw, err = json.Marshal(l.held)
		return l.held, raw, err
	}
	if apierrors.IsNotFound(err) || err == nil && record.HolderIdentity != l.Identity() {
		l.held = nil
		l.fence.loses()
	}
	if err == nil && l.isUnheard {
		raw = append(raw, ' ') // client-go takes a record that differs for one that was renewed.
	}
	l.isUnheard = undecided(err)
	return record, raw, err
}

// Create takes a Lease that does not exist.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	return l.written(sent, &record, l.Interface.Create(ctx, record))
}

// Update takes the Lease, renews it, or gives it back. Without an answer it is
// renewed; it is never given back for another holder.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	isOurs := record.HolderIdentity == l.Identity()
	if !isOurs && l.held == nil {
		return errTaken
	}
	sent := time.Now()
	err := l.Interface.Update(ctx, record)
	if isOurs && l.keeps(sent, err) {
		return nil
	}
	return l.written(sent, &record, err)
}

// written remembers a record that the API server has stored.
func (l *Lock) written(sent time.Time, record *resourcelock.LeaderElectionRecord, err error) error {
	if err != nil {
		return err
	}
	if record.HolderIdentity == l.Identity() {
		l.held = record
		l.fence.holds(sent)
		return nil
	}
	l.held = nil
	l.fence.givesBack()
	return nil
}

// keeps reports whether an error leaves the Lease with this process, and logs when
// that begins and ends.
func (l *Lock) keeps(sent time.Time, err error) bool {
	isSilent := l.held != nil && undecided(err)
	switch {
	case isSilent && isDenied(err):
		l.fence.holds(sent) // No other replica may take the Lease either.
	case isSilent:
		l.fence.hearsNothing(sent)
	}
	switch {
	case isSilent && !l.isSilent:
		l.log.Info("the API server does not say who holds the lease; leading on until it does", "lease", l.Describe(), "error", err.Error())
	case !isSilent && l.isSilent && !errors.Is(err, context.Canceled):
		l.log.Info("the API server says again who holds the lease", "lease", l.Describe())
	}
	l.isSilent = isSilent
	return isSilent
}

// undecided reports whether an error says nothing about the holder. An API server
// that has just started denies everything for a moment, so that a denial is none of
// its decisions either.
func undecided(err error) bool {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return false
	case isDenied(err):
		return true
	default:
		return !fault.IsDecided(err)
	}
}

func isDenied(err error) bool { return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) }
