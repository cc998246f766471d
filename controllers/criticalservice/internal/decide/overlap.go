package decide

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// Neighbor is another Service of the namespace whose fallback Pod carries the labels
// of its selector.
type Neighbor struct {
	Service  *corev1.Service
	Template *corev1.PodTemplate
}

// overlap says which port of the Service would be sent to the fallback Pod of another
// Service that does not listen there, because the Service selects it as well; it is
// empty where none would be.
func (s *Snapshot) overlap() string {
	for _, neighbor := range s.Neighbors {
		carried := labels.Merge(neighbor.Template.Template.Labels, neighbor.Service.Spec.Selector)
		if !labels.SelectorFromSet(s.Service.Spec.Selector).Matches(carried) {
			continue
		}
		for _, port := range required(s.Service) {
			if served, known := neighbor.serves(port); known && !served {
				return fmt.Sprintf("The Service selects the fallback Pod of Service %q as well, which does not listen on port %s: let PodTemplate %s/%s declare a containerPort for it, give the two Services selectors of their own, or set publish: EndpointSlice.",
					neighbor.Service.Name, render.PortText(port), neighbor.Template.Namespace, neighbor.Template.Name)
			}
		}
	}
	return ""
}

// serves reports whether the fallback Pod of the neighbor would get and answer requests
// to a port. A named target port that the Pod lacks gets none; then it is not known.
func (n *Neighbor) serves(port corev1.ServicePort) (served, known bool) {
	target := render.TargetPort(port)
	if target.Type == intstr.String {
		return false, false
	}
	return render.MayListen(&n.Template.Template.Spec, target.IntVal, port.Protocol), true
}
