package stories_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Every user of a namespace can write PodTemplates. What they write must not fill the
// operator's memory, be it named or not.
func TestCachesDoNotGrowWithThePodTemplatesOfOthers(t *testing.T) {
	w := alone(t) // Others would use memory meanwhile.
	large := strings.Repeat("x", 1_000_000)
	for i := range 100 {
		template := newTemplate(types.NamespacedName{Namespace: w.Namespace, Name: fmt.Sprintf("large-%d", i)})
		template.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LARGE", Value: large}}
		template.Annotations = map[string]string{"example.com/large": large[:200_000]}
		w.Create(template)
	}
	before := heap()
	w.start(w.confined(standard))
	policy := w.policy("storefront", func(p *criticalv2.CriticalService) {
		p.Spec.Fallback.PodTemplate.Namespace, p.Spec.Fallback.PodTemplate.Name = w.Namespace, "large-0"
	})
	service, _ := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(HaveSuffix("/TemplateNotFound"))
	w.Expect(w.detailOf(policy, service).Message).To(ContainSubstring("has more than 64 KiB"))
	w.settle()
	w.Expect(heap()-before).To(BeNumerically("<", 10), "MiB")
}

// heap is how many MiB are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // What the first one only prepares for.
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc >> 20)
}
