// Package live asks the members of a cluster how they are, and changes the cluster. It is the only
// place that talks to etcd.
package live

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/critical-service/operator/internal/text"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
	"github.com/critical-service/operator/workloads/internal/etcdclient"
)

const (
	// timeout is how long a member is waited for.
	timeout = 5 * time.Second
	// tryTimeout is how long one is waited for that another one can stand in for.
	tryTimeout = 2 * time.Second
	// maxAnswer is how many bytes of an answer are read: what answers may be a stranger.
	maxAnswer = 1 << 20
	// maxText keeps what members say of themselves short.
	maxText, maxProblems = 64, 4
	// maxName is that of a member's name, and of its Pod's.
	maxName = 63
)

// Address is where a member is reached.
type Address struct {
	// Name of the member, and the URL of its listener for clients.
	Name, URL string
	// At is where that listens, in the place of what the URL names: no name has to be known yet, and
	// a certificate is of a name.
	At string
	// TLS is how a client shows itself to it, and knows it; nil without.
	TLS *tls.Config
}

// Etcd asks clusters, and changes them.
type Etcd interface {
	// Look asks each member for itself, and the leader for the list of all. What does not answer
	// in time is left out.
	Look(ctx context.Context, members []Address) decide.Cluster
	// Change changes a cluster through the first of its members that answers and can take it.
	Change(ctx context.Context, members []Address, change *decide.Change) error
}

// Client is the Etcd that there is.
type Client struct{}

func dial(ctx context.Context, member *Address) (*clientv3.Client, error) {
	return etcdclient.New(ctx, etcdclient.Endpoint{URL: member.URL, At: member.At, TLS: member.TLS, Timeout: timeout, MaxAnswer: maxAnswer})
}

