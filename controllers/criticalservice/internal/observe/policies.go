package observe

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// policies are all that may mean Services of a namespace: the CriticalServices, and the
// ServiceFallbacks there that count.
func policies(ctx context.Context, reader client.Reader, namespace string) ([]criticalv2.Policy, error) {
	var critical criticalv2.CriticalServiceList
	if err := reader.List(ctx, &critical, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	found, err := fallbacks(ctx, reader, namespace)
	counting, _ := protection.Counting(found)
	return slices.Concat(critical.Policies(), counting), err
}

// fallbacks are the ServiceFallbacks of a namespace, whether they count or not.
func fallbacks(ctx context.Context, reader client.Reader, namespace string) ([]criticalv2.Policy, error) {
	var list criticalv2.ServiceFallbackList
	err := reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	return list.Policies(), err
}

// Policies are all that may mean Services of a namespace.
func Policies(ctx context.Context, reader client.Reader, namespace string) []criticalv2.Policy {
	found, _ := policies(ctx, reader, namespace)
	return found
}

// AllPolicies are those of the cluster and of every namespace, whether they count or not.
func AllPolicies(ctx context.Context, reader client.Reader) []criticalv2.Policy {
	var critical criticalv2.CriticalServiceList
	if err := reader.List(ctx, &critical, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	found, _ := fallbacks(ctx, reader, "")
	return slices.Concat(critical.Policies(), found)
}

// Counts reports whether a policy is among those that may govern a Service.
func Counts(ctx context.Context, reader client.Reader, policy criticalv2.Policy) bool {
	if policy.GetNamespace() == "" {
		return true
	}
	found, _ := fallbacks(ctx, reader, policy.GetNamespace())
	counting, _ := protection.Counting(found)
	return slices.ContainsFunc(counting, func(other criticalv2.Policy) bool { return other.GetName() == policy.GetName() })
}

// EachMisplaced calls f with the ServiceFallbacks of a namespace whose status has it wrong whether
// they count, because others came or went. Of those whose selector is not valid it does not say so, and
// they select nothing.
func EachMisplaced(ctx context.Context, reader client.Reader, namespace string, f func(criticalv2.Policy)) {
	found, _ := fallbacks(ctx, reader, namespace)
	counting, _ := protection.Counting(found)
	counts := sets.New[types.UID]()
	for _, policy := range counting {
		counts.Insert(policy.GetUID())
	}
	for _, policy := range found {
		ready := meta.FindStatusCondition(policy.Observed().Conditions, criticalv2.ConditionReady)
		if ready != nil && (ready.Reason == criticalv2.ConditionReasonTooMany) == counts.Has(policy.GetUID()) && policy.SelectorProblem() == nil {
			f(policy)
		}
	}
}

// PolicyReader reads policies from the API server, once for all who wait for the same: a
// thousand Services that leave protection at one moment ask for the same lists, which are
// long. What a caller gets was read after it asked.
type PolicyReader struct {
	// cluster asks the API server for CriticalServices, tenants for ServiceFallbacks; cached
	// has as many of these as there may be.
	cluster, tenants, cached client.Reader
	// turns has a place for each who reads CriticalServices, or ServiceFallbacks: a team
	// whose list is slow must not delay the others.
	turns map[bool]chan struct{}
	mu    sync.Mutex
	// next are the reads that have not begun yet, by namespace: that of the cluster is
	// empty.
	next map[string]*policyRead
}

// policyRead is one read. Its results are there when it is done.
type policyRead struct {
	done  chan struct{}
	items []criticalv2.Policy
	err   error
}

// policiesTimeout bounds one read, and teamsAtOnce is how many namespaces are read at once.
const (
	policiesTimeout = 10 * time.Second
	teamsAtOnce     = 8
)

// NewPolicyReader makes one.
func NewPolicyReader(cluster, tenants, cached client.Reader) *PolicyReader {
	return &PolicyReader{
		cluster: cluster, tenants: tenants, cached: cached, next: map[string]*policyRead{},
		turns: map[bool]chan struct{}{true: make(chan struct{}, 1), false: make(chan struct{}, teamsAtOnce)},
	}
}

// List returns all policies that may mean Services of a namespace. They must not be
// changed: others get them as well.
func (p *PolicyReader) List(ctx context.Context, namespace string) ([]criticalv2.Policy, error) {
	critical, err := p.list(ctx, "")
	if err != nil {
		return nil, err
	}
	found, err := p.list(ctx, namespace)
	counting, _ := protection.Counting(found)
	return slices.Concat(critical, counting), err
}

func (p *PolicyReader) list(ctx context.Context, namespace string) ([]criticalv2.Policy, error) {
	p.mu.Lock()
	read := p.next[namespace]
	if read == nil {
		read = &policyRead{done: make(chan struct{})}
		p.next[namespace] = read
		// It serves others, so that it does not end with the one who asked first.
		go p.read(context.WithoutCancel(ctx), namespace, read)
	}
	p.mu.Unlock()
	select {
	case <-read.done:
		return read.items, read.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *PolicyReader) read(ctx context.Context, namespace string, read *policyRead) {
	turn := p.turns[namespace == ""]
	turn <- struct{}{}
	defer func() { <-turn }()
	p.mu.Lock()
	delete(p.next, namespace) // Who asks from now on waits for the next one.
	p.mu.Unlock()
	defer close(read.done)
	limited, cancel := context.WithTimeout(ctx, policiesTimeout)
	defer cancel()
	if namespace != "" {
		read.items, read.err = p.fallbacks(limited, namespace)
		return
	}
	var list criticalv2.CriticalServiceList
	read.err = p.cluster.List(limited, &list)
	read.items = list.Policies()
}

// fallbacks are the ServiceFallbacks of a namespace. Any user of it can make more than a live read
// takes, which must not end all withdrawals there: then the cache, which keeps little of each, is
// the best that is known.
func (p *PolicyReader) fallbacks(ctx context.Context, namespace string) ([]criticalv2.Policy, error) {
	var list criticalv2.ServiceFallbackList
	err := p.tenants.List(ctx, &list, client.InNamespace(namespace))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return fallbacks(ctx, p.cached, namespace)
	}
	for i := range list.Items {
		list.Items[i] = *slimFallback(&list.Items[i]) // What is too large for the cache is so in both.
	}
	return list.Policies(), err
}

// WithoutTenants is a reader for which there are no ServiceFallbacks: the kind is turned off,
// and is not watched.
type WithoutTenants struct{ client.Reader }

// Get implements client.Reader.
func (w WithoutTenants) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, ofTenant := into.(*criticalv2.ServiceFallback); ofTenant {
		return apierrors.NewNotFound(schema.GroupResource{Group: criticalv2.GroupVersion.Group, Resource: "servicefallbacks"}, key.Name)
	}
	return w.Reader.Get(ctx, key, into, options...)
}

// List implements client.Reader.
func (w WithoutTenants) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if _, ofTenants := into.(*criticalv2.ServiceFallbackList); ofTenants {
		return nil
	}
	return w.Reader.List(ctx, into, options...)
}
