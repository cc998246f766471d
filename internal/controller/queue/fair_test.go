package queue_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/critical-service/operator/internal/controller/queue"
)

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func TestNoTeamWaitsForTheObjectsOfAnother(t *testing.T) {
	g := NewWithT(t)
	requests := queue.NewFair("", queue.Backoff[reconcile.Request](queue.LastRetry))
	defer requests.ShutDown()
	for i := range 10_000 {
		requests.Add(reconcile.Request{NamespacedName: key("many", fmt.Sprint(i))})
	}
	requests.Add(reconcile.Request{NamespacedName: key("few", "web")})
	requests.Add(reconcile.Request{NamespacedName: key("some", "a")})
	requests.Add(reconcile.Request{NamespacedName: key("some", "b")})
	g.Expect(requests.Len()).To(Equal(10_003))
	var namespaces []string
	for range 7 {
		request, _ := requests.Get()
		namespaces = append(namespaces, request.Namespace)
		requests.Done(request)
	}
	g.Expect(namespaces).To(Equal([]string{"many", "few", "some", "many", "some", "many", "many"}))
}

func TestEveryObjectThatWaitsIsWorkedOnOnce(t *testing.T) {
	g := NewWithT(t)
	requests := queue.NewFair("", queue.Backoff[reconcile.Request](queue.LastRetry))
	wanted := map[reconcile.Request]int{}
	for i := range 300 {
		request := reconcile.Request{NamespacedName: key(fmt.Sprint(i%7), fmt.Sprint(i))}
		wanted[request] = 1
		requests.Add(request)
		requests.Add(request)
	}
	requests.ShutDown()
	got := map[reconcile.Request]int{}
	for {
		request, isShutDown := requests.Get()
		if isShutDown {
			break
		}
		got[request]++
		requests.Done(request)
	}
	g.Expect(got).To(Equal(wanted))
}
