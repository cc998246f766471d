//go:build e2e

package olm

import (
	"context"
	"sync"

	. "github.com/onsi/gomega"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// upgradeable is a value of the condition by which the operator tells OLM whether it may be upgraded.
type upgradeable struct {
	Status metav1.ConditionStatus
	Reason string
}

// conditions keeps every value that Upgradeable takes, by the name of the version that says so. What is
// read now and then would miss a migration that is over in a moment; a watch misses nothing.
type conditions struct {
	mutex sync.Mutex
	taken map[string][]upgradeable
}

// followConditions begins with the values of this moment.
func (w *world) followConditions() *conditions {
	w.t.Helper()
	var list operatorsv2.OperatorConditionList
	w.Expect(w.List(w.ctx, &list, client.InNamespace(w.operator))).To(Succeed())
	c := &conditions{taken: map[string][]upgradeable{}}
	for i := range list.Items {
		c.take(&list.Items[i])
	}
	ctx, cancel := context.WithCancel(w.ctx)
	w.t.Cleanup(cancel)
	changes, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			return live.Watch(ctx, &operatorsv2.OperatorConditionList{},
				&client.ListOptions{Namespace: w.operator, Raw: &options})
		},
	})
	w.Expect(err).NotTo(HaveOccurred())
	go func() {
		for change := range changes.ResultChan() {
			if condition, is := change.Object.(*operatorsv2.OperatorCondition); is {
				c.take(condition)
			}
		}
	}()
	return c
}

func (c *conditions) take(object *operatorsv2.OperatorCondition) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	said := meta.FindStatusCondition(object.Spec.Conditions, operatorsv2.Upgradeable)
	if said == nil {
		return
	}
	value, values := upgradeable{said.Status, said.Reason}, c.taken[object.Name]
	if len(values) == 0 || values[len(values)-1] != value {
		c.taken[object.Name] = append(values, value)
	}
}

// of are the values that a version has said, each that follows another one.
func (c *conditions) of(version release) func() []upgradeable {
	return func() []upgradeable {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		return append([]upgradeable(nil), c.taken[version.csv()]...)
	}
}

// heard waits until OLM has taken over what a version says, and so goes by it.
func (w *world) heard(version release, status metav1.ConditionStatus) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		var condition operatorsv2.OperatorCondition
		g.Expect(w.Get(w.ctx, keyOf(w.operator, version.csv()), &condition)).To(Succeed())
		heard := meta.FindStatusCondition(condition.Status.Conditions, operatorsv2.Upgradeable)
		g.Expect(heard).NotTo(BeNil())
		g.Expect(heard.Status).To(Equal(status), heard.Message)
		g.Expect(heard.Message).NotTo(BeEmpty())
		g.Expect(heard.ObservedGeneration).To(Equal(condition.Generation), "else OLM takes it to be outdated, and does not upgrade")
	}).Should(Succeed(), "what OLM hears of version %s", version)
}
