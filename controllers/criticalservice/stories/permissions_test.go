package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// All the other tests run under the permissions of config/rbac, which shows that
// they suffice. This one shows that they are not more than that.
func TestTheOperatorMayNot(t *testing.T) {
	for name, action := range map[string]authorizationv1.ResourceAttributes{
		"change a CriticalService":         {Group: "mycrd.com", Resource: "criticalservices", Verb: "patch"},
		"delete a CriticalService":         {Group: "mycrd.com", Resource: "criticalservices", Verb: "delete"},
		"change a ServiceFallback":         {Group: "mycrd.com", Resource: "servicefallbacks", Verb: "patch", Namespace: "default"},
		"replace a ServiceFallback":        {Group: "mycrd.com", Resource: "servicefallbacks", Verb: "update", Namespace: "default"},
		"make a ServiceFallback":           {Group: "mycrd.com", Resource: "servicefallbacks", Verb: "create", Namespace: "default"},
		"delete a ServiceFallback":         {Group: "mycrd.com", Resource: "servicefallbacks", Verb: "delete", Namespace: "default"},
		"make a Maintenance":               {Group: "mycrd.com", Resource: "maintenances", Verb: "create", Namespace: "default"},
		"delete many Maintenances at once": {Group: "mycrd.com", Resource: "maintenances", Verb: "deletecollection", Namespace: "default"},
		"restore just any Maintenance":     {Group: "mycrd.com", Resource: "maintenances", Verb: "restore", Namespace: "default", Name: "shop/deployments.apps/shop"},
		"change a Service":                 {Resource: "services", Verb: "patch"},
		"change the status of a Service":   {Resource: "services", Subresource: "status", Verb: "patch"},
		"delete a Service":                 {Resource: "services", Verb: "delete"},
		"change an Ingress":                {Group: "networking.k8s.io", Resource: "ingresses", Verb: "patch"},
		"read an Ingress":                  {Group: "networking.k8s.io", Resource: "ingresses", Verb: "get"},
		"overwrite an EndpointSlice":       {Group: "discovery.k8s.io", Resource: "endpointslices", Verb: "update"},
		"change a PodTemplate":             {Resource: "podtemplates", Verb: "patch"},
		"delete many Pods at once":         {Resource: "pods", Verb: "deletecollection"},
		"make a webhook":                   {Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations", Verb: "create"},
		"change a webhook of others":       {Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations", Verb: "patch", Name: "others"},
		"change objects on their way in":   {Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations", Verb: "patch", Name: "critical-service-webhook"},
		"run commands in a Pod":            {Resource: "pods", Subresource: "exec", Verb: "create"},
		"read the logs of a Pod":           {Resource: "pods", Subresource: "log", Verb: "get"},
		"read a Secret":                    {Resource: "secrets", Verb: "get"},
		"read a Secret of its namespace":   {Resource: "secrets", Verb: "get", Namespace: testenv.OperatorNamespace, Name: "other"},
		"list the Secrets of a namespace":  {Resource: "secrets", Verb: "list", Namespace: "default"},
		"list the Secrets of its own":      {Resource: "secrets", Verb: "list", Namespace: testenv.OperatorNamespace},
		"read just any ConfigMap":          {Resource: "configmaps", Verb: "get", Namespace: "default", Name: "other"},
		"change just any ConfigMap":        {Resource: "configmaps", Verb: "patch", Namespace: "default", Name: "other"},
		"delete just any ConfigMap":        {Resource: "configmaps", Verb: "delete", Namespace: "default", Name: "other"},
		"change just any Deployment":       {Group: "apps", Resource: "deployments", Verb: "patch", Namespace: "default", Name: "other"},
		"scale just any Deployment":        {Group: "apps", Resource: "deployments", Subresource: "scale", Verb: "patch", Namespace: "default", Name: "other"},
		"read the scale of a Deployment":   {Group: "apps", Resource: "deployments", Subresource: "scale", Verb: "get", Namespace: "default", Name: "other"},
		"scale just any StatefulSet":       {Group: "apps", Resource: "statefulsets", Subresource: "scale", Verb: "patch", Namespace: "default", Name: "other"},
		"permit itself to scale":           {Group: "rbac.authorization.k8s.io", Resource: "roles", Verb: "create", Namespace: "default"},
		"delete just any Deployment":       {Group: "apps", Resource: "deployments", Verb: "delete", Namespace: "default", Name: "other"},
		"delete just any disruption limit": {Group: "policy", Resource: "poddisruptionbudgets", Verb: "delete", Namespace: "default", Name: "other"},
		"delete just any autoscaler":       {Group: "autoscaling", Resource: "horizontalpodautoscalers", Verb: "delete", Namespace: "default", Name: "other"},
		"change just any autoscaler":       {Group: "autoscaling", Resource: "horizontalpodautoscalers", Verb: "patch", Namespace: "default", Name: "other"},
		"change a definition of others":    {Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Verb: "patch", Name: "others.example.com"},
		"make a definition":                {Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Verb: "create"},
		"delete its definition":            {Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Verb: "delete", Name: "criticalservices.mycrd.com"},
		"delete many slices at once":       {Group: "discovery.k8s.io", Resource: "endpointslices", Verb: "deletecollection"},
		"take a lease in another place":    {Group: "coordination.k8s.io", Resource: "leases", Verb: "create", Namespace: "default"},
		"take the lease of another user":   {Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Namespace: testenv.OperatorNamespace, Name: "other"},
		"give itself more permissions":     {Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Verb: "escalate"},
		"act in the name of another user":  {Resource: "users", Verb: "impersonate"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(allowed(t, action)).To(BeFalse())
		})
	}
}

func TestTheOperatorMay(t *testing.T) {
	for name, action := range map[string]authorizationv1.ResourceAttributes{
		"take its lease":        {Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Namespace: testenv.OperatorNamespace, Name: "critical-service-operator"},
		"make its lease":        {Group: "coordination.k8s.io", Resource: "leases", Verb: "create", Namespace: testenv.OperatorNamespace},
		"delete a Pod":          {Resource: "pods", Verb: "delete", Namespace: "default"},
		"write a status":        {Group: "mycrd.com", Resource: "criticalservices", Subresource: "status", Verb: "patch"},
		"write that of a team":  {Group: "mycrd.com", Resource: "servicefallbacks", Subresource: "status", Verb: "patch", Namespace: "default"},
		"set a finalizer":       {Group: "mycrd.com", Resource: "maintenances", Verb: "patch", Namespace: "default"},
		"delete what has ended": {Group: "mycrd.com", Resource: "maintenances", Verb: "delete", Namespace: "default"},
		"publish a standby":     {Group: "discovery.k8s.io", Resource: "endpointslices", Verb: "patch", Namespace: "default"},
		"publish on OpenShift":  {Group: "discovery.k8s.io", Resource: "endpointslices", Subresource: "restricted", Verb: "create", Namespace: "default"},
		"run its responder":     {Group: "apps", Resource: "deployments", Verb: "patch", Namespace: "default", Name: criticalv2.ResponderName},
		"read its own table":    {Resource: "configmaps", Verb: "get", Namespace: "default", Name: criticalv2.ResponderName},
		"send and count events": {Group: "events.k8s.io", Resource: "events", Verb: "patch", Namespace: "default"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(allowed(t, action)).To(BeTrue())
		})
	}
}

func allowed(t *testing.T, action authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: testenv.OperatorUser.Name, Groups: testenv.OperatorUser.Groups, ResourceAttributes: &action,
	}}
	if err := cluster.Client.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}
