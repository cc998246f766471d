package drill

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/installation"
	"github.com/critical-service/operator/internal/protection"
)

// survey is what a drill finds before it begins.
type survey struct {
	service corev1.Service
	// targets are the ports of the endpoints that stand by.
	targets []protection.Target
	// status is what the policy that governs the Service says of it; nil if none does.
	status *criticalv2.ServiceStatus
	// image is the operator's, and pullSecrets fetch it.
	image       string
	pullSecrets []corev1.LocalObjectReference
}

// newSurvey reads what a drill needs. An image that is given need not be found.
func newSurvey(ctx context.Context, reader client.Reader, name types.NamespacedName, image string) (*survey, error) {
	service, err := access.GetService(ctx, reader, name)
	if err != nil {
		return nil, err
	}
	s := &survey{service: *service}
	var slicesOfService discoveryv1.EndpointSliceList
	if err := reader.List(ctx, &slicesOfService, client.InNamespace(name.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: name.Name}); err != nil {
		return nil, err
	}
	s.targets = protection.Targets(&s.service, slicesOfService.Items)
	if s.status, err = access.StatusOf(ctx, reader, name); err != nil {
		return nil, err
	}
	if s.image = image; image == "" {
		s.image, s.pullSecrets, err = imageFor(ctx, reader, name.Namespace)
	}
	return s, err
}

// imageFor is the image that the prober Pod runs: that of the namespace's responder,
// which its nodes are likely to have, or else the operator's.
func imageFor(ctx context.Context, reader client.Reader, namespace string) (image string, secrets []corev1.LocalObjectReference, err error) {
	var responder appsv1.Deployment
	err = reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: criticalv2.ResponderName}, &responder)
	if err == nil && len(responder.Spec.Template.Spec.Containers) > 0 {
		return responder.Spec.Template.Spec.Containers[0].Image, responder.Spec.Template.Spec.ImagePullSecrets, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return "", nil, err
	}
	in, operators, err := installation.Find(ctx, reader)
	if err != nil {
		return "", nil, fmt.Errorf("the image of the prober Pod is not known, give it by --image: %w", err)
	}
	for i := range operators {
		if image := installation.Image(&operators[i]); image != "" {
			return image, nil, nil
		}
	}
	return "", nil, fmt.Errorf("the image of the prober Pod is not known: there is neither a responder in namespace %s nor a Deployment of the operator in namespace %s; give one by --image", namespace, in)
}
