package responder_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Every user of a namespace can write the label. What they write must not fill the
// operator's memory.
func TestCachesDoNotGrowWithWhatOthersWrite(t *testing.T) {
	w := newWorldAlone(t) // Others would use memory meanwhile.
	large := strings.Repeat("x", 1_000_000)
	for _, role := range []string{"anything", criticalv2.ResponderContent, criticalv2.ResponderListeners} {
		for i := range 50 {
			w.Create(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("%s-%d", role, i), Namespace: w.Namespace, Labels: map[string]string{criticalv2.LabelResponder: role},
				},
				Data: map[string]string{"index.html": large},
			})
		}
	}
	w.Create(w.named(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderListeners}},
		Data:       map[string]string{"index.html": large},
	}))
	before := heap()
	w.start(standard)
	w.look()
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
