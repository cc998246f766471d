package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

const (
	// budget is how long all of it may take, of the 5 s that the API server waits.
	budget = time.Second
	// settle is how long to wait before a second look. Objects of one file are
	// created one right after the other, and come to the cache a little later.
	settle = 250 * time.Millisecond
	// mostNames is how many names a sentence has at most.
	mostNames = 3
)

// Settings are those of the operator that decide what a CriticalService does.
type Settings struct {
	// Namespaces are those that the operator looks at; empty is all.
	Namespaces []string
	// Template is the PodTemplate of those who name none.
	Template types.NamespacedName
	// NoPods says why no Pods of PodTemplates can be run; empty where they can.
	NoPods string
	// OperatorNamespace may hold PodTemplates for every Service.
	OperatorNamespace string
}

// adviser says what a valid CriticalService will not do, though people may expect
// it. It reads nothing but the caches of the controllers.
type adviser struct {
	reader client.Reader
	// synced reports whether the caches hold all that is there.
	synced   func(context.Context) error
	settings Settings
	budget   time.Duration
	// places has room for those that are advised at the same time.
	places chan struct{}
}

// newAdviser makes an adviser of one at a time: the others are validated meanwhile,
// and accepted without advice.
func newAdviser(reader client.Reader, synced func(context.Context) error, settings Settings) *adviser {
	return &adviser{reader: reader, synced: synced, settings: settings, budget: budget, places: make(chan struct{}, 1)}
}

// synced reports whether a cache holds what an adviser reads. It never waits: a
// cache that is not filled must not delay a write.
func synced(caches cache.Cache, withTemplates bool) func(context.Context) error {
	kinds := []client.Object{&corev1.Service{}, &corev1.Namespace{}, &criticalv2.CriticalService{}}
	if withTemplates {
		kinds = append(kinds, templateMetadata())
	}
	return func(ctx context.Context) error {
		for _, kind := range kinds {
			informer, err := caches.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
			if err != nil {
				return err
			}
			if !informer.HasSynced() {
				return errors.New("the caches are not filled yet")
			}
		}
		return nil
	}
}

// advise gives sentences, each of which says what to do. Where it is in doubt, it
// says nothing.
func (a *adviser) advise(ctx context.Context, policy *criticalv2.CriticalService) []string {
	select {
	case a.places <- struct{}{}:
		defer func() { <-a.places }()
	default:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.budget)
	defer cancel()
	warnings, err := a.look(ctx, policy)
	if err == nil && len(warnings) > 0 {
		select {
		case <-time.After(settle):
		case <-ctx.Done():
		}
		warnings, err = a.look(ctx, policy)
	}
	if err != nil {
		log.FromContext(ctx).V(1).Info("a CriticalService is accepted without a look at what it will do", "why", err.Error())
		return nil
	}
	return warnings
}

func (a *adviser) look(ctx context.Context, policy *criticalv2.CriticalService) ([]string, error) {
	if err := a.synced(ctx); err != nil {
		return nil, err
	}
	var list corev1.NamespaceList
	if err := a.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	namespaces := make(map[string]map[string]string, len(list.Items))
	for i := range list.Items {
		namespaces[list.Items[i].Name] = list.Items[i].Labels
	}
	matched, err := a.matched(ctx, policy, namespaces)
	if err != nil {
		return nil, err
	}
	governors, err := a.governors(ctx, policy, matched, namespaces)
	if err != nil {
		return nil, err
	}
	if len(governors) > 0 {
		return []string{fmt.Sprintf("Every Service that matches is governed by another CriticalService, which comes first by name (%s): "+
			"this one protects nothing until one of them selects other Services.", quoted(governors))}, nil
	}
	warnings := a.aboutNamespaces(policy, namespaces)
	if len(matched) == 0 && len(warnings) == 0 {
		warnings = append(warnings, "No Service matches right now, so that nothing is protected: "+
			"give the Service itself the labels that the spec names (those of its Pods do not count), or correct the spec.")
	}
	about, err := a.aboutFallback(ctx, policy, matched)
	return append(warnings, about...), errors.Join(err, ctx.Err())
}

// aboutNamespaces finds names under which no Service will ever be seen.
func (a *adviser) aboutNamespaces(policy *criticalv2.CriticalService, existing map[string]map[string]string) []string {
	var unwatched, missing []string
	for _, namespace := range policy.Spec.Namespaces {
		if !a.watched(namespace) {
			unwatched = append(unwatched, namespace)
		} else if _, exists := existing[namespace]; !exists {
			missing = append(missing, namespace)
		}
	}
	var warnings []string
	if len(unwatched) > 0 {
		warnings = append(warnings, fmt.Sprintf("The operator does not look at namespace %s: add it to NAMESPACES, or name another in the spec.", quoted(unwatched)))
	}
	if len(missing) > 0 {
		warnings = append(warnings, fmt.Sprintf("Namespace %s does not exist: create it, or name another in the spec.", quoted(missing)))
	}
	return warnings
}

