package checks

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/verdict"
	"github.com/critical-service/operator/test/scorecard/world"
)

// The kinds, in each version.
var (
	firstKind       = criticalv1.GroupVersion.WithKind("CriticalService")
	secondKind      = criticalv2.CriticalServiceKind
	fallbackKind    = criticalv2.ServiceFallbackKind
	maintenanceKind = criticalv2.MaintenanceKind
)

// called is a kind as people write it.
func called(kind schema.GroupVersionKind) string { return kind.Kind + " of " + kind.Version }

// wrong is a spec with a mistake that people make, and the message that they get.
type wrong struct {
	kind                   schema.GroupVersionKind
	mistake, spec, message string
}

var mistakes = []wrong{
	{
		secondKind, "an empty selector", "{serviceSelector: {}}",
		"an empty selector would make every Service of the cluster critical: name at least one label in matchLabels or matchExpressions",
	},
	{
		secondKind, "two kinds of fallback", "{serviceSelector: {matchLabels: {a: b}}, fallback: {page: {}, service: {name: shop-static}}}",
		"fallback must have exactly one of page, podTemplate and service; leave fallback out altogether for the built-in page",
	},
	{
		secondKind, "namespaces and namespaceSelector", "{serviceSelector: {matchLabels: {a: b}}, namespaces: [shop], namespaceSelector: {}}",
		"name the namespaces in namespaces, or select them with namespaceSelector, not both",
	},
	{
		secondKind, "a delay of two hours", "{serviceSelector: {matchLabels: {a: b}}, activationDelay: 2h}",
		"activationDelay must be a duration from 0s to 1h, for example '30s' or '1m30s'",
	},
	{
		secondKind, "a pattern for a namespace", "{serviceSelector: {matchLabels: {a: b}}, namespaces: ['shop-*']}",
		"each of namespaces must be a namespace's name: lower-case letters, digits and '-', for example 'shop'",
	},
	{
		secondKind, "a standby Pod with the application's labels",
		"{serviceSelector: {matchLabels: {a: b}}, fallback: {podTemplate: {activation: Standby, publish: SelectorLabels}}}",
		"publish SelectorLabels needs activation OnDemand: a standby Pod with the application's labels would take its traffic before any outage",
	},
	{
		secondKind, "a PodTemplate's namespace without its name",
		"{serviceSelector: {matchLabels: {a: b}}, fallback: {podTemplate: {namespace: shop}}}",
		"podTemplate.namespace needs podTemplate.name: a namespace alone names no PodTemplate",
	},
	{
		secondKind, "a page of status 200", "{serviceSelector: {matchLabels: {a: b}}, fallback: {page: {statusCode: 200}}}",
		"should be greater than or equal to 400",
	},
	{
		secondKind, "a misspelt field", "{serviceSelector: {matchLabels: {a: b}}, activationdelay: 5s}",
		`unknown field "spec.activationdelay"`,
	},
	{
		firstKind, "no labels", "{matchLabels: []}",
		"spec.matchLabels in body should have at least 1 items",
	},
	{
		firstKind, "one key twice", "{matchLabels: [{key: a, value: b}, {key: a, value: c}]}",
		"matchLabels must not name a key twice: a label has one value, so two entries for one key can never both match",
	},
	{
		firstKind, "a key that is none", "{matchLabels: [{key: 'a b', value: c}]}",
		"key must be a label key, for example 'role' or 'app.kubernetes.io/name'",
	},
	{
		fallbackKind, "neither names nor labels of Services", "{fallback: {page: {}}}",
		"name the Services in services, or select them with serviceSelector: exactly one of the two",
	},
	{
		fallbackKind, "an empty selector", "{serviceSelector: {}}",
		"an empty selector would mean every Service of the namespace: name at least one label in matchLabels or matchExpressions",
	},
	{
		fallbackKind, "a PodTemplate of another namespace", "{services: [shop], fallback: {podTemplate: {name: sorry, namespace: kube-system}}}",
		"fallback.podTemplate of a ServiceFallback must name a PodTemplate of its own namespace: give name, and leave namespace out",
	},
	{
		maintenanceKind, "an end of a maintenance that recurs", "{services: [shop], until: '2030-01-31T18:30:00Z', recurring: {schedule: '0 2 * * SUN', duration: 2h}}",
		"until is the end of a maintenance that happens once; with recurring, leave it out: each window ends after its duration",
	},
	{
		maintenanceKind, "a schedule with seconds", "{services: [shop], recurring: {schedule: '0 0 2 * * SUN', duration: 2h}}",
		"schedule must have the five fields of cron, separated by one space, for example '0 2 * * SUN'",
	},
	{
		maintenanceKind, "two workloads to restore", "{services: [shop], restore: {deployment: shop, statefulSet: shop, replicas: 3}}",
		"name the workload in deployment or in statefulSet: exactly one of the two",
	},
}

