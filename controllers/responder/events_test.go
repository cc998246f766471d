package responder

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/internal/controller/events"
)

// recorded are events, each as "Reason about Kind namespace/name".
type recorded []string

// Eventf implements events.EventRecorder.
func (r *recorded) Eventf(regarding, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	about := regarding.(*corev1.ObjectReference)
	*r = append(*r, fmt.Sprintf("%s about %s %s/%s", reason, about.Kind, about.Namespace, about.Name))
}

func TestATeamHearsNothingOfOtherNamespaces(t *testing.T) {
	g := NewWithT(t)
	sent := &recorded{}
	r := &Reconciler{Emitter: events.Emitter{Recorder: sent}}
	owners := []metav1.OwnerReference{{Kind: criticalv2.CriticalServiceKind.Kind, Name: "shop"}, {Kind: criticalv2.ServiceFallbackKind.Kind, Name: "web"}}
	snap := &decide.Snapshot{Namespace: "shop"}

	r.reportWait(snap, decide.Plan{Owners: owners, Wait: &decide.Wait{For: []string{"bank"}}})
	g.Expect(*sent).To(Equal(recorded{"ResponderRolloutWaits about CriticalService /shop"}))
	*sent = nil
	r.warnOwners(snap, decide.Plan{Owners: owners}, eventImageUnknown, "It is not known.")
	g.Expect(*sent).To(Equal(recorded{"ResponderImageUnknown about CriticalService /shop", "ResponderImageUnknown about ServiceFallback shop/web"}))
}
