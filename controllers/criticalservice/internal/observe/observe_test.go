package observe_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

func service() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}}
}

// Several controllers observe a Service: if observing changed what is remembered, it
// would change what another one decides.
func TestObservingChangesNothingThatIsRemembered(t *testing.T) {
	nameTaken := decide.Attempt{Reason: criticalv2.ReasonNameTaken}
	fallbackName := (&decide.Snapshot{Service: service()}).PodName()
	theirs := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: fallbackName, UID: "theirs"}}

	t.Run("the name is free", func(t *testing.T) {
		g := NewWithT(t)
		observer, all := observetest.Of(t, service())
		observer.Live = all
		observer.Memory.Attempts.Set(web, nameTaken)
		snap, err := observer.Observe(t.Context(), web)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(snap.Attempt).To(BeNil(), "the answer is out of date")
		g.Expect(observer.Memory.Attempts.Get(web)).To(Equal(&nameTaken))
	})

	t.Run("another Pod has the name", func(t *testing.T) {
		g := NewWithT(t)
		observer, all := observetest.Of(t, service(), theirs)
		observer.Live = all
		observer.Memory.Attempts.Set(web, nameTaken)
		snap, err := observer.Observe(t.Context(), web)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(snap.Attempt).To(Equal(&nameTaken))
		g.Expect(snap.NameConflict.UID).To(Equal(theirs.UID))
		g.Expect(observer.Memory.NameConflicts.Get(web)).To(BeNil())
	})
}

func TestALookAtCachesUsesWhatIsRemembered(t *testing.T) {
	g := NewWithT(t)
	observer, _ := observetest.Of(t, service())
	observer.Memory.NameConflicts.Set(web, corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "theirs"}})
	snap, err := observer.ObserveCached(t.Context(), web)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(snap.NameConflict.UID).To(Equal(types.UID("theirs")))
}
