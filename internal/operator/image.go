package operator

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/operator/await"
	"github.com/critical-service/operator/internal/operator/settings"
)

const (
	// managerContainer is the container that runs the operator, in config/manager.
	managerContainer = "manager"

	imageUnknown = "the image of the responder is not known: set RESPONDER_IMAGE to that of the operator"
)

// +kubebuilder:rbac:groups="",namespace=critical-service-system,resources=pods,verbs=get

// responderImage is the image of responders: the one that is set, or that of the
// operator's own Pod, which contains both programs. If neither is known, it is
// empty, and the fallbacks that need no responder still work.
func responderImage(ctx context.Context, config *rest.Config, s *settings.Settings) (string, error) {
	if s.ResponderImage != "" {
		return s.ResponderImage, nil
	}
	if s.PodName == "" {
		ctrl.Log.Info("no page fallbacks outside of a Pod: " + imageUnknown)
		return "", nil
	}
	reader, err := client.New(await.WithTimeout(config), client.Options{})
	if err != nil {
		return "", fmt.Errorf("make a client to read the operator's own Pod: %w", err)
	}
	key := types.NamespacedName{Namespace: s.OperatorNamespace, Name: s.PodName}
	var pod corev1.Pod
	err = await.Answer(ctx, config, func() error {
		err := reader.Get(ctx, key, &pod)
		if !fault.IsDecided(err) {
			return err
		}
		ctrl.Log.Error(err, "read the operator's own Pod; no page fallbacks: "+imageUnknown, "pod", key)
		return nil
	})
	return imageOf(&pod), err
}

func imageOf(pod *corev1.Pod) string {
	at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == managerContainer })
	if at < 0 {
		return ""
	}
	return pod.Spec.Containers[at].Image
}
