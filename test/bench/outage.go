package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// outage is a way in which the application's last Pod goes.
type outage struct {
	name string
	// scaled says that the Pod belongs to a ReplicaSet, which the outage scales.
	scaled bool
	// listens says that the Pod goes on listening: it is only no longer ready.
	listens bool
	args    []string
	begin   func(ctx context.Context, b *bench, app *application) error
}

var outages = []outage{
	{name: "crash", args: []string{"--control"}, begin: func(ctx context.Context, _ *bench, app *application) error {
		return app.order(ctx, "/crash")
	}},
	{name: "failing readiness", listens: true, args: []string{"--control"},
		begin: func(ctx context.Context, _ *bench, app *application) error { return app.order(ctx, "/unready") }},
	{name: "scale to zero, stops at once", scaled: true, begin: scaleToZero},
	{name: "scale to zero, drains 2 s", scaled: true, args: []string{"--drain=2s"}, begin: scaleToZero},
	{name: "force deletion", begin: func(ctx context.Context, b *bench, app *application) error {
		return b.cluster.Delete(ctx, app.pod, client.GracePeriodSeconds(0))
	}},
}

func scaleToZero(ctx context.Context, b *bench, app *application) error {
	return b.cluster.Scale(ctx, app.owner, 0)
}

// application is the workload behind a variant's Service in one round.
type application struct {
	// owner is the ReplicaSet of the Pod, where it is to be scaled; nil where it stands alone.
	owner *appsv1.ReplicaSet
	pod   *corev1.Pod
}

// start makes the application and waits until its Pod has an address. A Pod that stands alone is not
// restarted and not replaced, so that an outage lasts until the round is over.
func (b *bench) start(ctx context.Context, v *variant, o outage) (*application, error) {
	app := &application{}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": v.name}}, Spec: b.webPod(shop, o.args...),
	}
	name := metav1.ObjectMeta{Namespace: b.namespace, GenerateName: v.name + "-", Labels: template.Labels}
	if o.scaled {
		app.owner = &appsv1.ReplicaSet{ObjectMeta: name, Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
		}}
		if err := b.create(ctx, app.owner); err != nil {
			return nil, err
		}
	} else {
		app.pod = &corev1.Pod{ObjectMeta: name, Spec: template.Spec}
		app.pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		if err := b.create(ctx, app.pod); err != nil {
			return nil, err
		}
	}
	return app, eventually(ctx, "the application of "+v.name+" has an address", startLimit, func() (bool, string) {
		err := app.find(ctx, b)
		return err == nil && app.pod.Status.PodIP != "", fmt.Sprint(err)
	})
}

// find reads the Pod of the application.
func (a *application) find(ctx context.Context, b *bench) error {
	if a.owner == nil {
		return b.cluster.Get(ctx, client.ObjectKeyFromObject(a.pod), a.pod)
	}
	var pods corev1.PodList
	if err := b.cluster.List(ctx, &pods, client.InNamespace(b.namespace), client.MatchingLabels(a.owner.Labels)); err != nil {
		return err
	}
	for i := range pods.Items {
		if metav1.IsControlledBy(&pods.Items[i], a.owner) {
			a.pod = &pods.Items[i]
			return nil
		}
	}
	return errors.New("it has no Pod")
}

// remove takes away what is left of the application.
func (a *application) remove(ctx context.Context, b *bench) error {
	if a.owner != nil {
		if err := client.IgnoreNotFound(b.cluster.Delete(ctx, a.owner, client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
			return err
		}
	}
	return client.IgnoreNotFound(b.cluster.Delete(ctx, a.pod, client.GracePeriodSeconds(0)))
}

// address is where the Pod itself listens.
func (a *application) address() string { return "http://" + a.pod.Status.PodIP + ":8080" }

// order tells the workload to misbehave. One that crashes does not answer.
func (a *application) order(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.address()+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	return response.Body.Close()
}
