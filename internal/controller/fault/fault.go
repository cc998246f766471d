// Package fault sorts errors by what has to happen next, in one place, so that
// every controller treats the same failure the same way.
package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Class says what has to happen after an error.
type Class string

const (
	// None is the class of no error.
	None Class = "None"
	// Gone: the object, or its namespace, is no longer there. Nothing is to be
	// done; a watch shows if it comes back.
	Gone Class = "Gone"
	// Retry: the same again may succeed, after a back-off.
	Retry Class = "Retry"
	// Wait: it is known when to retry.
	Wait Class = "Wait"
	// UserMustAct: the API server refuses for good, until a person changes
	// something: a quota, a permission, an object.
	UserMustAct Class = "UserMustAct"
	// Bug: the operator did something that cannot work.
	Bug Class = "Bug"
)

// CacheBehind is when to retry where the cache does not show yet what the API server has, also after a write to an object
// that has changed meanwhile. It is no error: the cache is not behind for long. Where the object is watched, its news wakes
// the controller sooner, and a retry before that would meet the same.
const CacheBehind = time.Second

// stopWait is when to retry what was cancelled: that is how an operator that stops ends what is under way. It is no error
// then, and never retried.
const stopWait = 200 * time.Millisecond

// Of is the class of an error.
func Of(err error) Class {
	var wait *waitError
	var bug *bugError
	switch {
	case err == nil:
		return None
	case errors.As(err, &wait):
		return Wait
	case errors.As(err, &bug):
		return Bug
	case apierrors.IsNotFound(err), apierrors.IsGone(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return Gone
	case delayOf(err) > 0:
		return Wait
	case refused(err):
		return UserMustAct
	default:
		return Retry
	}
}

// Result turns an error into what a reconciler returns.
func Result(err error) (ctrl.Result, error) {
	switch Of(err) {
	case None, Gone:
		return ctrl.Result{}, nil
	case Wait:
		return ctrl.Result{RequeueAfter: delayOf(err)}, nil
	case Bug:
		return ctrl.Result{}, reconcile.TerminalError(err)
	default:
		return ctrl.Result{}, err
	}
}

// Join joins the failures of independent steps into one error that has the class
// of the most pressing: what is gone is left out, and what can wait is left out
// beside what cannot.
func Join(failures ...error) error {
	var pressing, waiting []error
	for _, err := range failures {
		switch Of(err) {
		case None, Gone:
		case Wait:
			waiting = append(waiting, err)
		default:
			pressing = append(pressing, err)
		}
	}
	if len(pressing) > 0 {
		return errors.Join(pressing...)
	}
	// The first one that ends is found first.
	slices.SortStableFunc(waiting, func(a, b error) int { return cmp.Compare(delayOf(a), delayOf(b)) })
	return errors.Join(waiting...)
}

// refused reports whether the API server answered that the request itself is not
// acceptable. Answers that may differ a moment later are not refusals: a name in use,
// a time-out, too many requests, an expired token.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case 401, 408, 409, 410, 429:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// IsDecided reports whether an error is what the API server has decided about a
// request. No connection, a time-out, an overloaded server and one that does not
// reach its storage decide nothing.
func IsDecided(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case 408, 429:
		return false
	default:
		return code < 500
	}
}

// IsServerFailure reports whether the API server, or an admission webhook that it
// asked, failed to answer a request: it may pass, but a person should know.
func IsServerFailure(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= 500 && delayOf(err) == 0
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// IsRefusal reports whether the API server, or an admission webhook, rejected a write.
func IsRefusal(err error) bool { return Of(err) == UserMustAct || IsServerFailure(err) }

// IsDryRunUnsupported reports whether a dry run was refused because an admission
// webhook has side effects. The API server gives this no reason of its own, only
// a text (k8s.io/apiserver, webhook errors, NewDryRunUnsupportedErr).
func IsDryRunUnsupported(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

func delayOf(err error) time.Duration {
	if wait, ok := errors.AsType[*waitError](err); ok {
		return wait.after
	}
	if apierrors.IsConflict(err) {
		return CacheBehind
	}
	if errors.Is(err, context.Canceled) {
		return stopWait
	}
	if seconds, suggested := apierrors.SuggestsClientDelay(err); suggested {
		return time.Duration(seconds) * time.Second
	}
	return 0
}

type waitError struct {
	after  time.Duration
	reason string
}

func (e *waitError) Error() string { return fmt.Sprintf("%s; retrying in %s", e.reason, e.after) }

// WaitFor is an error that says when to retry, and why not now.
func WaitFor(after time.Duration, reason string) error {
	return &waitError{after: after, reason: reason}
}

type bugError struct{ cause error }

func (e *bugError) Error() string { return "bug in the operator, please report it: " + e.cause.Error() }
func (e *bugError) Unwrap() error { return e.cause }

// BugFrom marks an error as one that the operator itself caused.
func BugFrom(err error) error {
	if err == nil {
		return nil
	}
	return &bugError{cause: err}
}
