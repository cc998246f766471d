package provision

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

func TestACreateIsRefusedOnlyByAPodOfAnother(t *testing.T) {
	exists := apierrors.NewAlreadyExists(corev1.Resource("pods"), "service-watcher-web")
	ours := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "service-watcher-web",
		Labels: map[string]string{criticalv2.LabelFallbackFor: "web"}, Annotations: map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned},
	}}
	theirs, unlabelled, ending, another := ours.DeepCopy(), ours.DeepCopy(), ours.DeepCopy(), ours.DeepCopy()
	another.Labels = map[string]string{criticalv2.LabelFallbackFor: "api"}
	theirs.Labels, theirs.Annotations = nil, nil
	unlabelled.Labels, unlabelled.OwnerReferences = nil, []metav1.OwnerReference{{
		APIVersion: criticalv2.GroupVersion.String(), Kind: criticalv2.CriticalServiceKind.Kind, Name: "shop", UID: "1", Controller: new(true),
	}}
	ending.DeletionTimestamp, ending.Finalizers = new(metav1.Now()), []string{"example.com/keep"}
	for name, test := range map[string]struct {
		holder *corev1.Pod
		err    error
		want   types.GomegaMatcher
	}{
		"a create that succeeds":                         {nil, nil, Succeed()},
		"a fallback whose event comes late":              {ours, exists, Succeed()},
		"a Pod of a user":                                {theirs, exists, MatchError(exists)},
		"a fallback that no watch shows without a label": {unlabelled, exists, MatchError(exists)},
		"a fallback of another Service":                  {another, exists, MatchError(exists)},
		"a fallback that is about to end":                {ending, exists, MatchError(exists)},
		"a Pod that is gone again":                       {nil, exists, MatchError(ContainSubstring("is gone"))},
		"another error":                                  {ours, errors.New("timeout"), MatchError("timeout")},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{Observer: observe.Observer{Live: holding(test.holder)}}
			NewWithT(t).Expect(r.unlessOurs(t.Context(), ours, test.err)).To(test.want)
		})
	}
}

// What is not remembered is asked again a second later, and for ever where the answer stays the same.
func TestTheAnswerToACreateIsRemembered(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "service-watcher-web"}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	denied := apierrors.NewForbidden(corev1.Resource("pods"), pod.Name, errors.New("exceeded quota"))
	ending := apierrors.NewForbidden(corev1.Resource("pods"), pod.Name, errors.New("it is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for sentence, test := range map[string]struct {
		err      error
		isAnswer bool
		reason   string
		refusals int
	}{
		"the Pod is accepted":                    {nil, true, "", 0},
		"the Pod is denied":                      {denied, true, criticalv2.ReasonCreateDenied, 2},
		"another Pod has the name":               {apierrors.NewAlreadyExists(corev1.Resource("pods"), pod.Name), true, criticalv2.ReasonNameTaken, 2},
		"the namespace is being deleted":         {ending, true, "", 2},
		"the connection broke, so there is none": {errors.New("EOF"), false, "", 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			observer, _ := observetest.Of(t, service)
			r, key := &Reconciler{Observer: observer}, client.ObjectKeyFromObject(service)
			before := decide.Attempt{Hash: render.Hash(pod), Refusals: 1}
			r.Memory.Judgements.Set(key, summary.Judgement{})
			r.Memory.Attempts.Set(key, before)
			g.Expect(r.record(&decide.Snapshot{Service: service, Attempt: &before}, pod, false, test.err)).To(Equal(test.isAnswer))
			after := r.Memory.Attempts.Get(key)
			g.Expect(after.Reason).To(Equal(test.reason))
			g.Expect(after.Refusals).To(Equal(test.refusals))
		})
	}
}

// Each answer wakes the Service: one that is nothing new would do so again and again, as long as the event of the Pod is late.
func TestAPodThatWasMadeIsReportedOnce(t *testing.T) {
	g := NewWithT(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "service-watcher-web",
		Labels: map[string]string{criticalv2.LabelFallbackFor: "web"}, Annotations: map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned},
	}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	key := client.ObjectKeyFromObject(service)
	observer, stored := observetest.Of(t, service)
	observer.Live = stored
	r := &Reconciler{Observer: observer, Client: stored, creates: newPlaces(1, time.Minute, "")}
	r.Memory.Judgements.Set(key, summary.Judgement{})

	var made, again outcome
	g.Expect(r.create(t.Context(), &decide.Snapshot{Service: service}, pod, &made)).To(Succeed())
	g.Expect(made.created).NotTo(BeNil())
	snap := &decide.Snapshot{Service: service, Attempt: r.Memory.Attempts.Get(key)}
	g.Expect(r.create(t.Context(), snap, pod, &again)).To(MatchError(ContainSubstring("not in the cache yet")))
	g.Expect(again).To(Equal(outcome{}))

	g.Expect(stored.Delete(t.Context(), pod)).To(Succeed())
	g.Expect(r.create(t.Context(), snap, pod, &again)).To(Succeed())
	g.Expect(again.created).NotTo(BeNil(), "one that a user deleted is made again")
}
