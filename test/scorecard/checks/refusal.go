package checks

import (
	"context"
	"errors"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/world"
)

// The kinds, in each version.
var (
	firstKind       = criticalv1.GroupVersion.WithKind("CriticalService")
	secondKind      = criticalv2.CriticalServiceKind
	fallbackKind    = criticalv2.ServiceFallbackKind
	maintenanceKind = criticalv2.MaintenanceKind
)

var mistakes = []world.Mistake{
	{
		Spec:    world.Spec{Kind: secondKind, Text: "{serviceSelector: {}}"},
		What:    "an empty selector",
		Message: "an empty selector would make every Service of the cluster critical: name at least one label in matchLabels or matchExpressions",
	},
	{
		Spec:    world.Spec{Kind: secondKind, Text: "{serviceSelector: {matchLabels: {a: b}}, fallback: {page: {}, service: {name: shop-static}}}"},
		What:    "two kinds of fallback",
		Message: "fallback must have exactly one of page, podTemplate and service; leave fallback out altogether for the built-in page",
	},
	{
		Spec:    world.Spec{Kind: secondKind, Text: "{serviceSelector: {matchLabels: {a: b}}, namespaces: [shop], namespaceSelector: {}}"},
		What:    "namespaces and namespaceSelector",
		Message: "name the namespaces in namespaces, or select them with namespaceSelector, not both",
	},
	{
		Spec:    world.Spec{Kind: secondKind, Text: "{serviceSelector: {matchLabels: {a: b}}, activationDelay: 2h}"},
		What:    "a delay of two hours",
		Message: "activationDelay must be a duration from 0s to 1h, for example '30s' or '1m30s'",
	},
	{
		Spec:    world.Spec{Kind: secondKind, Text: "{serviceSelector: {matchLabels: {a: b}}, namespaces: ['shop-*']}"},
		What:    "a pattern for a namespace",
		Message: "each of namespaces must be a namespace's name: lower-case letters, digits and '-', for example 'shop'",
	},
	{
		Spec:    world.Spec{Kind: secondKind, Text: "{serviceSelector: {matchLabels: {a: b}}, fallback: {podTemplate: {activation: Standby, publish: SelectorLabels}}}"},
		What:    "a standby Pod with the application's labels",
		Message: "publish SelectorLabels needs activation OnDemand: a standby Pod with the application's labels would take its traffic before any outage",
	},
	{
		Spec:    world.Spec{Kind: secondKind, Text: "{serviceSelector: {matchLabels: {a: b}}, fallback: {podTemplate: {namespace: shop}}}"},
		What:    "a PodTemplate's namespace without its name",
		Message: "podTemplate.namespace needs podTemplate.name: a namespace alone names no PodTemplate",
	},
	{
		Spec:    world.Spec{Kind: secondKind, Text: "{serviceSelector: {matchLabels: {a: b}}, fallback: {page: {statusCode: 200}}}"},
		What:    "a page of status 200",
		Message: "should be greater than or equal to 400",
	},
	{
		Spec:    world.Spec{Kind: secondKind, Text: "{serviceSelector: {matchLabels: {a: b}}, activationdelay: 5s}"},
		What:    "a misspelt field",
		Message: `unknown field "spec.activationdelay"`,
	},
	{
		Spec:    world.Spec{Kind: firstKind, Text: "{matchLabels: []}"},
		What:    "no labels",
		Message: "spec.matchLabels in body should have at least 1 items",
	},
	{
		Spec:    world.Spec{Kind: firstKind, Text: "{matchLabels: [{key: a, value: b}, {key: a, value: c}]}"},
		What:    "one key twice",
		Message: "matchLabels must not name a key twice: a label has one value, so two entries for one key can never both match",
	},
	{
		Spec:    world.Spec{Kind: firstKind, Text: "{matchLabels: [{key: 'a b', value: c}]}"},
		What:    "a key that is none",
		Message: "key must be a label key, for example 'role' or 'app.kubernetes.io/name'",
	},
	{
		Spec:    world.Spec{Kind: fallbackKind, Text: "{fallback: {page: {}}}"},
		What:    "neither names nor labels of Services",
		Message: "name the Services in services, or select them with serviceSelector: exactly one of the two",
	},
	{
		Spec:    world.Spec{Kind: fallbackKind, Text: "{serviceSelector: {}}"},
		What:    "an empty selector",
		Message: "an empty selector would mean every Service of the namespace: name at least one label in matchLabels or matchExpressions",
	},
	{
		Spec:    world.Spec{Kind: fallbackKind, Text: "{services: [shop], fallback: {podTemplate: {name: sorry, namespace: kube-system}}}"},
		What:    "a PodTemplate of another namespace",
		Message: "fallback.podTemplate of a ServiceFallback must name a PodTemplate of its own namespace: give name, and leave namespace out",
	},
	{
		Spec:    world.Spec{Kind: maintenanceKind, Text: "{services: [shop], until: '2030-01-31T18:30:00Z', recurring: {schedule: '0 2 * * SUN', duration: 2h}}"},
		What:    "an end of a maintenance that recurs",
		Message: "until is the end of a maintenance that happens once; with recurring, leave it out: each window ends after its duration",
	},
	{
		Spec:    world.Spec{Kind: maintenanceKind, Text: "{services: [shop], recurring: {schedule: '0 0 2 * * SUN', duration: 2h}}"},
		What:    "a schedule with seconds",
		Message: "schedule must have the five fields of cron, separated by one space, for example '0 2 * * SUN'",
	},
	{
		Spec:    world.Spec{Kind: maintenanceKind, Text: "{services: [shop], restore: {deployment: shop, statefulSet: shop, replicas: 3}}"},
		What:    "two workloads to restore",
		Message: "name the workload in deployment or in statefulSet: exactly one of the two",
	},
}

