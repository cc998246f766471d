package operator_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
)

// apply applies an object by server-side apply.
func (w *world) apply(object client.Object, manager, version, spec string) error {
	manifest := fmt.Sprintf(`{"apiVersion":"mycrd.com/%s","kind":"CriticalService","metadata":{"name":%q},"spec":%s}`, version, object.GetName(), spec)
	return admin.Patch(w.t.Context(), object, client.RawPatch(types.ApplyPatchType, []byte(manifest)), client.FieldOwner(manager), client.ForceOwnership)
}

// Where a manager has applied v1, the API server converts what another one applies
// in v2, before it validates that.
func TestWhatIsAppliedAndNotValidIsRejectedAsSuch(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	w.start()
	named := metav1.ObjectMeta{Name: "both"}
	w.Eventually(func() error {
		return w.apply(&criticalv1.CriticalService{ObjectMeta: named}, "old", "v1", `{"matchLabels":[{"key":"role","value":"frontend"}]}`)
	}).Should(Succeed())
	for sentence, test := range map[string]struct{ rest, reason string }{
		"a rule that is broken":        {`"fallback":{"page":{},"service":{"name":"backup"}}`, "exactly one of page, podTemplate and service"},
		"a text that is no duration":   {`"activationDelay":"soon"`, "activationDelay must be a duration"},
		"a number that is too large":   {`"fallback":{"page":{"statusCode":99999999999}}`, "spec.fallback.page.statusCode"},
		"a number that is not a whole": {`"fallback":{"page":{"statusCode":500.5}}`, "spec.fallback.page.statusCode"},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := w.apply(&criticalv2.CriticalService{ObjectMeta: named}, "new", "v2", `{"serviceSelector":{"matchLabels":{"role":"backend"}},`+test.rest+`}`)
			NewWithT(t).Expect(err).To(And(Satisfy(apierrors.IsInvalid), MatchError(ContainSubstring(test.reason))))
		})
	}
}
