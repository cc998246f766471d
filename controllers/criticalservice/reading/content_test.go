package reading

import (
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
)

// contentExample is the content of a page, with the time of an announcement as its text.
var contentExample = example{
	fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{ConfigMapName: ours.Name}},
	object: func(text string, n int) client.Object {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderContent}},
			Data:       map[string]string{"eta": text, "n.txt": strconv.Itoa(n)},
		}
	},
	one:    version{text: "soon", seen: ConsistOf(HaveField("Key", "eta"))},
	two:    version{text: "2030-01-31T18:30:00Z", seen: BeEmpty()},
	reader: func(r *Readers) anyReader { return r.contents },
	keys:   func(known *memory.Memory) []memory.ObjectKey { return known.Contents.Keys() },
	seen:   func(snap *decide.Snapshot) (any, bool) { return snap.Content.Problems, snap.Content.Judged },
}

// It may have waited for the judgement, whatever it is.
func TestContentThatWasJudgedWakesTheStatus(t *testing.T) {
	w := newWorld(t, contentExample)
	status, statuses := wake.NewStatus(w.Memory), newQueue(t)
	w.Readers = New(w.Observer, status)
	w.Memory.Judgements.Set(web, summary.Judgement{Service: web, Matching: []summary.Policy{{Key: types.NamespacedName{Name: "storefront"}}}})
	w.write(w.two.text)
	w.look()
	w.Expect(status.Start(t.Context(), statuses)).To(Succeed())
	w.Eventually(statuses.Len).WithTimeout(time.Minute).Should(Equal(1))
	w.Expect(taken(statuses)).To(ConsistOf(types.NamespacedName{Name: "storefront"}))
}
