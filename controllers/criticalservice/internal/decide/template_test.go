package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
)

// neighborUnread is a neighbor of which only that its template exists is known.
func neighborUnread(s *decide.Snapshot) {
	s.Unread = append(s.Unread, types.NamespacedName{Namespace: "web", Name: "of-a-neighbor"})
}

// After a start nothing is known of a template but that it exists.
func TestATemplateThatIsYetToBeRead(t *testing.T) {
	standing, onDemand := toPod(criticalv2.ActivationStandby), toPod(criticalv2.ActivationOnDemand)
	up, down := endpoints(ready("shop-1")), endpoints(notReady("shop-1"))
	tests := map[string]struct {
		given decide.Snapshot
		want  string
	}{
		"before an outage nothing is asked": {snapshot(up, templateUnread), "Arming/DryRunPending"},
		"in an outage no Pod can be made":   {snapshot(templateUnread), "Exposed/FallbackStarting"},
		"a Pod that answers goes on":        {snapshot(templateUnread, fallback(readyPod, fromOldTemplate), endpoints(ready(fallbackName))), "Covered/FallbackServing"},
		"a Pod that fails stays":            {snapshot(templateUnread, fallback(fromOldTemplate, waiting("ErrImagePull", ""))), "Exposed/FallbackFailing"},
		"a Pod that stands by goes on":      {snapshot(standing, slicePod(readyPod, fromOldTemplate), armed, templateUnread), "Armed/StandbyReady"},
		"a page that stood in for it stays, because the template may not be of use": {
			snapshot(noTemplate, responder(readyPod), armed, up, templateUnread), "Arming/DryRunPending",
		},
		"so does one in the place of a Pod that is published": {
			snapshot(onDemand, noTemplate, responder(readyPod), armed, templateUnread), "Arming/DryRunPending",
		},
		"a page that stands in for it answers in an outage": {
			snapshot(noTemplate, responder(readyPod), armed, down, published, templateUnread), "Covered/FallbackStarting",
		},
		"that of a neighbor may overlap": {snapshot(up, accepted, neighborUnread), "Arming/DryRunPending, recheck 9m0s"},
		"that of a neighbor does not delay a Pod": {
			snapshot(neighborUnread), "Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			note(test.given)
			plan := decide.Decide(test.given)
			g.Expect(story(plan)).To(Equal(test.want))
			g.Expect(plan.Provisional).To(BeTrue(), "what the status said before is the best that is known")
		})
	}
}

func TestATemplateThatIsTooLarge(t *testing.T) {
	up, down := endpoints(ready("shop-1")), endpoints(notReady("shop-1"))
	table{
		"a page stands in for it": {
			snapshot(up, tooLarge), "Arming/TemplateNotFound, publish shop-standby-ipv4[page], recheck 1m0s",
		},
		"a page answers in its place": {snapshot(tooLarge, responder(readyPod), armed, down, published), "Covered/TemplateNotFound"},
		"a Pod that was made before stays": {
			snapshot(tooLarge, fallback(readyPod), endpoints(ready(fallbackName))), "Covered/TemplateNotFound",
		},
	}.run(t)
	NewWithT(t).Expect(decide.Decide(snapshot(up, tooLarge)).Message).To(HavePrefix(
		"PodTemplate system/page has more than 64 KiB, or very many labels or ports, and is not used: move what is large into a ConfigMap that its Pods mount. The built-in page stands in for it."))
}
