package testenv

import (
	"context"

	"github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Follow lets see have each object of a kind in the world as it is, and then each of its changes until the context ends;
// what it returns waits for that. A watch that a busy API server ends begins again where it ended: otherwise what the
// operator did meanwhile would be missing. Objects without a namespace are those of all worlds.
func (w *World) Follow(ctx context.Context, list client.ObjectList, see func(watch.Event), options ...client.ListOption) func() {
	w.T.Helper()
	options = append(options, client.InNamespace(w.Namespace))
	w.Expect(w.Cluster.Client.List(ctx, list, options...)).To(gomega.Succeed())
	w.Expect(apimeta.EachListItem(list, func(object runtime.Object) error {
		see(watch.Event{Type: watch.Added, Object: object})
		return nil
	})).To(gomega.Succeed())
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return w.Cluster.Client.Watch(ctx, list, append([]client.ListOption{&client.ListOptions{Raw: &raw}}, options...)...)
		},
	})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watcher.ResultChan() {
			if event.Type == watch.Error {
				w.T.Errorf("a watch ended for good: %v", event.Object)
			}
			see(event)
		}
	}()
	return func() { <-ended }
}
