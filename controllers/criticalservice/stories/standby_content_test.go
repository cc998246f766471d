package stories_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// toContent uses the ConfigMap "our-page" of the Service's namespace.
func toContent(p *criticalv2.CriticalService) {
	p.Spec.Fallback = criticalv2.Fallback{Page: &criticalv2.PageFallback{ConfigMapName: "our-page"}}
}

func (w *world) content(name string, data map[string]string) *corev1.ConfigMap {
	w.T.Helper()
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: w.Namespace, Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderContent},
		},
		Data: data,
	}
	w.Create(config)
	return config
}

// contentReads are how often content was read, each time one ConfigMap.
func (w *world) contentReads() int {
	return len(w.operator.Traffic.Requests(func(r testenv.Request) bool {
		return r.Resource() == "configmaps" && r.Query.Get("fieldSelector") == "metadata.name=our-page" && !r.Query.Has("watch")
	}))
}

func TestWhatIsWrongWithContentIsReportedUntilItIsFixed(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toContent)
	w.content("another", map[string]string{"503.txt": ""})
	content := w.content("our-page", map[string]string{"index.html": "<p>soon"})
	service, _ := w.armed(policy, "web")
	w.Expect(w.contentReads()).To(Equal(1))

	testenv.Update(w.World, content, func(c *corev1.ConfigMap) { c.Data["503.txt"] = "" })
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/PageContentInvalid"))
	w.Expect(w.detailOf(policy, service).Message).To(ContainSubstring(`key "503.txt"`))

	testenv.Update(w.World, content, func(c *corev1.ConfigMap) { delete(c.Data, "503.txt") })
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))

	w.Delete(content)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/PageContentInvalid"))
	w.Expect(w.detailOf(policy, service).Message).To(ContainSubstring("does not exist"))
}

// A new operator knows nothing of the content at first.
func TestTheStatusOfContentOutlivesTheOperator(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toContent)
	content := w.content("our-page", map[string]string{"503.txt": ""})
	service, _ := w.up("web")
	w.responder("responder-1")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/PageContentInvalid"))
	w.settle()
	before := w.detailOf(policy, service)

	w.stop()
	w.start(w.complete())
	w.Eventually(w.contentReads).Should(Equal(1))
	w.settle()
	w.Expect(w.detailOf(policy, service)).To(Equal(before))
	w.Expect(w.operator.Traffic.Requests(func(r testenv.Request) bool {
		return r.Writes() && r.Resource() == "criticalservices/status"
	})).To(BeEmpty())

	w.stop()
	testenv.Update(w.World, content, func(c *corev1.ConfigMap) { delete(c.Data, "503.txt") })
	w.start(w.complete())
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
}

func TestContentThatIsWrittenInALoopWakesNoService(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toContent)
	content := w.content("our-page", nil)
	service, _ := w.armed(policy, "web")
	w.settle()
	reconciles, reads := w.operator.Reconciles("service", service.Namespace, service.Name), w.contentReads()
	for i := range 20 {
		testenv.Update(w.World, content, func(c *corev1.ConfigMap) { c.Data = map[string]string{"n": fmt.Sprint(i)} })
	}
	w.Eventually(w.contentReads).Should(BeNumerically(">", reads))
	w.settle()
	w.Expect(w.operator.Reconciles("service", service.Namespace, service.Name)).To(BeNumerically("<", reconciles+20))
}
