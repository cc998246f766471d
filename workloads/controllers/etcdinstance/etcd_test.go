package etcdinstance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/live"
)

// etcd stands for the members of one cluster: each runs whose Pod has an address. What a quorum
// and the data of members are is tested in internal/decide, and with real members in internal/live.
type etcd struct {
	mu      sync.Mutex
	members []decide.Member
	leader  string
	next    int
	alarm   string
	// refuses is how many changes are not taken.
	refuses int
	// silent is a member whose Pod has an address, and does not answer.
	silent string
}

// Look implements live.Etcd.
func (f *etcd) Look(_ context.Context, reached []live.Address) decide.Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := decide.Cluster{Answers: map[string]decide.Answer{}}
	if len(f.members) == 0 && len(reached) > 0 {
		f.members, f.leader = []decide.Member{{ID: "f0", Name: reached[0].Name}}, "f0"
	}
	voters, up := 0, 0
	for i := range f.members {
		member := &f.members[i]
		isUp := slices.ContainsFunc(reached, func(at live.Address) bool { return at.Name == member.Name && at.Name != f.silent })
		member.Started = member.Started || isUp
		if !member.Learner {
			voters++
			if isUp {
				up++
			}
		}
		if isUp {
			seen.Answers[member.Name] = decide.Answer{ID: member.ID, ClusterID: "c0", Learner: member.Learner, Version: "3.7.0", Index: 100, Applied: 100, Revision: 7, SizeBytes: 20480}
		}
	}
	if voters == 0 || up <= voters/2 {
		return seen
	}
	for name, answer := range seen.Answers {
		answer.Leader = f.leader
		seen.Answers[name] = answer
	}
	seen.Members = slices.Clone(f.members)
	if f.alarm != "" {
		seen.Alarms = []decide.Alarm{{Member: f.members[0].Name, Kind: f.alarm}}
	}
	return seen
}

// Change implements live.Etcd.
func (f *etcd) Change(_ context.Context, reached []live.Address, change *decide.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(reached) == 0 || slices.ContainsFunc(reached, func(at live.Address) bool { return at.Name == f.silent }) {
		return errors.New("dial tcp: connection refused")
	}
	if at := slices.IndexFunc(f.members, func(member decide.Member) bool { return member.ID == f.leader }); f.members[at].Name != reached[0].Name {
		return errors.New("another member than the leader is asked first")
	}
	if f.refuses > 0 {
		f.refuses--
		return errors.New("etcdserver: unhealthy cluster")
	}
	at := slices.IndexFunc(f.members, func(member decide.Member) bool { return member.ID == change.ID })
	switch change.Kind {
	case decide.AddLearner:
		f.next++
		f.members = append(f.members, decide.Member{ID: fmt.Sprintf("f%d", f.next), Name: change.Name, Learner: true})
	case decide.Promote:
		f.members[at].Learner = false
	case decide.Remove:
		f.members = slices.Delete(f.members, at, at+1)
	case decide.MoveLeader:
		f.leader = change.ID
	}
	return nil
}

// does changes what the members are like.
func (f *etcd) does(change func(*etcd)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}