// valid are specs without a mistake: an API server that refuses everything must not pass.
var valid = []struct {
	kind schema.GroupVersionKind
	spec string
}{
	{secondKind, "{serviceSelector: {matchLabels: {a: b}}}"},
	{fallbackKind, "{services: [shop]}"},
	{maintenanceKind, "{services: [shop], until: '2030-01-31T18:30:00Z'}"},
}

// unlikely is what a schema cannot tell: the operator's webhook refuses it, which the API server asks for its opinion
// and does not wait for (failurePolicy: Ignore).
var unlikely = wrong{
	secondKind, "a label that no Service can have", "{serviceSelector: {matchLabels: {role: 'a b'}}}",
	`spec.serviceSelector.matchLabels[role]: Invalid value: "a b": a valid label must be`,
}

// refusal submits each mistake as a dry run: should one be accepted, nothing comes of it.
func refusal(ctx context.Context, w *world.World) error {
	if err := converts(ctx, w); err != nil {
		return err
	}
	for _, one := range valid {
		if err := submit(ctx, w, one.kind, one.spec); err != nil {
			return verdict.Failed(installedTwice, "a valid %s is refused: %v", called(one.kind), err)
		}
		w.Journal.Say("A valid %s is accepted.", called(one.kind))
	}
	var failed []error
	for _, mistake := range mistakes {
		if err := refused(w, mistake, submit(ctx, w, mistake.kind, mistake.spec)); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(append(failed, validates(ctx, w))...)
}

const installedTwice = "Is the CustomResourceDefinition that of this version, and does the operator's webhook answer? " +
	"See kubectl get crd criticalservices.mycrd.com -o yaml, and reinstall the operator (docs/install.md)."

// refused judges what was said to a mistake.
func refused(w *world.World, mistake wrong, err error) error {
	switch {
	case err == nil:
		return verdict.Failed(installedTwice, "%s (%s: %s) is accepted, and should be refused: %s",
			mistake.mistake, called(mistake.kind), mistake.spec, mistake.message)
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		return verdict.Failed(installedTwice, "%s (%s) could not be submitted: %v", mistake.mistake, called(mistake.kind), err)
	case !strings.Contains(err.Error(), mistake.message):
		return verdict.Failed(installedTwice, "%s (%s) is refused, without the documented message %q: %v",
			mistake.mistake, called(mistake.kind), mistake.message, err)
	}
	w.Journal.Say("Refused: %s (%s): %s", mistake.mistake, called(mistake.kind), mistake.message)
	return nil
}

// validates waits until the operator's webhook refuses what only it can. The API server accepts it as long as it gets
// no answer, as it does for some seconds after an installation.
func validates(ctx context.Context, w *world.World) error {
	return w.Await(ctx, "a refusal by the operator's webhook of "+unlikely.mistake, func(ctx context.Context) (world.Observation, error) {
		err := submit(ctx, w, unlikely.kind, unlikely.spec)
		if err == nil {
			return world.Observation{Text: unlikely.spec + " is accepted", Suggestion: validationHint}, nil
		}
		return world.Observation{Done: true, Text: "it is not accepted"}, refused(w, unlikely, err)
	})
}

const validationHint = "The operator validates (docs/spec/criticalservice.md#what-is-refused-and-what-is-warned-about). Does its webhook answer, with the " +
	"certificate that the configuration expects? See kubectl get validatingwebhookconfigurations -o yaml, and the operator's log."

// converts waits until a valid CriticalService of v1 is accepted, which needs the operator: it answers for some
// seconds not, after it was installed, and when OLM has renewed its certificate.
func converts(ctx context.Context, w *world.World) error {
	return w.Await(ctx, "an API server that accepts v1, for which it asks the operator", func(ctx context.Context) (world.Observation, error) {
		err := submit(ctx, w, firstKind, "{matchLabels: [{key: a, value: b}]}")
		switch {
		case err == nil:
			return world.Observation{Done: true, Text: "a valid CriticalService of v1 is accepted"}, nil
		case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
			return world.Observation{}, verdict.Failed(installedTwice, "a valid CriticalService of v1 is refused: %v", err)
		case verdict.Final(err):
			return world.Observation{}, err
		}
		return world.Observation{Text: err.Error(), Suggestion: conversionHint}, nil
	})
}

// submit lets the API server judge a spec, as kubectl does, and store nothing.
func submit(ctx context.Context, w *world.World, kind schema.GroupVersionKind, spec string) error {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("{spec: "+spec+"}"), &object.Object); err != nil {
		return err
	}
	object.SetGroupVersionKind(kind)
	object.SetName(w.Namespace)
	namespaced, err := w.IsObjectNamespaced(object)
	if err != nil {
		return err
	}
	if namespaced {
		object.SetNamespace(metav1.NamespaceDefault) // The test makes none, and nothing is stored.
	}
	return w.Create(ctx, object, client.DryRunAll, client.FieldValidation("Strict"))
}
