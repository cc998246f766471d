package observe_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
)

// slowServer lists as many CriticalServices as it was asked before, when it may.
type slowServer struct {
	client.Reader

	asked atomic.Int32
	may   chan struct{}
}

// List implements client.Reader.
func (s *slowServer) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	n := s.asked.Add(1)
	<-s.may
	policies := list.(*criticalv2.CriticalServiceList)
	for range n {
		policies.Items = append(policies.Items, criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	}
	return nil
}

func TestManyWhoAskShareAReadThatBeginsAfterThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		server := &slowServer{may: make(chan struct{})}
		policies := observe.NewPolicyReader(server)
		results := make(chan int, 101)
		ask := func() {
			items, err := policies.List(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			results <- len(items)
		}
		go ask()
		synctest.Wait()
		for range 100 {
			go ask()
		}
		synctest.Wait()
		close(server.may)
		synctest.Wait()
		g.Expect(server.asked.Load()).To(BeEquivalentTo(2), "one read was under way, and one serves all who came meanwhile")
		close(results)
		var read []int
		for n := range results {
			read = append(read, n)
		}
		slices.Sort(read)
		g.Expect(read[:2]).To(Equal([]int{1, 2}), "who asks after a read has begun must not get what it read")
	})
}
