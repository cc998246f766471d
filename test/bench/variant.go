package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/cluster"
)

const (
	operatorNamespace = "critical-service-system"
	templateName      = "critical-service-pod-template"
	variantLabel      = "bench"

	// shop is what the application answers, fallback what takes its place.
	shop     = "shop"
	fallback = "fallback"
	// pageMark is the sentence by which the page is known.
	pageMark = "This is the page of the bench."

	startLimit = 2 * time.Minute
)

// variant is one of the protections that are compared.
type variant struct {
	name, title string
	// protected says that something is to answer in an outage.
	protected bool
	service   *corev1.Service
}

// bench is one run.
type bench struct {
	options
	cluster   *cluster.Cluster
	namespace string
	variants  []*variant
	made      []client.Object
}

// prepare makes the three Services, and protects two of them.
func (b *bench) prepare(ctx context.Context) error {
	b.namespace = "bench-" + utilrand.String(5)
	if err := b.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}); err != nil {
		return err
	}
	account := client.ObjectKey{Namespace: b.namespace, Name: "default"}
	if err := eventually(ctx, "the namespace has its service account", startLimit, func() (bool, string) {
		err := b.cluster.Get(ctx, account, &corev1.ServiceAccount{})
		return err == nil, fmt.Sprint(err)
	}); err != nil {
		return err
	}
	b.variants = []*variant{
		{name: "none", title: "no operator"},
		{name: "v1", title: "v1: Pod on demand", protected: true},
		{name: "v2", title: "v2: standby page", protected: true},
	}
	for _, v := range b.variants {
		v.service = &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: v.name, Labels: map[string]string{variantLabel: v.name}},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": v.name},
				Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
			},
		}
		if err := b.create(ctx, v.service); err != nil {
			return err
		}
	}
	for _, object := range b.protections() {
		if err := b.create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) protections() []client.Object {
	return []client.Object{
		&corev1.PodTemplate{
			ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: templateName},
			Template:   corev1.PodTemplateSpec{Spec: b.webPod(fallback)},
		},
		&criticalv1.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Name: b.namespace + "-v1"},
			Spec: criticalv1.CriticalServiceSpec{
				Namespace: b.namespace, MatchLabels: []criticalv1.LabelMatch{{Key: variantLabel, Value: "v1"}},
			},
		},
		&criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Name: b.namespace + "-v2"},
			Spec: criticalv2.CriticalServiceSpec{
				Namespaces:      []string{b.namespace},
				ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{variantLabel: "v2"}},
				ProtectionSpec:  criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{Message: pageMark}}},
			},
		},
	}
}

// armed waits until the operator says that the variant's fallback is prepared.
func (b *bench) armed(ctx context.Context, v *variant) error {
	if !v.protected {
		return nil
	}
	return eventually(ctx, "Service "+v.name+" is Armed", startLimit, func() (bool, string) {
		var policy criticalv2.CriticalService
		if err := b.cluster.Get(ctx, client.ObjectKey{Name: b.namespace + "-" + v.name}, &policy); err != nil {
			return false, err.Error()
		}
		for _, detail := range policy.Status.Details {
			return detail.State == criticalv2.StateArmed, string(detail.State) + ": " + detail.Message
		}
		return false, "no Service in its status"
	})
}

// webPod is a Pod of the workload's image on port 8080.
func (b *bench) webPod(name string, args ...string) corev1.PodSpec {
	return corev1.PodSpec{
		AutomountServiceAccountToken:  new(false),
		TerminationGracePeriodSeconds: new(int64(5)),
		Containers: []corev1.Container{{
			Name: "web", Image: b.image, Args: append([]string{"web", "--close", "--name=" + name}, args...),
			Ports: []corev1.ContainerPort{{ContainerPort: 8080}},
			ReadinessProbe: &corev1.Probe{
				ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(8080)}},
				PeriodSeconds:    1,
				FailureThreshold: 1,
			},
		}},
	}
}

func (b *bench) create(ctx context.Context, object client.Object) error {
	if err := b.cluster.Create(ctx, object); err != nil {
		return err
	}
	b.made = append(b.made, object)
	return nil
}

// remove deletes all that was made, the last first.
func (b *bench) remove(ctx context.Context) error {
	var problems []error
	for _, object := range slices.Backward(b.made) {
		problems = append(problems, client.IgnoreNotFound(b.cluster.Delete(ctx, object)))
	}
	return errors.Join(problems...)
}
