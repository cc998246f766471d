package testenv

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestAReadIsRepeatedOnlyIfTheAPIServerGaveNoAnswer(t *testing.T) {
	for name, of := range map[string]struct {
		err   error
		reads int
	}{
		"it was answered":         {nil, 1},
		"the answer is a refusal": {apierrors.NewNotFound(corev1.Resource("pods"), "p"), 1},
		"its stream was reset":    {errors.New("stream error: stream ID 7; INTERNAL_ERROR; received from peer"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			read := func() error { reads++; return of.err }
			admin := readsAgain(interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return read()
				},
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return read() },
			}))
			for kind, got := range map[string]func() error{
				"object": func() error { return admin.Get(t.Context(), client.ObjectKey{Name: "p"}, &corev1.Pod{}) },
				"list":   func() error { return admin.List(t.Context(), &corev1.PodList{}) },
			} {
				reads = 0
				if err := got(); !errors.Is(err, of.err) || reads != of.reads {
					t.Errorf("%s: %v after %d reads, want %v after %d", kind, err, reads, of.err, of.reads)
				}
			}
		})
	}
}