// valid are specs without a mistake.
var valid = []world.Spec{
	{Kind: secondKind, Text: "{serviceSelector: {matchLabels: {a: b}}}"},
	{Kind: fallbackKind, Text: "{services: [shop]}"},
	{Kind: maintenanceKind, Text: "{services: [shop], until: '2030-01-31T18:30:00Z'}"},
}

// validFirst is a CriticalService that the API server converts before it judges it.
var validFirst = world.Spec{Kind: firstKind, Text: "{matchLabels: [{key: a, value: b}]}"}

// unlikely is what a schema cannot tell: the operator's webhook refuses it, which the API server asks for its opinion
// and does not wait for (failurePolicy: Ignore).
var unlikely = world.Mistake{
	Spec:    world.Spec{Kind: secondKind, Text: "{serviceSelector: {matchLabels: {role: 'a b'}}}"},
	What:    "a label that no Service can have",
	Message: `spec.serviceSelector.matchLabels[role]: Invalid value: "a b": a valid label must be`,
}

// refusal submits each mistake.
func refusal(ctx context.Context, w *world.World) error {
	if err := w.AwaitConversion(ctx, validFirst); err != nil {
		return err
	}
	return errors.Join(w.Judges(ctx, valid, mistakes), validates(ctx, w))
}

// validates waits until the operator's webhook refuses what only it can. The API server accepts it as long as it gets
// no answer, as it does for some seconds after an installation.
func validates(ctx context.Context, w *world.World) error {
	return w.Await(ctx, "a refusal by the operator's webhook of "+unlikely.What, func(ctx context.Context) (world.Observation, error) {
		err := w.Submit(ctx, unlikely.Spec)
		if err == nil {
			return world.Observation{Text: unlikely.Text + " is accepted", Suggestion: validationHint}, nil
		}
		return world.Observation{Done: true, Text: "it is not accepted"}, w.Refused(unlikely, err)
	})
}

const validationHint = "The operator validates (docs/spec/criticalservice.md#what-is-refused-and-what-is-warned-about). Does its webhook answer, with the " +
	"certificate that the configuration expects? See kubectl get validatingwebhookconfigurations -o yaml, and the operator's log."
