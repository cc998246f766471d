package observe

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// PolicyReader reads all CriticalServices from the API server, once for all who wait for
// them: a thousand Services that leave protection at one moment ask for the same list,
// which is long. What a caller gets was read after it asked.
type PolicyReader struct {
	// live asks the API server.
	live client.Reader
	// turn has a place for the one who reads.
	turn chan struct{}
	mu   sync.Mutex
	// next is the read that has not begun yet; nil if no one waits for one.
	next *policyRead
}

// policyRead is one read. Its results are there when it is done.
type policyRead struct {
	done  chan struct{}
	items []criticalv2.Policy
	err   error
}

// policiesTimeout bounds one read.
const policiesTimeout = 30 * time.Second

// NewPolicyReader makes one.
func NewPolicyReader(live client.Reader) *PolicyReader {
	return &PolicyReader{live: live, turn: make(chan struct{}, 1)}
}

// List returns all CriticalServices. They must not be changed: others get them as well.
func (p *PolicyReader) List(ctx context.Context) ([]criticalv2.Policy, error) {
	p.mu.Lock()
	read := p.next
	if read == nil {
		read = &policyRead{done: make(chan struct{})}
		p.next = read
		// It serves others, so that it does not end with the one who asked first.
		go p.read(context.WithoutCancel(ctx), read)
	}
	p.mu.Unlock()
	select {
	case <-read.done:
		return read.items, read.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *PolicyReader) read(ctx context.Context, read *policyRead) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.mu.Lock()
	p.next = nil // Who asks from now on waits for the next one.
	p.mu.Unlock()
	defer close(read.done)
	limited, cancel := context.WithTimeout(ctx, policiesTimeout)
	defer cancel()
	var list criticalv2.CriticalServiceList
	read.err = p.live.List(limited, &list)
	read.items = list.Policies()
}
