package etcdinstance

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Each of them holds a worker for as long as its members may take to answer.
func TestNoTeamWaitsForTheClustersOfAnother(t *testing.T) {
	g := NewWithT(t)
	options := order()
	requests := options.NewQueue("", options.RateLimiter)
	defer requests.ShutDown()
	for i := range 100 {
		requests.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "silent", Name: fmt.Sprint(i)}})
	}
	requests.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "etcd"}})
	requests.Get()
	second, _ := requests.Get()
	g.Expect(second.Namespace).To(Equal("shop"))
}
