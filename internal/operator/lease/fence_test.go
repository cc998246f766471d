package lease

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// answering is an API server that answers everything.
type answering struct{ requests int }

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) {
	a.requests++
	return &http.Response{StatusCode: http.StatusOK}, nil
}

const term = 6 * time.Second

func take(lock *Lock, _ *stored) { _ = lock.Create(context.Background(), by(us)) }

func renew(lock *Lock, record resourcelock.LeaderElectionRecord) {
	_ = lock.Update(context.Background(), record) // What comes of it is what the write shows.
}

// read lets a process read who the holder is.
func read(lock *Lock, server *stored, holder string) {
	server.record = new(by(holder))
	_, _, _ = lock.Get(context.Background())
}

func forbidden() error {
	return apierrors.NewForbidden(leases, "x", errors.New("no RBAC policy matched"))
}

// The time of these tests is the one that testing/synctest makes.
func TestWhatALeaderMayWrite(t *testing.T) {
	away := broken(syscall.ECONNREFUSED)
	// after is how long after the last renewal the write begins. Then comes the next request for the Lease, if the
	// write waits for one.
	for sentence, test := range map[string]struct {
		method string
		before func(lock *Lock, server *stored)
		after  time.Duration
		next   func(lock *Lock, server *stored)
		waits  bool
		err    error
	}{
		"a process that never led writes":                      {before: func(*Lock, *stored) {}},
		"so does one that waits for another one":               {before: func(lock *Lock, server *stored) { read(lock, server, another) }},
		"a leader writes while its lease lasts":                {before: take, after: term - 1},
		"one that gave its lease back writes":                  {before: func(lock *Lock, server *stored) { take(lock, server); renew(lock, by("")) }, after: term},
		"one that was frozen waits, and writes on if it leads": {before: take, after: term, waits: true, next: func(lock *Lock, _ *stored) { renew(lock, by(us)) }},
		"one that was frozen writes nothing if another one leads": {
			before: take, after: term, waits: true, err: errLost,
			next: func(lock *Lock, server *stored) { read(lock, server, another) },
		},
		"one that has just learned of another one writes nothing": {
			before: func(lock *Lock, server *stored) { take(lock, server); read(lock, server, another) }, err: errLost,
		},
		"one that leads again writes again": {before: func(lock *Lock, server *stored) {
			take(lock, server)
			read(lock, server, another)
			renew(lock, by(us))
		}},
		"one that gets no answer once more leads on": {
			before: take, after: term, waits: true,
			next: func(lock *Lock, server *stored) { server.err = away; renew(lock, by(us)) },
		},
		"a silence from before the write decides nothing": {
			before: func(lock *Lock, server *stored) {
				take(lock, server)
				server.err = away
				renew(lock, by(us))
				server.err = nil
			},
			after: term, waits: true, err: errLost,
			next: func(lock *Lock, server *stored) { read(lock, server, another) },
		},
		"one that may not renew its lease leads on": {
			before: func(lock *Lock, server *stored) {
				take(lock, server)
				<-time.After(term)
				server.err = forbidden()
				renew(lock, by(us))
			},
			after: term - 1,
		},
		"all may read": {method: http.MethodGet, before: func(lock *Lock, server *stored) { take(lock, server); read(lock, server, another) }},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, server, through := NewWithT(t), &stored{}, &answering{}
				lock := keeping(server, term)
				test.before(lock, server)
				<-time.After(test.after)
				method := test.method
				if method == "" {
					method = http.MethodPatch
				}
				sent := make(chan error, 1)
				go func() {
					_, err := lock.Guard(through).RoundTrip(httptest.NewRequestWithContext(t.Context(), method, "/", http.NoBody))
					sent <- err
				}()
				synctest.Wait()
				if test.waits {
					g.Expect(sent).NotTo(Receive())
					g.Expect(through.requests).To(BeZero())
					<-time.After(1)
					test.next(lock, server)
					synctest.Wait()
				}
				var err error
				g.Expect(sent).To(Receive(&err))
				if test.err != nil {
					g.Expect(err).To(MatchError(test.err))
					g.Expect(through.requests).To(BeZero())
					return
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(through.requests).To(Equal(1))
			})
		})
	}
}
