package checks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/scorecard/verdict"
	"github.com/critical-service/operator/test/scorecard/world"
)

// wrong is a spec with a mistake that people make, and the message that they get.
type wrong struct {
	version, mistake, spec, message string
}

var mistakes = []wrong{
	{
		"v2", "an empty selector", "{serviceSelector: {}}",
		"an empty selector would make every Service of the cluster critical: name at least one label in matchLabels or matchExpressions",
	},
	{
		"v2", "two kinds of fallback", "{serviceSelector: {matchLabels: {a: b}}, fallback: {page: {}, service: {name: shop-static}}}",
		"fallback must have exactly one of page, podTemplate and service; leave fallback out altogether for the built-in page",
	},
	{
		"v2", "namespaces and namespaceSelector", "{serviceSelector: {matchLabels: {a: b}}, namespaces: [shop], namespaceSelector: {}}",
		"name the namespaces in namespaces, or select them with namespaceSelector, not both",
	},
	{
		"v2", "a delay of two hours", "{serviceSelector: {matchLabels: {a: b}}, activationDelay: 2h}",
		"activationDelay must be a duration from 0s to 1h, for example '30s' or '1m30s'",
	},
	{
		"v2", "a pattern for a namespace", "{serviceSelector: {matchLabels: {a: b}}, namespaces: ['shop-*']}",
		"each of namespaces must be a namespace's name: lower-case letters, digits and '-', for example 'shop'",
	},
	{
		"v2", "a standby Pod with the application's labels",
		"{serviceSelector: {matchLabels: {a: b}}, fallback: {podTemplate: {activation: Standby, publish: SelectorLabels}}}",
		"publish SelectorLabels needs activation OnDemand: a standby Pod with the application's labels would take its traffic before any outage",
	},
	{
		"v2", "a PodTemplate's namespace without its name",
		"{serviceSelector: {matchLabels: {a: b}}, fallback: {podTemplate: {namespace: shop}}}",
		"podTemplate.namespace needs podTemplate.name: a namespace alone names no PodTemplate",
	},
	{
		"v2", "a page of status 200", "{serviceSelector: {matchLabels: {a: b}}, fallback: {page: {statusCode: 200}}}",
		"should be greater than or equal to 400",
	},
	{
		"v2", "a misspelt field", "{serviceSelector: {matchLabels: {a: b}}, activationdelay: 5s}",
		`unknown field "spec.activationdelay"`,
	},
	{
		"v1", "no labels", "{matchLabels: []}",
		"spec.matchLabels in body should have at least 1 items",
	},
	{
		"v1", "one key twice", "{matchLabels: [{key: a, value: b}, {key: a, value: c}]}",
		"matchLabels must not name a key twice: a label has one value, so two entries for one key can never both match",
	},
	{
		"v1", "a key that is none", "{matchLabels: [{key: 'a b', value: c}]}",
		"key must be a label key, for example 'role' or 'app.kubernetes.io/name'",
	},
}

// unlikely is what a schema cannot tell: the operator's webhook refuses it, which the API server asks for its opinion
// and does not wait for (failurePolicy: Ignore).
var unlikely = wrong{
	"v2", "a label that no Service can have", "{serviceSelector: {matchLabels: {role: 'a b'}}}",
	`spec.serviceSelector.matchLabels[role]: Invalid value: "a b": a valid label must be`,
}

// refusal submits each mistake as a dry run: should one be accepted, nothing comes of it.
func refusal(ctx context.Context, w *world.World) error {
	// Without these, an API server that refuses everything would pass.
	if err := converts(ctx, w); err != nil {
		return err
	}
	if err := submit(ctx, w, "v2", "{serviceSelector: {matchLabels: {a: b}}}"); err != nil {
		return verdict.Failed(installedTwice, "a valid CriticalService of v2 is refused: %v", err)
	}
	w.Journal.Say("A valid CriticalService of v2 is accepted.")
	var failed []error
	for _, mistake := range mistakes {
		if err := refused(w, mistake, submit(ctx, w, mistake.version, mistake.spec)); err != nil {
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
		return verdict.Failed(installedTwice, "%s (%s %s) is accepted, and should be refused: %s",
			mistake.mistake, mistake.version, mistake.spec, mistake.message)
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		return verdict.Failed(installedTwice, "%s (%s) could not be submitted: %v", mistake.mistake, mistake.version, err)
	case !strings.Contains(err.Error(), mistake.message):
		return verdict.Failed(installedTwice, "%s (%s) is refused, without the documented message %q: %v",
			mistake.mistake, mistake.version, mistake.message, err)
	}
	w.Journal.Say("Refused: %s (%s): %s", mistake.mistake, mistake.version, mistake.message)
	return nil
}

// validates waits until the operator's webhook refuses what only it can. The API server accepts it as long as it gets
// no answer, as it does for some seconds after an installation.
func validates(ctx context.Context, w *world.World) error {
	return w.Await(ctx, "a refusal by the operator's webhook of "+unlikely.mistake, func(ctx context.Context) (world.Observation, error) {
		err := submit(ctx, w, unlikely.version, unlikely.spec)
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
		err := submit(ctx, w, "v1", "{matchLabels: [{key: a, value: b}]}")
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
func submit(ctx context.Context, w *world.World, version, spec string) error {
	object := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: mycrd.com/%s, kind: CriticalService, metadata: {name: %s}, spec: %s}", version, w.Namespace, spec)
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		return err
	}
	return w.Create(ctx, object, client.DryRunAll, client.FieldValidation("Strict"))
}
