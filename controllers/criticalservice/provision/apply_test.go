package provision

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
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
