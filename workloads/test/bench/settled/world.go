package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/process"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

const (
	// perNamespace is how many Databases and AppConfigs share a namespace.
	perNamespace = 50
	// settingsEach is how many an AppConfig has.
	settingsEach = 20
	// writers is how many writes of this program are under way at once.
	writers = 16
	// lookEach is the time between two looks at what is awaited, and waitLimit ends the wait.
	lookEach  = 500 * time.Millisecond
	waitLimit = 10 * time.Minute
)

// bench is one run.
type bench struct {
	client client.Client
	// world is what the names of its namespaces begin with.
	world string
	// start starts the operator.
	start func(variables ...string) (*process.Process, error)
	count int
	// length is how long is measured, and calm how long nothing must have been written before.
	length, calm time.Duration

	// metrics is where the operator that runs serves them.
	metrics string
}

var types = []workloadsv1.DatabaseType{workloadsv1.DatabaseMongo, workloadsv1.DatabaseMySQL, workloadsv1.DatabasePostgres}

func (b *bench) namespaceOf(number int) string {
	return fmt.Sprintf("%s-%d", b.world, number/perNamespace)
}

// each does something for every number, many at once.
func (b *bench) each(ctx context.Context, count int, do func(ctx context.Context, number int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for number := range count {
		group.Go(func() error { return do(ctx, number) })
	}
	return group.Wait()
}

// build makes what users make.
func (b *bench) build(ctx context.Context) error {
	for number := 0; number < b.count; number += perNamespace {
		if err := b.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespaceOf(number)}}); err != nil {
			return err
		}
	}
	return b.each(ctx, b.count, func(ctx context.Context, number int) error {
		var failures []error
		for _, object := range []client.Object{newDatabase(number), newAppConfig(number), newDeployment(number)} {
			object.SetNamespace(b.namespaceOf(number))
			failures = append(failures, b.client.Create(ctx, object))
		}
		return errors.Join(failures...)
	})
}

// newDatabase has a volume, and is of each engine in turn.
func newDatabase(number int) *workloadsv1.Database {
	return &workloadsv1.Database{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("db-%d", number)},
		Spec: workloadsv1.DatabaseSpec{
			Type: types[number%len(types)], Storage: &workloadsv1.DatabaseStorage{Size: "1Gi"},
			Service: workloadsv1.DatabaseService{Type: "ClusterIP"},
		},
	}
}

func newAppConfig(number int) *workloadsv2.AppConfig {
	app := &workloadsv2.AppConfig{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("app-%d", number)},
		Spec:       workloadsv2.AppConfigSpec{AppName: "shop", Configuration: workloadsv2.Configuration{Settings: map[string]string{}, Version: "1"}},
	}
	for n := range settingsEach {
		app.Spec.Configuration.Settings[fmt.Sprintf("SETTING_%d", n)] = fmt.Sprintf("value %d of %d", n, number)
	}
	return app
}

// newDeployment uses the AppConfig of its number.
func newDeployment(number int) *appsv1.Deployment {
	name := fmt.Sprintf("app-%d", number)
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{workloadsv2.LabelAppConfig: name}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.com/web:1"}}},
			},
		},
	}
}

// settle does what others do, until everything is as it is to be.
func (b *bench) settle(ctx context.Context) error {
	for limit := time.Now().Add(waitLimit); ; {
		if err := b.help(ctx); err != nil {
			return err
		}
		databases, appConfigs, err := b.ready(ctx)
		if err != nil {
			return err
		}
		if databases == b.count && appConfigs == b.count {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("after %s only %d Databases and %d AppConfigs of %d are ready", waitLimit, databases, appConfigs, b.count)
		}
		if err := pause(ctx, lookEach); err != nil {
			return err
		}
	}
}

// ready counts what is ready, and protected.
func (b *bench) ready(ctx context.Context) (databases, appConfigs int, err error) {
	var allDatabases workloadsv1.DatabaseList
	var allConfigs workloadsv2.AppConfigList
	if err := errors.Join(b.client.List(ctx, &allDatabases), b.client.List(ctx, &allConfigs)); err != nil {
		return 0, 0, err
	}
	for i := range allDatabases.Items {
		conditions := allDatabases.Items[i].Status.Conditions
		if meta.IsStatusConditionTrue(conditions, workloadsv1.ConditionReady) && meta.IsStatusConditionTrue(conditions, workloadsv1.ConditionProtected) {
			databases++
		}
	}
	for i := range allConfigs.Items {
		if meta.IsStatusConditionTrue(allConfigs.Items[i].Status.Conditions, workloadsv2.ConditionReady) {
			appConfigs++
		}
	}
	return databases, appConfigs, nil
}

func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
