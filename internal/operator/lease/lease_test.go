package lease

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const us, another = "operator-1", "operator-2"

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// stored is a Lease at an API server that may fail.
type stored struct {
	resourcelock.Interface
	record *resourcelock.LeaderElectionRecord
	err    error
}

func (s *stored) Identity() string { return us }
func (s *stored) Describe() string { return "critical-service-system/critical-service-operator" }

func (s *stored) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	switch {
	case s.err != nil:
		return nil, nil, s.err
	case s.record == nil:
		return nil, nil, apierrors.NewNotFound(leases, "critical-service-operator")
	default:
		return s.record, []byte(s.record.HolderIdentity), nil
	}
}

func (s *stored) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return s.Update(ctx, record)
}

func (s *stored) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	if s.err == nil {
		s.record = &record
	}
	return s.err
}

func by(holder string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaderTransitions: 7}
}

func conflict() error {
	return apierrors.NewConflict(leases, "critical-service-operator", errors.New("the object has been modified"))
}

// broken is a request that a connection did not survive.
func broken(cause error) error { return &url.Error{Op: "Put", URL: "https://10.96.0.1", Err: cause} }

func TestWhatLeavesTheLeaseWithItsHolder(t *testing.T) {
	for sentence, test := range map[string]struct {
		err   error
		keeps bool
	}{
		"no server listens":                           {broken(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), true},
		"the connection ends in the midst of it":      {broken(errors.New("unexpected EOF")), true},
		"a request hangs until its own deadline":      {broken(context.DeadlineExceeded), true},
		"the client waits for its turn for too long":  {errors.New("client rate limiter Wait returned an error: context deadline exceeded"), true},
		"the server cannot reach its storage":         {apierrors.NewInternalError(errors.New("etcdserver: request timed out")), true},
		"the server is about to end":                  {apierrors.NewServiceUnavailable("shutting down"), true},
		"the server says that it took too long":       {apierrors.NewTimeoutError("Timeout: request did not complete", 1), true},
		"a proxy before the server finds none":        {apierrors.NewGenericServerResponse(http.StatusBadGateway, "put", leases, "x", "", 0, true), true},
		"there are too many requests":                 {apierrors.NewTooManyRequests("try later", 1), true},
		"a server that has just begun denies it":      {apierrors.NewForbidden(leases, "x", errors.New("no RBAC policy matched")), true},
		"a server that has just begun knows no token": {apierrors.NewUnauthorized("Unauthorized"), true},
		"another one has written it":                  {conflict(), false},
		"it is gone":                                  {apierrors.NewNotFound(leases, "x"), false},
		"it was not acceptable":                       {apierrors.NewBadRequest("no"), false},
		"the process is asked to end":                 {broken(context.Canceled), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			for form, err := range map[string]error{"plain": test.err, "wrapped": fmt.Errorf("renew: %w", test.err)} {
				g, server := NewWithT(t), &stored{}
				lock := keeping(server, time.Minute)
				g.Expect(lock.Create(t.Context(), by(us))).To(Succeed())

				server.err = err
				renewed := lock.Update(t.Context(), by(us))
				if !test.keeps {
					g.Expect(renewed).To(MatchError(err), form)
					_, _, read := lock.Get(t.Context())
					g.Expect(read).To(MatchError(err), form)
					return
				}
				g.Expect(renewed).To(Succeed(), form)
				record, raw, read := lock.Get(t.Context())
				g.Expect(read).NotTo(HaveOccurred(), form)
				g.Expect(*record).To(Equal(by(us)), form)
				g.Expect(raw).To(ContainSubstring(us), form)
			}
		})
	}
}

