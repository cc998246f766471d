package policies_test

import (
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/critical-service/operator/workloads/internal/operator"
)

// What the roles do not grant takes no policy.
func TestTheOperatorMayNot(t *testing.T) {
	const team = "default"
	thief := stolen(NewWithT(t))
	for name, action := range map[string]authorizationv1.ResourceAttributes{
		"run commands in a Pod":           {Resource: "pods", Subresource: "exec", Verb: "create", Namespace: team},
		"read the logs of a Pod":          {Resource: "pods", Subresource: "log", Verb: "get", Namespace: team},
		"write the status of a Pod":       {Resource: "pods", Subresource: "status", Verb: "patch", Namespace: team},
		"put a container into a Pod":      {Resource: "pods", Subresource: "ephemeralcontainers", Verb: "patch", Namespace: team},
		"delete many Pods at once":        {Resource: "pods", Verb: "deletecollection", Namespace: team},
		"list the Secrets of a namespace": {Resource: "secrets", Verb: "list", Namespace: team},
		"watch Secrets":                   {Resource: "secrets", Verb: "watch"},
		"delete a Secret":                 {Resource: "secrets", Verb: "delete", Namespace: team},
		"list the Secrets of its own":     {Resource: "secrets", Verb: "list", Namespace: operator.Namespace},
		"delete a claim":                  {Resource: "persistentvolumeclaims", Verb: "delete", Namespace: team},
		"delete a volume":                 {Resource: "persistentvolumes", Verb: "delete"},
		"delete a Service":                {Resource: "services", Verb: "delete", Namespace: team},
		"delete a Deployment":             {Group: "apps", Resource: "deployments", Verb: "delete", Namespace: team},
		"delete a StatefulSet":            {Group: "apps", Resource: "statefulsets", Verb: "delete", Namespace: team},
		"scale a StatefulSet":             {Group: "apps", Resource: "statefulsets", Subresource: "scale", Verb: "patch", Namespace: team},
		"make a DaemonSet":                {Group: "apps", Resource: "daemonsets", Verb: "create", Namespace: team},
		"make a Job":                      {Group: "batch", Resource: "jobs", Verb: "create", Namespace: team},
		"make a namespace":                {Resource: "namespaces", Verb: "create"},
		"make a token of an account":      {Resource: "serviceaccounts", Subresource: "token", Verb: "create", Namespace: team},
		"make an account":                 {Resource: "serviceaccounts", Verb: "create", Namespace: team},
		"permit itself more":              {Group: "rbac.authorization.k8s.io", Resource: "rolebindings", Verb: "create", Namespace: team},
		"give itself more permissions":    {Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Verb: "escalate"},
		"act in the name of another user": {Resource: "users", Verb: "impersonate"},
		"sign a certificate":              {Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Verb: "create"},
		"publish an address":              {Group: "discovery.k8s.io", Resource: "endpointslices", Verb: "create", Namespace: team},
		"change a webhook":                {Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations", Verb: "patch"},
		"take a policy away":              {Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicybindings", Verb: "delete"},
		"change a definition of others":   {Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Verb: "patch", Name: "databases.mycrd.com"},
		"delete its definition":           {Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Verb: "delete", Name: "appconfigs.mycrd.com"},
		"change an APIService of others":  {Group: "apiregistration.k8s.io", Resource: "apiservices", Verb: "patch", Name: "v1beta1.metrics.k8s.io"},
		"make an APIService":              {Group: "apiregistration.k8s.io", Resource: "apiservices", Verb: "create"},
		"delete a Database":               {Group: "mycrd.com", Resource: "databases", Verb: "delete", Namespace: team},
		"delete an ETCDInstance":          {Group: "mycrd.com", Resource: "etcdinstances", Verb: "delete", Namespace: team},
		"make an ETCDInstance":            {Group: "mycrd.com", Resource: "etcdinstances", Verb: "create", Namespace: team},
		"read a snapshot":                 {Group: "subresources.mycrd.com", Resource: "etcdinstances", Subresource: "backup", Verb: "get", Namespace: team},
		"change a WebApp":                 {Group: "mycrd.com", Resource: "webapps", Verb: "patch", Namespace: team},
		"change an AppConfig":             {Group: "mycrd.com", Resource: "appconfigs", Verb: "patch", Namespace: team},
		"change a CriticalService":        {Group: "mycrd.com", Resource: "criticalservices", Verb: "patch"},
		"delete an Ingress":               {Group: "networking.k8s.io", Resource: "ingresses", Verb: "delete", Namespace: team},
		"take a lease in another place":   {Group: "coordination.k8s.io", Resource: "leases", Verb: "create", Namespace: team},
		"take the lease of another user":  {Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Namespace: operator.Namespace, Name: "other"},
		"reach into a Pod by the server":  {Resource: "pods", Subresource: "proxy", Verb: "get", Namespace: team},
		"reach a node by the API server":  {Resource: "nodes", Subresource: "proxy", Verb: "get"},
		"evict a Pod":                     {Resource: "pods", Subresource: "eviction", Verb: "create", Namespace: team},
	} {
		t.Run(name, func(t *testing.T) {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &action}}
			NewWithT(t).Expect(thief.Create(t.Context(), review)).To(Succeed())
			NewWithT(t).Expect(review.Status.Allowed).To(BeFalse())
		})
	}
}
