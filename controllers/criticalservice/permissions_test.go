package criticalservice_test

import (
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/critical-service/operator/controllers/internal/testenv"
)

// All the other tests run under the permissions of config/rbac, which shows that
// they suffice. This one shows that they are not more than that.
func TestTheOperatorMayNot(t *testing.T) {
	for name, action := range map[string]authorizationv1.ResourceAttributes{
		"change a CriticalService":         {Group: "mycrd.com", Resource: "criticalservices", Verb: "patch"},
		"delete a CriticalService":         {Group: "mycrd.com", Resource: "criticalservices", Verb: "delete"},
		"change a Service":                 {Resource: "services", Verb: "patch"},
		"change an EndpointSlice":          {Group: "discovery.k8s.io", Resource: "endpointslices", Verb: "update"},
		"change a PodTemplate":             {Resource: "podtemplates", Verb: "patch"},
		"delete many Pods at once":         {Resource: "pods", Verb: "deletecollection"},
		"run commands in a Pod":            {Resource: "pods", Subresource: "exec", Verb: "create"},
		"read the logs of a Pod":           {Resource: "pods", Subresource: "log", Verb: "get"},
		"read a Secret":                    {Resource: "secrets", Verb: "get"},
		"read a ConfigMap":                 {Resource: "configmaps", Verb: "get"},
		"change a Deployment":              {Group: "apps", Resource: "deployments", Verb: "patch"},
		"take a lease in another place":    {Group: "coordination.k8s.io", Resource: "leases", Verb: "create", Namespace: "default"},
		"take the lease of somebody else":  {Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Namespace: testenv.OperatorNamespace, Name: "other"},
		"give itself more permissions":     {Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Verb: "escalate"},
		"act in the name of somebody else": {Resource: "users", Verb: "impersonate"},
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
