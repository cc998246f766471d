// Package checks are the scorecard tests of the workloads operator: what each of them does, and what must come of it.
package checks

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/suite"
	"github.com/critical-service/operator/test/scorecard/world"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// Suite are the tests of the workloads operator.
var Suite = suite.Suite{
	Operator: world.Operator{
		Name: workloadsv1.ManagedBy, Kind: &workloadsv1.DatabaseList{}, Scheme: scheme,
		Evidence: []world.Listing{
			{Name: "databases", List: &workloadsv1.DatabaseList{}},
			{Name: "webapps", List: &workloadsv1.WebAppList{}},
			{Name: "appconfigs", List: &workloadsv2.AppConfigList{}},
			{Name: "etcdinstances", List: &workloadsv1alpha1.ETCDInstanceList{}},
			{Name: "servicefallbacks", List: &criticalv2.ServiceFallbackList{}},
			{Name: "services", List: &corev1.ServiceList{}},
			{Name: "endpointslices", List: &discoveryv1.EndpointSliceList{}},
			{Name: "pods", List: &corev1.PodList{}},
			{Name: "persistentvolumeclaims", List: &corev1.PersistentVolumeClaimList{}},
			{Name: "deployments", List: &appsv1.DeploymentList{}},
			{Name: "configmaps", List: &corev1.ConfigMapList{}},
			{Name: "events", List: &corev1.EventList{}},
		},
	},
	// A node may have to pull the image of a database.
	AwaitTimeout: 3 * time.Minute,
	Checks: []suite.Check{
		{Name: "database", Sentence: "A Database runs, its Service leads to it, and what belongs to it is there.", Run: running},
		{Name: "protected", Sentence: "A fallback would answer for a Database, or the Database says what to install.", Run: protected},
		{Name: "deletion", Sentence: "Deleting a Database with storage leaves its claim and its Secret, and nothing else.", Run: deletion},
		{Name: "refusal", Sentence: "Objects of the operator's kinds that are not valid are refused, with the documented message.", Run: refusal},
		{Name: "conversion", Sentence: "Both versions of AppConfig convert, and every example of the bundle is accepted.", Run: versions},
		{Name: "rollout", Sentence: "An AppConfig becomes an immutable ConfigMap, and a change of it rolls a Deployment once.", Run: rollout},
	},
}

// scheme knows the kinds that the tests use.
func scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, criticalv2.AddToScheme, workloadsv1.AddToScheme, workloadsv1alpha1.AddToScheme, workloadsv2.AddToScheme)
	return scheme, add.AddToScheme(scheme)
}
