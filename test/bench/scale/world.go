package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/bench/fakenode"
)

// world is a number of Services that one CriticalService protects.
type world struct {
	namespaces, services int
	// fake: the responders run on a fake node.
	fake bool
}

// parseWorlds reads "1x1000,200x5:fake".
func parseWorlds(text string) ([]world, error) {
	var worlds []world
	for part := range strings.SplitSeq(text, ",") {
		var w world
		size, fake := strings.CutSuffix(part, ":fake")
		w.fake = fake
		var rest string
		n, _ := fmt.Sscanf(size, "%dx%d%s", &w.namespaces, &w.services, &rest)
		if n != 2 || w.namespaces < 1 || w.services < 1 || w.total() > maxServices {
			return nil, fmt.Errorf("--worlds %q: such as 1x1000 or 200x5:fake, at most %d Services", part, maxServices)
		}
		worlds = append(worlds, w)
	}
	return worlds, nil
}

func (w world) total() int { return w.namespaces * w.services }

// turned is how many applications fail, and recover.
func (w world) turned() int { return min(w.total(), turnSample) }

func (w world) String() string { return fmt.Sprintf("%d x %d", w.namespaces, w.services) }

// Addresses lead nowhere: they are of 198.18.0.0/15, which is kept for benchmarks (RFC 2544).
var (
	fakeApplications = netip.MustParseAddr("198.18.0.0")
	fakePods         = netip.MustParseAddr(fakenode.HostIP)
)

const (
	// maxServices have an address each.
	maxServices = 1<<16 - 1
	// replicas are those of a responder.
	replicas = 2
	// writers is how many writes of this program are under way at once.
	writers   = 32
	runLabel  = "bench-scale"
	proxyName = "service.kubernetes.io/service-proxy-name"
)

// service is one Service, by its number.
func (b *bench) service(number int) types.NamespacedName {
	return types.NamespacedName{
		Namespace: fmt.Sprintf("%s-%d", b.id, number/b.world.services), Name: fmt.Sprintf("web-%d", number%b.world.services),
	}
}

// each does something for every one of some Services, many at once.
func (b *bench) each(ctx context.Context, count int, do func(ctx context.Context, number int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	next := atomic.Int64{}
	for range writers {
		group.Go(func() error {
			for number := int(next.Add(1)) - 1; number < count; number = int(next.Add(1)) - 1 {
				if err := do(ctx, number); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// build makes the namespaces, the Services and their applications, which are ready.
func (b *bench) build(ctx context.Context) error {
	for n := range b.world.namespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", b.id, n), Labels: map[string]string{runLabel: b.id},
		}}
		if err := b.client.Create(ctx, namespace); err != nil {
			return err
		}
		b.namespaces = append(b.namespaces, namespace)
	}
	err := b.each(ctx, b.world.total(), func(ctx context.Context, number int) error {
		key := b.service(number)
		b.tracker.expect(key)
		service := newService(key, b.id, b.world.fake)
		if err := b.client.Create(ctx, service); err != nil {
			return err
		}
		if err := b.client.Create(ctx, placeholder(service)); err != nil {
			return err
		}
		return b.client.Create(ctx, newApplication(key, number))
	})
	if err != nil {
		return err
	}
	return b.settled(ctx)
}

func newService(key types.NamespacedName, id string, fake bool) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{runLabel: id}},
		Spec: corev1.ServiceSpec{
			// No Pod has it: the application is a slice.
			Selector: map[string]string{"app": key.Name},
			// Without a name, so that the listeners of 10,000 Services fit into the responder's ConfigMap.
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	if fake {
		// kube-proxy leaves it alone, which would only route to nowhere.
		service.Labels[proxyName] = "none"
	}
	return service
}

// placeholder is the empty slice that Kubernetes keeps for a Service without Pods, as the controller
// manager would write it: with the 20 writes/s that it has, 10,000 would take 8 minutes.
func placeholder(service *corev1.Service) *discoveryv1.EndpointSlice {
	slice := newSlice(client.ObjectKeyFromObject(service), "kubernetes", managedByKubernetes)
	maps.Copy(slice.Labels, service.Labels)
	slice.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service"))}
	return slice
}

// settled waits until the controller manager has seen all Services: until no slice of its own comes
// or goes any more.
func (b *bench) settled(ctx context.Context) error {
	last, since := -1, time.Now()
	for time.Since(since) < b.calm {
		if count := b.tracker.kubernetesSlices(); count != last {
			last, since = count, time.Now()
		}
		if err := b.pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) policy() *criticalv2.CriticalService {
	ours := metav1.LabelSelector{MatchLabels: map[string]string{runLabel: b.id}}
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: b.id},
		Spec: criticalv2.CriticalServiceSpec{
			NamespaceSelector: &ours, ServiceSelector: ours,
			ProtectionSpec: criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{Replicas: new(int32(replicas))}}},
		},
	}
}

// demolish removes the world, and waits until it is gone, so that it is not in the next one's way.
func (b *bench) demolish(ctx context.Context) error {
	problems := []error{client.IgnoreNotFound(b.client.Delete(ctx, b.policy()))}
	for _, namespace := range b.namespaces {
		problems = append(problems, client.IgnoreNotFound(b.client.Delete(ctx, namespace)))
	}
	for _, namespace := range b.namespaces {
		problems = append(problems, wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, demolishLimit, true, func(ctx context.Context) (bool, error) {
			err := b.client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}))
	}
	return errors.Join(problems...)
}