func TestOnlyAHolderKeepsALease(t *testing.T) {
	away := broken(syscall.ECONNREFUSED)
	for sentence, before := range map[string]func(g Gomega, lock *Lock, server *stored){
		"not one that never asked": func(Gomega, *Lock, *stored) {},
		"not one that another one was before": func(g Gomega, lock *Lock, server *stored) {
			server.record = new(by(another))
			_, _, err := lock.Get(context.Background())
			g.Expect(err).NotTo(HaveOccurred())
		},
		"not one that has read its own name only": func(g Gomega, lock *Lock, server *stored) {
			server.record = new(by(us))
			_, _, err := lock.Get(context.Background())
			g.Expect(err).NotTo(HaveOccurred())
		},
		"not one that could not take it": func(g Gomega, lock *Lock, server *stored) {
			server.err = conflict()
			g.Expect(lock.Update(context.Background(), by(us))).NotTo(Succeed())
		},
		"not one that another one has followed": func(g Gomega, lock *Lock, server *stored) {
			g.Expect(lock.Create(context.Background(), by(us))).To(Succeed())
			server.record = new(by(another))
			_, _, err := lock.Get(context.Background())
			g.Expect(err).NotTo(HaveOccurred())
		},
		"not one whose lease was deleted": func(g Gomega, lock *Lock, server *stored) {
			g.Expect(lock.Create(context.Background(), by(us))).To(Succeed())
			server.record = nil
			_, _, err := lock.Get(context.Background())
			g.Expect(err).To(Satisfy(apierrors.IsNotFound))
		},
		"not one that gave it back": func(g Gomega, lock *Lock, _ *stored) {
			g.Expect(lock.Create(context.Background(), by(us))).To(Succeed())
			g.Expect(lock.Update(context.Background(), by(""))).To(Succeed())
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g, server := NewWithT(t), &stored{}
			lock := keeping(server, time.Minute)
			before(g, lock, server)

			server.err = away
			g.Expect(lock.Create(t.Context(), by(us))).NotTo(Succeed())
			g.Expect(lock.Update(t.Context(), by(us))).NotTo(Succeed())
			_, _, err := lock.Get(t.Context())
			g.Expect(err).To(MatchError(away))
		})
	}
}

// client-go counts the time of a lease from when it saw the record change last. While no
// answer came, the holder could not change it.
func TestAProcessThatWaitsTakesTheFirstAnswerAfterSilenceForARenewal(t *testing.T) {
	g, server := NewWithT(t), &stored{record: new(by(another))}
	lock := keeping(server, time.Minute)
	read := func() []byte {
		record, raw, err := lock.Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(*record).To(Equal(by(another)))
		return raw
	}
	before := read()
	g.Expect(read()).To(Equal(before), "a holder that renews nothing is followed")

	server.err = broken(syscall.ECONNREFUSED)
	_, _, err := lock.Get(t.Context())
	g.Expect(err).To(MatchError(server.err))
	server.err = nil
	g.Expect(read()).NotTo(Equal(before))
	g.Expect(read()).To(Equal(before))
	g.Expect(read()).To(Equal(before), "one that renews nothing after that is followed as well")

	server.err = conflict()
	_, _, err = lock.Get(t.Context())
	g.Expect(err).To(HaveOccurred())
	server.err = nil
	g.Expect(read()).To(Equal(before), "that was an answer")
}

// The library gives back what it believes to be its own, and has not looked since
// the API server is back.
func TestTheLeaseOfAnotherHolderIsNotGivenBack(t *testing.T) {
	g, server := NewWithT(t), &stored{}
	lock := keeping(server, time.Minute)
	g.Expect(lock.Create(t.Context(), by(us))).To(Succeed())
	server.record = new(by(another))
	_, _, err := lock.Get(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lock.Update(t.Context(), by(""))).To(MatchError(errTaken))
	g.Expect(server.record.HolderIdentity).To(Equal(another))
}

func TestGivingBackFailsWithoutAnAnswer(t *testing.T) {
	g, server := NewWithT(t), &stored{}
	lock := keeping(server, time.Minute)
	g.Expect(lock.Create(t.Context(), by(us))).To(Succeed())
	server.err = broken(syscall.ECONNREFUSED)
	g.Expect(lock.Update(t.Context(), by(""))).To(MatchError(server.err))
}

func TestWhoTheHolderIs(t *testing.T) {
	g := NewWithT(t)
	g.Expect(identityOf(us)).To(Equal(us), "the Pod, whatever process runs in it")
	one, err := identityOf("")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(identityOf("")).NotTo(Equal(one), "each process outside of a cluster")
}

// The manager and its caches use the same configuration. With the timeout of a Lease, each
// of their watches would end after it.
func TestALockHasAConfigurationOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	shared := &rest.Config{Host: "https://127.0.0.1:6443", UserAgent: "critical-service-operator"}
	before := rest.CopyConfig(shared)
	_, err := New(shared, Options{Pod: us, Timeout: time.Second, Events: func(string) resourcelock.EventRecorder { return nil }})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shared).To(Equal(before))
}