// Look implements Etcd.
func (Client) Look(ctx context.Context, members []Address) decide.Cluster {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	seen := decide.Cluster{Answers: map[string]decide.Answer{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range members {
		all.Go(func() {
			answer, listed, alarms := ask(ctx, &members[i])
			mu.Lock()
			defer mu.Unlock()
			if answer != nil {
				seen.Answers[members[i].Name] = *answer
			}
			if listed != nil && seen.Members == nil {
				seen.Members, seen.Alarms = listed, alarms
			}
		})
	}
	all.Wait()
	for i, alarm := range seen.Alarms {
		for _, member := range seen.Members {
			if member.ID == alarm.Member {
				seen.Alarms[i].Member = member.Name
			}
		}
	}
	return seen
}

// ask asks one member for itself, and the leader for the lists that only a quorum gives.
func ask(ctx context.Context, member *Address) (*decide.Answer, []decide.Member, []decide.Alarm) {
	client, err := dial(ctx, member)
	if err != nil {
		return nil, nil, nil
	}
	defer func() { _ = client.Close() }()
	status, err := client.Status(ctx, member.URL)
	if err != nil {
		return nil, nil, nil
	}
	answer := answerOf(status)
	if answer.Leader == "" || answer.Leader != answer.ID {
		return answer, nil, nil // One list is enough, and alarms are listed by a proposal to all members.
	}
	listed, err := client.MemberList(ctx)
	if err != nil {
		return answer, nil, nil
	}
	alarms, err := client.AlarmList(ctx)
	if err != nil {
		return answer, nil, nil
	}
	return answer, membersOf(listed.Members, member.URL), alarmsOf(alarms.Alarms)
}

func answerOf(status *clientv3.StatusResponse) *decide.Answer {
	answer := &decide.Answer{
		Learner: status.IsLearner, Version: text.Shorten(status.Version, maxText), SizeBytes: status.DbSize,
		Index: status.RaftIndex, Applied: status.RaftAppliedIndex,
	}
	if status.Header != nil {
		answer.ID, answer.ClusterID, answer.Revision = id(status.Header.MemberId), id(status.Header.ClusterId), status.Header.Revision
	}
	if status.Leader != 0 {
		answer.Leader = id(status.Leader)
	}
	for _, problem := range status.Errors {
		// An alarm is in the list of alarms, and the member works all the same.
		if !strings.HasPrefix(problem, "memberID:") && len(answer.Problems) < maxProblems {
			answer.Problems = append(answer.Problems, text.Shorten(problem, maxText))
		}
	}
	return answer
}

// membersOf takes at most as many as the operator ever makes, each by another name: its ID where it
// has none that is a member's, and where another one has it. A status takes no name twice.
func membersOf(listed []*etcdserverpb.Member, beside string) []decide.Member {
	var members []decide.Member
	for _, member := range listed[:min(len(listed), etcd.MaxMembers)] {
		name := nameOf(member, beside)
		if name == "" || len(name) > maxName || slices.ContainsFunc(members, func(other decide.Member) bool { return other.Name == name }) {
			name = id(member.ID)
		}
		members = append(members, decide.Member{ID: id(member.ID), Name: name, Started: member.Name != "", Learner: member.IsLearner})
	}
	return members
}

// nameOf is the name of a member by the URL where others reach it: it says its own only once it
// has started. It is empty where its host is not of the domain of another member's URL.
func nameOf(member *etcdserverpb.Member, beside string) string {
	domain := domainOf(beside)
	for _, at := range member.PeerURLs {
		if peer, err := url.Parse(at); err == nil {
			if name, isIn := strings.CutSuffix(peer.Hostname(), domain); isIn && !strings.Contains(name, ".") {
				return name
			}
		}
	}
	return ""
}

// domainOf is what follows the first part of the host of a URL, with its dot.
func domainOf(at string) string {
	parsed, err := url.Parse(at)
	if err != nil {
		return ""
	}
	_, domain, _ := strings.Cut(parsed.Hostname(), ".")
	return "." + domain
}

func alarmsOf(listed []*etcdserverpb.AlarmMember) []decide.Alarm {
	var alarms []decide.Alarm
	for _, alarm := range listed[:min(len(listed), etcd.MaxMembers)] {
		alarms = append(alarms, decide.Alarm{Member: id(alarm.MemberID), Kind: alarm.Alarm.String()})
	}
	return alarms
}

func id(number uint64) string { return strconv.FormatUint(number, 16) }

// Change implements Etcd. It is sent once, over a connection by which a member that can take it has
// just answered: what was not answered in time may have been done, and is not sent to another one. A
// member that refuses because it sees too few others has done nothing (etcd, mayAddMember), and another
// one may see them: whom rafthttp once failed to reach may count as lost while its stream goes on.
func (Client) Change(ctx context.Context, members []Address, change *decide.Change) error {
	number := uint64(0)
	if change.ID != "" {
		var err error
		if number, err = strconv.ParseUint(change.ID, 16, 64); err != nil {
			return fmt.Errorf("read the ID of member %q: %w", change.Name, err)
		}
	}
	err := errors.New("no member answers that can take it")
	for i := range members {
		isSent, failed := through(ctx, &members[i], change, number)
		if isSent && !errors.Is(failed, rpctypes.ErrUnhealthy) {
			return failed
		}
		if failed != nil {
			err = fmt.Errorf("ask member %q: %w", members[i].Name, failed)
		}
	}
	return err
}

// through sends a change to one member, if that answers and can take it.
func through(ctx context.Context, member *Address, change *decide.Change, number uint64) (isSent bool, err error) {
	client, err := dial(ctx, member)
	if err != nil {
		return false, err
	}
	defer func() { _ = client.Close() }()
	once, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	status, err := client.Status(once, member.URL)
	if err != nil {
		return false, err
	}
	answer := answerOf(status)
	if answer.Learner || answer.Leader == "" || change.Kind == decide.MoveLeader && answer.Leader != answer.ID {
		return false, nil // Leadership is moved by the leader alone, and learners change nothing.
	}
	return true, send(ctx, client, change, number)
}

func send(ctx context.Context, client *clientv3.Client, change *decide.Change, number uint64) error {
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	var err error
	switch change.Kind {
	case decide.AddLearner:
		_, err = client.MemberAddAsLearner(ctx, []string{change.PeerURL})
	case decide.Promote:
		_, err = client.MemberPromote(ctx, number)
	case decide.Remove:
		_, err = client.MemberRemove(ctx, number)
	case decide.MoveLeader:
		_, err = client.MoveLeader(ctx, number)
	}
	return err
}
