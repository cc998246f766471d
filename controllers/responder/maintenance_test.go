package responder_test

import (
	"testing"

	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

func TestAMaintenanceReachesTheTable(t *testing.T) {
	w := newWorld(t)
	w.start(standard)
	_, slice := w.critical("web", criticalv2.PageFallback{Message: "Soon."})
	w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http"}))
	w.current().Settled(w.World)

	announced := func() *criticalv2.Announcement { return w.table().Listeners[0].Maintenance }
	testenv.Update(w.World, slice, func(s *discoveryv1.EndpointSlice) {
		s.Annotations[criticalv2.AnnotationMaintenance] = `{"message":"We move house."}`
	})
	w.Eventually(announced).Should(HaveValue(HaveField("Message", "We move house.")))
	w.Expect(w.table().Listeners[0].Page.Message).To(Equal("Soon."), "the page waits until it is over")
	testenv.Update(w.World, slice, func(s *discoveryv1.EndpointSlice) { delete(s.Annotations, criticalv2.AnnotationMaintenance) })
	w.Eventually(announced).Should(BeNil())
	w.Expect(w.numbers()).To(Equal([]string{"20000 web/http"}))
}
