package fault_test

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/critical-service/operator/internal/controller/fault"
)

func TestARefusalSaysWhatToDo(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for sentence, c := range map[string]struct {
		err  error
		want string
	}{
		"a quota is used up": {
			apierrors.NewForbidden(pods, "shop", errors.New("exceeded quota: small, requested: pods=1")),
			`pods "shop" is forbidden: exceeded quota: small, requested: pods=1. Raise the quota, or ask for less.`,
		},
		"a webhook fails": {
			apierrors.NewInternalError(errors.New(`failed calling webhook "policy"`)),
			`Internal error occurred: failed calling webhook "policy". It is retried: if it stays so, see why the API server or an admission webhook fails.`,
		},
		"a webhook refuses, and mentions a quota": {
			apierrors.NewBadRequest("exceeded quota of the team."), "exceeded quota of the team. Ask the team.",
		},
		"it may not be written": {
			apierrors.NewForbidden(pods, "shop", errors.New("no")), `pods "shop" is forbidden: no. Ask the team.`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(fault.Refusal(c.err, "Ask the team.")).To(Equal(c.want))
		})
	}
	long := fault.Refusal(apierrors.NewBadRequest(strings.Repeat("x", 5000)), "Ask the team.")
	NewWithT(t).Expect(len(long)).To(BeNumerically("<", 750))
	NewWithT(t).Expect(long).To(HaveSuffix(" Ask the team."))
}
