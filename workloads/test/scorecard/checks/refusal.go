package checks

import (
	"context"

	"github.com/critical-service/operator/test/scorecard/world"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// The kinds, in each version.
var (
	databaseKind = workloadsv1.DatabaseKind
	webAppKind   = workloadsv1.WebAppKind
	firstKind    = workloadsv1.AppConfigKind
	secondKind   = workloadsv2.AppConfigKind
)

var mistakes = []world.Mistake{
	{Spec: world.Spec{Kind: databaseKind, Text: "{}"}, What: "no type", Message: "spec.type: Required value"},
	{
		Spec: world.Spec{Kind: databaseKind, Text: "{type: oracle}"},
		What: "an unknown type", Message: `supported values: "mongo", "mysql", "postgres"`,
	},
	{
		Spec: world.Spec{Kind: databaseKind, Text: "{type: mongo, storage: {size: 1 Gi}}"},
		What: "a size with a blank", Message: "size must be a quantity from 1Mi to 1Pi, without a blank, for example '1Gi'",
	},
	{
		Spec: world.Spec{Kind: databaseKind, Text: "{type: mongo, fallback: {page: {}, none: {}}}"},
		What: "two fallbacks", Message: "fallback must have exactly one of page, podTemplate, service and none; leave fallback out for the page",
	},
	{
		Spec: world.Spec{Kind: databaseKind, Text: "{type: mongo, image: mongo 4}"},
		What: "an image with a blank", Message: "image must be the name of an image, for example 'mongo:4.0'",
	},
	{
		Spec: world.Spec{Kind: databaseKind, Text: "{type: mongo, credentials: {secretName: Orders}}"},
		What: "a Secret's name with a capital", Message: "secretName must be a Secret's name: lower-case letters, digits, '-' and '.', for example 'orders-admin'",
	},
	{
		Spec: world.Spec{Kind: databaseKind, Text: "{type: mongo, sotrage: {size: 1Gi}}"},
		What: "a misspelt field", Message: `unknown field "spec.sotrage"`,
	},
	{
		Spec: world.Spec{Kind: webAppKind, Text: "{appName: shop, image: shop, autoScaleEnabled: true}"},
		What: "autoscaling without a threshold", Message: "trafficThreshold is required while autoScaleEnabled is true",
	},
	{
		Spec: world.Spec{Kind: webAppKind, Text: "{appName: shop, image: shop, minReplicas: 3, maxReplicas: 2}"},
		What: "bounds that exclude each other", Message: "maxReplicas must not be less than minReplicas",
	},
	{
		Spec: world.Spec{Kind: webAppKind, Text: "{appName: shop, image: shop, dbSize: 1Gi}"},
		What: "a volume without a database", Message: "dbSize is the volume of the database, and needs dbImage",
	},
	{
		Spec: world.Spec{Kind: webAppKind, Text: "{appName: shop, image: shop, port: 18080}"},
		What: "a port of the meter", Message: "port must not be 18080 or 18081, where the metering proxy listens",
	},
	{
		Spec: world.Spec{Kind: secondKind, Text: "{appName: shop, configuration: {settings: {'a b': c}}}"},
		What: "a key that no ConfigMap has", Message: "keys must be those that a ConfigMap may have: 1 to 253 letters, digits, '-', '_' and '.'",
	},
	{
		Spec: world.Spec{Kind: secondKind, Text: "{appName: shop, configuration: {settings: {size: 7}}}"},
		What: "a number", Message: "must be of type string",
	},
	{
		Spec: world.Spec{Kind: firstKind, Text: "{appName: '', config: {}}"},
		What: "an empty appName", Message: "spec.appName in body should be at least 1 chars long",
	},
	{
		Spec: world.Spec{Kind: firstKind, Text: "{appName: shop, config: {a/b: c}}"},
		What: "a key that no ConfigMap has", Message: "keys must be those that a ConfigMap may have: 1 to 253 letters, digits, '-', '_' and '.'",
	},
}

// valid are specs without a mistake.
var valid = []world.Spec{
	{Kind: databaseKind, Text: "{type: mongo}"},
	{Kind: webAppKind, Text: "{appName: shop, image: 'shop:1', dbImage: 'mysql:8.0', replicas: 2, dbSize: 1Gi, autoScaleEnabled: true, trafficThreshold: 100}"},
	{Kind: secondKind, Text: "{appName: shop, configuration: {settings: {LOG_LEVEL: debug}, version: '1.4'}}"},
}

// validFirst is an AppConfig that the API server converts before it judges it.
var validFirst = world.Spec{Kind: firstKind, Text: "{appName: shop, config: {LOG_LEVEL: debug}}"}

// refusal submits each mistake.
func refusal(ctx context.Context, w *world.World) error {
	if err := w.AwaitConversion(ctx, validFirst); err != nil {
		return err
	}
	return w.Judges(ctx, valid, mistakes)
}