func (a *adviser) watched(namespace string) bool {
	return len(a.settings.Namespaces) == 0 || slices.Contains(a.settings.Namespaces, namespace)
}

// matched are the Services that the object names.
func (a *adviser) matched(ctx context.Context, policy *criticalv2.CriticalService, namespaces map[string]map[string]string) ([]corev1.Service, error) {
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.ServiceSelector)
	if err != nil {
		return nil, err
	}
	var services corev1.ServiceList
	if err := a.reader.List(ctx, &services, client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var matched []corev1.Service
	for _, service := range services.Items {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if protection.Matches(policy, &service, namespaces[service.Namespace]) {
			matched = append(matched, service)
		}
	}
	return matched, nil
}

// governors are the CriticalServices that come before the object, if they leave it no
// Service.
func (a *adviser) governors(ctx context.Context, policy *criticalv2.CriticalService, matched []corev1.Service, namespaces map[string]map[string]string) ([]string, error) {
	var policies criticalv2.CriticalServiceList
	if err := a.reader.List(ctx, &policies, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(policies.Policies(), func(other criticalv2.Policy) bool { return other.GetName() == policy.Name })
	all = append(all, policy)
	governing := map[string]bool{}
	for i := range matched {
		governor := protection.Governor(all, &matched[i], namespaces[matched[i].Namespace])
		if governor.GetName() == policy.Name || ctx.Err() != nil {
			return nil, ctx.Err()
		}
		governing[governor.GetName()] = true
	}
	return slices.Sorted(maps.Keys(governing)), nil
}

// aboutFallback finds what the fallback rests on and is not there.
func (a *adviser) aboutFallback(ctx context.Context, policy criticalv2.Policy, matched []corev1.Service) ([]string, error) {
	switch fallback := policy.Protection().Fallback; {
	case fallback.PodTemplate != nil:
		return a.aboutTemplate(ctx, policy, matched)
	case fallback.Service != nil:
		return a.aboutBackup(ctx, fallback.Service.Name, matched)
	default:
		return nil, nil
	}
}

func (a *adviser) aboutTemplate(ctx context.Context, policy criticalv2.Policy, matched []corev1.Service) ([]string, error) {
	templates := protection.Templates{Default: a.settings.Template, OperatorNamespace: a.settings.OperatorNamespace}
	key := templates.Named(policy)
	forbidden := func(service corev1.Service) bool { return !templates.Allows(policy, service.Namespace) }
	switch {
	case a.settings.NoPods != "":
		return []string{a.settings.NoPods + " Until then the built-in page stands in, where it can."}, nil
	case slices.ContainsFunc(matched, forbidden):
		return []string{fmt.Sprintf("PodTemplate %s may not be used for Services of other namespaces, for which the built-in page stands in: "+
			"take one from the operator's namespace %q, or select Services of its namespace only.", key, a.settings.OperatorNamespace)}, nil
	case !a.watched(key.Namespace) && key.Namespace != templates.Default.Namespace && key.Namespace != templates.OperatorNamespace:
		return nil, nil // It is in none of the caches.
	}
	missing, err := a.missing(ctx, key, templateMetadata())
	if !missing {
		return nil, err
	}
	return []string{fmt.Sprintf("PodTemplate %s does not exist: create it; until then the built-in page stands in for it, where it can.", key)}, nil
}

// templateMetadata is the form in which the controllers watch PodTemplates.
func templateMetadata() *metav1.PartialObjectMetadata {
	template := &metav1.PartialObjectMetadata{}
	template.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodTemplate"))
	return template
}

func (a *adviser) aboutBackup(ctx context.Context, name string, matched []corev1.Service) ([]string, error) {
	var without []string
	for _, service := range matched {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		missing, err := a.missing(ctx, types.NamespacedName{Namespace: service.Namespace, Name: name}, &corev1.Service{})
		if err != nil {
			return nil, err
		}
		if missing && !slices.Contains(without, service.Namespace) {
			without = append(without, service.Namespace)
		}
	}
	if len(without) == 0 {
		return nil, nil
	}
	slices.Sort(without)
	return []string{fmt.Sprintf("Backup Service %q does not exist in namespace %s: create it there, or name another in the spec; "+
		"until then nothing answers in an outage.", name, quoted(without))}, nil
}

func (a *adviser) missing(ctx context.Context, key types.NamespacedName, object client.Object) (bool, error) {
	err := a.reader.Get(ctx, key, object)
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}

// quoted lists names for a sentence.
func quoted(names []string) string {
	more := ""
	if len(names) > mostNames {
		more = fmt.Sprintf(" and %d more", len(names)-mostNames)
		names = names[:mostNames]
	}
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf("%q", name))
	}
	return strings.Join(list, ", ") + more
}
