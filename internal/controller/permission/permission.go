// Package permission asks the API server what the operator itself may do, for what a
// user may leave out of its roles.
package permission

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// Rule is some verbs of one resource.
type Rule struct {
	Group, Resource string
	Verbs           []string
}

// Granted reports whether the operator has all that rules say, in all of some namespaces;
// none is the whole cluster. No permission is needed to ask.
func Granted(ctx context.Context, config *rest.Config, namespaces []string, rules ...Rule) (bool, error) {
	api, err := authorizationv1client.NewForConfig(config)
	if err != nil {
		return false, fmt.Errorf("ask what the operator may do: %w", err)
	}
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		for _, rule := range rules {
			for _, verb := range rule.Verbs {
				review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: rule.Group, Resource: rule.Resource,
					},
				}}
				answer, err := api.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
				if err != nil {
					return false, fmt.Errorf("ask whether the operator may %s %s: %w", verb, rule.Resource, err)
				}
				if !answer.Status.Allowed {
					return false, nil
				}
			}
		}
	}
	return true, nil
}
