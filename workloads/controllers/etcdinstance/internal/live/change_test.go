package live_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/live"
)

// stub is a member that answers as it is to be, and counts the changes that it is asked for.
type stub struct {
	etcdserverpb.UnimplementedMaintenanceServer
	etcdserverpb.UnimplementedClusterServer
	leads, learns bool
	fails         error
	listed        []*etcdserverpb.Member
	asked         atomic.Int32
}

func (s *stub) Status(context.Context, *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	answer := &etcdserverpb.StatusResponse{Header: &etcdserverpb.ResponseHeader{MemberId: 1}, Leader: 2, IsLearner: s.learns}
	if s.leads {
		answer.Leader = 1
	}
	return answer, nil
}

func (s *stub) MemberList(context.Context, *etcdserverpb.MemberListRequest) (*etcdserverpb.MemberListResponse, error) {
	return &etcdserverpb.MemberListResponse{Members: s.listed}, nil
}

func (s *stub) Alarm(context.Context, *etcdserverpb.AlarmRequest) (*etcdserverpb.AlarmResponse, error) {
	return &etcdserverpb.AlarmResponse{}, nil
}

func (s *stub) MoveLeader(context.Context, *etcdserverpb.MoveLeaderRequest) (*etcdserverpb.MoveLeaderResponse, error) {
	s.asked.Add(1)
	return &etcdserverpb.MoveLeaderResponse{}, s.fails
}

func (s *stub) MemberAdd(context.Context, *etcdserverpb.MemberAddRequest) (*etcdserverpb.MemberAddResponse, error) {
	s.asked.Add(1)
	return &etcdserverpb.MemberAddResponse{}, s.fails
}

// listens is where a member would be: it takes connections, and says nothing.
func listens(t *testing.T) net.Listener {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = at.Close() })
	return at
}

func addressOf(at net.Listener) live.Address {
	return live.Address{Name: "etcd-0", URL: "http://etcd-0.etcd-peers.shop.svc:2379", At: at.Addr().String()}
}

func (s *stub) address(t *testing.T) live.Address {
	t.Helper()
	at := listens(t)
	server := grpc.NewServer()
	etcdserverpb.RegisterMaintenanceServer(server, s)
	etcdserverpb.RegisterClusterServer(server, s)
	go func() { _ = server.Serve(at) }()
	t.Cleanup(server.Stop)
	return addressOf(at)
}

// A change that was sent may have been made, whatever the answer.
func TestAChangeIsSentOnceToAMemberThatCanTakeIt(t *testing.T) {
	timedOut := status.Error(codes.Unavailable, "etcdserver: request timed out")
	unhealthy := rpctypes.ErrGRPCUnhealthy
	for sentence, c := range map[string]struct {
		kind         decide.ChangeKind
		first        *stub
		asked, later int32
		fails        bool
	}{
		"the first member takes it":                    {decide.AddLearner, &stub{leads: true}, 1, 0, false},
		"the first member may have made it":            {decide.AddLearner, &stub{fails: timedOut}, 1, 0, true},
		"the first member sees too few others":         {decide.AddLearner, &stub{fails: unhealthy}, 1, 1, false},
		"the first member learns":                      {decide.AddLearner, &stub{learns: true}, 0, 1, false},
		"another member than the first leads":          {decide.MoveLeader, &stub{}, 0, 1, false},
		"the leader may have handed its leadership on": {decide.MoveLeader, &stub{leads: true, fails: timedOut}, 1, 0, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			later := &stub{leads: true}
			err := live.Client{}.Change(t.Context(), []live.Address{c.first.address(t), later.address(t)}, &decide.Change{Kind: c.kind, Name: "etcd-2", PeerURL: "http://etcd-2:2380"})
			g.Expect(err != nil).To(Equal(c.fails), "%v", err)
			g.Expect(c.first.asked.Load()).To(Equal(c.asked))
			g.Expect(later.asked.Load()).To(Equal(c.later))
		})
	}
}

func TestAMemberThatIsNotReachedBlocksNoChange(t *testing.T) {
	g := NewWithT(t)
	refuses := listens(t)
	g.Expect(refuses.Close()).To(Succeed())
	silent, leader := listens(t), &stub{leads: true}
	members := []live.Address{addressOf(refuses), addressOf(silent), addressOf(listens(t)), leader.address(t)}
	for _, kind := range []decide.ChangeKind{decide.AddLearner, decide.MoveLeader} {
		g.Expect(live.Client{}.Change(t.Context(), members, &decide.Change{Kind: kind, Name: "etcd-2", ID: "2", PeerURL: "http://etcd-2:2380"})).To(Succeed(), kind)
	}
	g.Expect(leader.asked.Load()).To(BeEquivalentTo(2))
	err := live.Client{}.Change(t.Context(), members[:1], &decide.Change{Kind: decide.AddLearner, Name: "etcd-2", PeerURL: "http://etcd-2:2380"})
	g.Expect(err).To(MatchError(ContainSubstring(`ask member "etcd-0"`)))
}

// A status with a name that is empty, too long or there twice would be refused, with all else in it.
func TestEachMemberIsListedByAnotherNameThatFits(t *testing.T) {
	g := NewWithT(t)
	member := &stub{leads: true}
	for i, at := range []string{
		"http://etcd-0.etcd-peers.shop.svc:2380", "http://etcd-0.etcd-peers.shop.svc:9999", "http://10.0.0.1:2380", "http://10.0.0.2:2380", "http://[fd00::1]:2380",
		"http://etcd-1.elsewhere.svc:2380", "http://" + strings.Repeat("a", 64) + ".etcd-peers.shop.svc:2380", "http://.etcd-peers.shop.svc:2380", "::", "http://a.b.etcd-peers.shop.svc:2380",
	} {
		member.listed = append(member.listed, &etcdserverpb.Member{ID: uint64(i + 1), PeerURLs: []string{at}})
	}
	member.listed = append(member.listed, &etcdserverpb.Member{ID: 11}, &etcdserverpb.Member{ID: 12, PeerURLs: []string{"http://10.0.0.3:2380", "http://etcd-2.etcd-peers.shop.svc:2380"}})
	var names []string
	for _, listed := range (live.Client{}).Look(t.Context(), []live.Address{member.address(t)}).Members {
		names = append(names, listed.Name)
	}
	g.Expect(names).To(Equal([]string{"etcd-0", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "etcd-2"}))
}
