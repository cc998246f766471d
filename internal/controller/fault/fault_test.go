package fault_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/critical-service/operator/internal/controller/fault"
)

var pods = schema.GroupResource{Resource: "pods"}

func terminatingNamespace() error {
	err := apierrors.NewForbidden(pods, "x", errors.New("namespace is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

func TestOf(t *testing.T) {
	tests := map[string]struct {
		err  error
		want fault.Class
	}{
		"no error is no fault":                               {nil, fault.None},
		"an object that is not there is gone":                {apierrors.NewNotFound(pods, "x"), fault.Gone},
		"a namespace that is ending takes its objects along": {terminatingNamespace(), fault.Gone},
		"a quota is for a person to raise":                   {apierrors.NewForbidden(pods, "x", errors.New("exceeded quota")), fault.UserMustAct},
		"an object that is not valid is for a person to fix": {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x", nil), fault.UserMustAct},
		"a webhook may refuse with any code of its own":      {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 418}}, fault.UserMustAct},
		"a wrapped refusal is a refusal":                     {fmt.Errorf("create: %w", apierrors.NewBadRequest("x")), fault.UserMustAct},
		"a conflict is waited for, and not an error":         {apierrors.NewConflict(pods, "x", nil), fault.Wait},
		"what a stop has cancelled is not an error":          {fmt.Errorf("get: %w", context.Canceled), fault.Wait},
		"a name in use passes":                               {apierrors.NewAlreadyExists(pods, "x"), fault.Retry},
		"an expired token passes":                            {apierrors.NewUnauthorized("x"), fault.Retry},
		"a server that fails passes":                         {apierrors.NewInternalError(errors.New("x")), fault.Retry},
		"a broken connection passes":                         {errors.New("connection refused"), fault.Retry},
		"a server that names a delay is waited for":          {apierrors.NewTooManyRequests("x", 3), fault.Wait},
		"what says when to retry is waited for":              {fault.WaitFor(time.Second, "x"), fault.Wait},
		"what we did wrong is a bug":                         {fault.BugFrom(errors.New("x")), fault.Bug},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(fault.Of(test.err)).To(Equal(test.want))
		})
	}
}

func TestResult(t *testing.T) {
	g := NewWithT(t)

	result, err := fault.Result(apierrors.NewNotFound(pods, "x"))
	g.Expect(result.RequeueAfter, err).To(BeZero(), "what is gone is not looked for")

	result, err = fault.Result(apierrors.NewTooManyRequests("x", 3))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(3 * time.Second))

	result, err = fault.Result(apierrors.NewConflict(pods, "x", nil))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(time.Second), "its news may be late")

	_, err = fault.Result(fault.BugFrom(errors.New("x")))
	g.Expect(errors.Is(err, reconcile.TerminalError(nil))).To(BeTrue(), "a bug is not retried for ever")

	_, err = fault.Result(&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusServiceUnavailable}})
	g.Expect(err).To(HaveOccurred(), "the queue backs off")
}

func TestJoin(t *testing.T) {
	gone, wait := apierrors.NewNotFound(pods, "x"), fault.WaitFor(time.Second, "x")
	broken := errors.New("connection refused")
	tests := map[string]struct {
		failures []error
		want     fault.Class
	}{
		"nothing failed":                             {[]error{nil, nil}, fault.None},
		"what is gone hides nothing":                 {[]error{gone, broken}, fault.Retry},
		"what is gone alone is no failure":           {[]error{gone}, fault.None},
		"what can wait does not hold up what cannot": {[]error{wait, broken}, fault.Retry},
		"what can wait, waits":                       {[]error{wait, gone}, fault.Wait},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(fault.Of(fault.Join(test.failures...))).To(Equal(test.want))
		})
	}
}

func TestIsServerFailure(t *testing.T) {
	g := NewWithT(t)
	g.Expect(fault.IsServerFailure(apierrors.NewInternalError(errors.New("failed calling webhook")))).To(BeTrue())
	g.Expect(fault.IsServerFailure(fmt.Errorf("create: %w", context.DeadlineExceeded))).To(BeTrue())
	g.Expect(fault.IsServerFailure(apierrors.NewServerTimeout(pods, "create", 1))).To(BeFalse(), "it says when to come back")
	g.Expect(fault.IsServerFailure(apierrors.NewConflict(pods, "x", nil))).To(BeFalse())
	g.Expect(fault.IsServerFailure(errors.New("connection refused"))).To(BeFalse(), "there was no answer at all")
}

func TestIsDecided(t *testing.T) {
	g := NewWithT(t)
	g.Expect(fault.IsDecided(fmt.Errorf("read: %w", apierrors.NewNotFound(pods, "x")))).To(BeTrue())
	g.Expect(fault.IsDecided(apierrors.NewForbidden(pods, "x", nil))).To(BeTrue())
	g.Expect(fault.IsDecided(apierrors.NewInternalError(errors.New("etcdserver: request timed out")))).To(BeFalse())
	g.Expect(fault.IsDecided(apierrors.NewTooManyRequests("later", 1))).To(BeFalse())
	g.Expect(fault.IsDecided(apierrors.NewGenericServerResponse(http.StatusRequestTimeout, "get", pods, "x", "", 0, true))).To(BeFalse())
	g.Expect(fault.IsDecided(errors.New("connection refused"))).To(BeFalse())
	g.Expect(fault.IsDecided(nil)).To(BeFalse(), "an answer without an error is none")
}

func TestIsDryRunUnsupported(t *testing.T) {
	g := NewWithT(t)
	g.Expect(fault.IsDryRunUnsupported(apierrors.NewBadRequest(`admission webhook "x" does not support dry run`))).To(BeTrue())
	g.Expect(fault.IsDryRunUnsupported(apierrors.NewBadRequest("spec is not valid"))).To(BeFalse())
	g.Expect(fault.IsDryRunUnsupported(nil)).To(BeFalse())
}

// A step that can be retried soon does not wait for one that cannot.
func TestTheShortestWaitOfSeveralStepsHolds(t *testing.T) {
	g := NewWithT(t)
	result, err := fault.Result(fault.Join(fault.WaitFor(30*time.Second, "a name is taken"), fault.WaitFor(200*time.Millisecond, "a conflict")))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(200 * time.Millisecond))
}
