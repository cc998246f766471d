package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

const (
	// calm is how long all is well before a Pod is lost.
	calm = 3 * time.Second
	// lookEach is the time between two looks at objects, and limit ends a wait.
	lookEach = 10 * time.Millisecond
	limit    = 3 * time.Minute
)

// contender is one way to have a database.
type contender struct {
	name, title string
	// objects are what a user applies, in this order. Its Service has the name that is given.
	objects func(name string) []client.Object
	// pod is the name of its Pod.
	pod func(name string) string
}

// comparison is what is measured of two contenders: the first one is without the operator.
type comparison struct {
	title string
	// loses: measured is the time from the loss of the Pod, and not from apply.
	loses bool
	// limit is how much longer the second may take; 0 is no target.
	limit      time.Duration
	contenders [2]contender
}

// database is the contender with the operator.
var database = contender{
	name: "database", title: "Database", pod: same,
	objects: func(name string) []client.Object { return []client.Object{newDatabase(name)} },
}

func same(name string) string { return name }

func comparisons(m *model) []comparison {
	return []comparison{
		{
			title: "from apply to the first answered query", limit: 500 * time.Millisecond,
			contenders: [2]contender{
				{name: "by-hand", title: "Pod and Service by hand", pod: same, objects: func(name string) []client.Object {
					return append(m.surroundings(name), m.newPod(name))
				}}, database,
			},
		},
		{
			title: "from the loss of the Pod to the next answered query", loses: true,
			contenders: [2]contender{
				{name: "statefulset", title: "StatefulSet", pod: func(name string) string { return name + "-0" }, objects: func(name string) []client.Object {
					return append(m.surroundings(name), m.newStatefulSet(name))
				}}, database,
			},
		},
	}
}

// newDatabase is that of the source document, with a Service for the cluster alone.
func newDatabase(name string) *workloadsv1.Database {
	return &workloadsv1.Database{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo, Service: workloadsv1.DatabaseService{Type: "ClusterIP"}},
	}
}

func (b *bench) create(ctx context.Context, objects []client.Object) error {
	for _, object := range objects {
		object.SetNamespace(b.namespace)
		if err := b.cluster.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a contender, and waits until its Pod is gone.
func (b *bench) remove(ctx context.Context, who *contender, name string) error {
	var problems []error
	for _, object := range who.objects(name) {
		object.SetNamespace(b.namespace)
		problems = append(problems, client.IgnoreNotFound(b.cluster.Delete(ctx, object)))
	}
	return errors.Join(append(problems, b.until(ctx, "Pod "+who.pod(name)+" is gone", func(ctx context.Context) (bool, error) {
		err := b.cluster.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: who.pod(name)}, &corev1.Pod{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}))...)
}

// lose deletes a Pod, and measures until its successor answers.
func (b *bench) lose(ctx context.Context, pod, name string) (time.Duration, error) {
	key := client.ObjectKey{Namespace: b.namespace, Name: pod}
	var lost corev1.Pod
	if err := b.cluster.Get(ctx, key, &lost); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := b.cluster.Delete(ctx, &lost); err != nil {
		return 0, err
	}
	// Until then the one that is ending may answer.
	if err := b.until(ctx, "Pod "+pod+" has a successor", func(ctx context.Context) (bool, error) {
		var next corev1.Pod
		err := b.cluster.Get(ctx, key, &next)
		return err == nil && next.UID != lost.UID, client.IgnoreNotFound(err)
	}); err != nil {
		return 0, err
	}
	err := b.answered(ctx, name)
	return time.Since(began), err
}

// until waits until something holds.
func (b *bench) until(ctx context.Context, what string, holds wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, lookEach, limit, true, holds); err != nil {
		return fmt.Errorf("wait until %s: %w", what, err)
	}
	return nil
}

// newStatefulSet has one replica of the Pod.
func (m *model) newStatefulSet(name string) *appsv1.StatefulSet {
	pod := m.newPod(name)
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.StatefulSetSpec{
			ServiceName: name, Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
	}
}
