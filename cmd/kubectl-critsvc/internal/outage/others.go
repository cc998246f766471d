package outage

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/protection"
)

// mostNamed is how many Services a note names.
const mostNamed = 5

// note finds the other critical Services that go down with the workload of a Service, and
// adds a note that says so, or that it is not known.
func (f *finder) note(ctx context.Context, w *Workload, service *corev1.Service) {
	others, unseen, err := f.others(ctx, w, service)
	w.Others = others
	if unseen != nil && err == nil {
		w.Notes = append(w.Notes, fmt.Sprintf("Which other critical Services go down with %s is known in part only: %v.", w, unseen))
	}
	switch {
	case err != nil:
		w.Notes = append(w.Notes, fmt.Sprintf("Which other critical Services go down with %s is not known: %v.", w, err))
	case len(w.Others) > 0:
		w.Notes = append(w.Notes, fmt.Sprintf("Other critical Services go down with %s, because no other Pod behind them is ready: %s.",
			w, output.Names(w.Others, mostNamed)))
	}
}

// others are the names of the other critical Services that go down with a workload; unseen
// is why that may not be all.
func (f *finder) others(ctx context.Context, w *Workload, service *corev1.Service) (names []string, unseen, err error) {
	critical, unseen, err := f.otherCritical(ctx, service)
	if err != nil || len(critical) == 0 {
		return nil, unseen, err
	}
	pods, err := f.pods(ctx)
	if err != nil {
		return nil, unseen, err
	}
	for i := range critical {
		goes, err := f.goesWith(ctx, &critical[i], w, pods)
		if err != nil {
			return nil, unseen, err
		}
		if goes {
			names = append(names, critical[i].Name)
		}
	}
	return names, unseen, nil
}

// otherCritical are the other Services of the namespace that a policy matches, and that
// select Pods, by name; unseen is why there may be more.
func (f *finder) otherCritical(ctx context.Context, service *corev1.Service) (critical []corev1.Service, unseen, err error) {
	policies, without, err := access.Policies(ctx, f.from, f.namespace, access.Unseen{})
	if err != nil {
		return nil, nil, err
	}
	var services corev1.ServiceList
	if err := f.from.List(ctx, &services, client.InNamespace(f.namespace)); err != nil {
		return nil, nil, fmt.Errorf("list the Services of namespace %q: %w", f.namespace, err)
	}
	var home corev1.Namespace
	// Without the right to read it, a namespaceSelector matches nothing here.
	_ = f.from.Get(ctx, client.ObjectKey{Name: f.namespace}, &home)
	return slices.DeleteFunc(services.Items, func(other corev1.Service) bool {
		return other.Name == service.Name || len(other.Spec.Selector) == 0 || protection.Governor(policies, &other, home.Labels) == nil
	}), without.Err(), nil
}

// goesWith reports whether a Service has Pods of a workload, and no other that is ready.
func (f *finder) goesWith(ctx context.Context, service *corev1.Service, w *Workload, pods []corev1.Pod) (bool, error) {
	selector, goes := labels.SelectorFromSet(service.Spec.Selector), false
	for i := range pods {
		if !selector.Matches(labels.Set(pods[i].Labels)) {
			continue
		}
		theirs, err := f.keeps(ctx, w, &pods[i])
		if err != nil {
			return false, err
		}
		if !theirs && isReady(&pods[i]) {
			return false, nil
		}
		goes = goes || theirs
	}
	return goes, nil
}

// keeps reports whether a workload keeps a Pod: it is one of the Pod's owners.
func (f *finder) keeps(ctx context.Context, w *Workload, pod *corev1.Pod) (bool, error) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return false, nil
	}
	chain, err := f.chain(ctx, owner)
	for _, object := range chain {
		if object.GetName() == w.Name && object.GroupVersionKind().GroupKind() == w.object.GroupVersionKind().GroupKind() {
			return true, nil
		}
	}
	return false, err
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
