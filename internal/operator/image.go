package operator

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/critical-service/operator/internal/operator/ownimage"
	"github.com/critical-service/operator/internal/operator/settings"
)

const imageUnknown = "the image of the responder is not known: set RESPONDER_IMAGE to that of the operator"

// +kubebuilder:rbac:groups="",namespace=critical-service-system,resources=pods,verbs=get

// responderImage is the image of responders: the one that is set, or that of the operator's own Pod,
// which contains both programs. If neither is known, it is empty, and the fallbacks that need no
// responder still work.
func responderImage(ctx context.Context, config *rest.Config, s *settings.Settings) (string, error) {
	if s.ResponderImage != "" {
		return s.ResponderImage, nil
	}
	return ownimage.Of(ctx, config, types.NamespacedName{Namespace: s.OperatorNamespace, Name: s.PodName}, "no page fallbacks: "+imageUnknown)
}
