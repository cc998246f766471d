package decide

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
)

// judge finds the members whose data is gone, and those that do not answer otherwise.
func (d *decision) judge() {
	for i := range d.entries {
		switch entry := &d.entries[i]; {
		case entry.Gone, d.hasLeft(entry):
		case d.isLost(entry):
			d.lost = append(d.lost, entry.Name)
		case !d.answers(entry):
			d.failing = append(d.failing, entry.Name)
		}
	}
}

// hasLeft reports whether what is noted is of a member that the cluster has no more.
func (s *Snapshot) hasLeft(entry *render.Entry) bool {
	return s.hasQuorum() && entry.ID != "" && s.listed(entry.ID) == nil
}

// hasQuorum reports whether enough members agree: only a quorum lists the members.
func (s *Snapshot) hasQuorum() bool { return len(s.Cluster.Members) > 0 }

// answers reports whether a member is up, and knows its leader. Of one that was never up no ID may
// be noted yet.
func (s *Snapshot) answers(entry *render.Entry) bool {
	answer, found := s.Cluster.Answers[entry.Name]
	return found && (entry.ID == "" || answer.ID == entry.ID) && answer.Leader != "" && len(answer.Problems) == 0
}

// isHealthy is answers of one in the list of the cluster.
func (s *Snapshot) isHealthy(member *Member) bool {
	return s.answers(&render.Entry{Name: member.Name, ID: member.ID})
}

// volume is the UID of what has the data of a member now; empty if that is not known.
func (s *Snapshot) volume(name string) types.UID {
	if s.Instance.Spec.Storage != nil {
		if claim := s.Claims[name]; claim != nil {
			return claim.UID
		}
		return ""
	}
	if pod := s.Pods[name]; pod != nil {
		return pod.UID
	}
	return ""
}

// isLost reports whether a member's data is gone: what has it now is not what had it.
func (s *Snapshot) isLost(entry *render.Entry) bool {
	now := s.volume(entry.Name)
	return entry.Volume != "" && now != "" && now != entry.Volume && !s.answers(entry)
}

// changeMembers decides on one step. Without a quorum, and while etcd has an alarm, there is none.
func (d *decision) changeMembers() {
	switch {
	case d.blocked(), d.hasLostRestored():
	case len(d.entries) == 0 && d.status.ClusterID == "":
		first := render.First(d.Instance)
		if d.Instance.Spec.Restore != nil {
			// It has its data, and never starts without.
			first.Volume = d.volume(first.Name)
		}
		d.entries = []render.Entry{first}
	case len(d.entries) == 0, !d.hasQuorum(), len(d.Cluster.Alarms) > 0:
	case d.note(), d.forget():
		// What is noted is written before the next step depends on it.
	default:
		d.plan.Change = d.step()
	}
}

// note notes of members that have come up what has their data. Before that they do not vote,
// but for the first.
func (d *decision) note() bool {
	changed := false
	for i := range d.entries {
		entry := &d.entries[i]
		volume := d.volume(entry.Name)
		if entry.Volume != "" && entry.ID != "" || volume == "" || !d.answers(entry) || d.listed(d.Cluster.Answers[entry.Name].ID) == nil {
			continue
		}
		entry.ID, entry.Volume, entry.Replaces, entry.Hollow = d.Cluster.Answers[entry.Name].ID, volume, "", 0
		changed = true
	}
	return changed
}

// forget drops what is noted of members that are none any more. What never came up, and is to be added
// again, it notes as gone: how often that was so is known by it.
func (d *decision) forget() bool {
	var kept []render.Entry
	changed := false
	for _, entry := range d.entries {
		isGone := d.hasLeft(&entry)
		isNext := entry.Volume == "" && entry.Ordinal(d.Instance) < int(d.Instance.Spec.Replicas)
		changed = changed || isGone && !(entry.Gone && isNext)
		if entry.Gone = isGone; !isGone || isNext {
			kept = append(kept, entry)
		}
	}
	d.entries = kept
	return changed
}

func (s *Snapshot) listed(id string) *Member {
	for i := range s.Cluster.Members {
		if s.Cluster.Members[i].ID == id {
			return &s.Cluster.Members[i]
		}
	}
	return nil
}

// step is the next change of the cluster; nil if none is needed, or it has to wait.
func (d *decision) step() *Change {
	if stranger := d.stranger(); stranger != nil {
		d.does(workloadsv1alpha1.ReasonMemberFailing, fmt.Sprintf("Member %.63q (%s) is in the cluster, and not of this ETCDInstance: remove it with `etcdctl member remove %s`.",
			stranger.Name, stranger.ID, stranger.ID))
		return nil
	}
	voters := d.voters()
	if lost := d.lostVoter(voters); lost != nil {
		d.does(workloadsv1alpha1.ReasonMemberFailing, fmt.Sprintf("Member %s has lost its data, and is being replaced.", lost.Name))
		return &Change{Kind: Remove, Name: lost.Name, ID: lost.ID}
	}
	for i := range d.Cluster.Members {
		if member := &d.Cluster.Members[i]; member.Learner {
			return d.bringUp(member, voters)
		}
	}
	if name := d.missing(); name != "" {
		d.does(workloadsv1alpha1.ReasonScaling, fmt.Sprintf("Member %s is being added: %d of %d vote.", name, len(voters), d.Instance.Spec.Replicas))
		return &Change{Kind: AddLearner, Name: name, PeerURL: d.Instance.PeerURL(name)}
	}
	return d.shrink(voters)
}

// stranger is a member that has no Pod here; nil if there is none.
func (d *decision) stranger() *Member {
	for i := range d.Cluster.Members {
		if render.Ordinal(d.Instance, d.Cluster.Members[i].Name) < 0 {
			return &d.Cluster.Members[i]
		}
	}
	return nil
}

// voters are the members that vote, by ordinal.
func (d *decision) voters() []Member {
	var voters []Member
	for _, member := range d.Cluster.Members {
		if !member.Learner {
			voters = append(voters, member)
		}
	}
	slices.SortFunc(voters, func(a, b Member) int {
		return cmp.Compare(render.Ordinal(d.Instance, a.Name), render.Ordinal(d.Instance, b.Name))
	})
	return voters
}

// healthyBut is how many voters are healthy, without one of them.
func (d *decision) healthyBut(voters []Member, id string) int {
	healthy := 0
	for i := range voters {
		if voters[i].ID != id && d.isHealthy(&voters[i]) {
			healthy++
		}
	}
	return healthy
}

// canGo reports whether the others have a quorum of their own.
func (d *decision) canGo(voters []Member, id string) bool {
	return len(voters) > 1 && d.healthyBut(voters, id) >= etcd.Quorum(len(voters)-1)
}

// lostVoter is a member without its data that the others can do without; nil if there is none.
func (d *decision) lostVoter(voters []Member) *Member {
	for i := range voters {
		entry := d.entryOf(&voters[i])
		if entry != nil && d.isLost(entry) && d.canGo(voters, voters[i].ID) {
			return &voters[i]
		}
	}
	return nil
}

func (d *decision) entryOf(member *Member) *render.Entry {
	for i := range d.entries {
		if d.entries[i].Name == member.Name && d.entries[i].ID == member.ID {
			return &d.entries[i]
		}
	}
	return nil
}

// bringUp leads a learner from its first start to its vote.
func (d *decision) bringUp(learner *Member, voters []Member) *Change {
	if render.Ordinal(d.Instance, learner.Name) >= int(d.Instance.Spec.Replicas) {
		d.does(workloadsv1alpha1.ReasonScaling, fmt.Sprintf("Member %s is being taken away.", learner.Name))
		return &Change{Kind: Remove, Name: learner.Name, ID: learner.ID}
	}
	entry := d.entryOf(learner)
	switch {
	case entry == nil:
		d.admit(learner)
	case d.staysHollow(entry):
		d.hollow = d.describeHollow(entry)
		return nil
	case d.isLost(entry), d.isHollow(entry):
		d.does(workloadsv1alpha1.ReasonMemberFailing, fmt.Sprintf("Member %s has lost its data, and is being replaced.", learner.Name))
		return &Change{Kind: Remove, Name: learner.Name, ID: learner.ID}
	case entry.Volume != "" && d.isHealthy(learner) && d.isInSync(learner):
		if d.healthyBut(voters, "")+1 < etcd.Quorum(len(voters)+1) {
			d.does(workloadsv1alpha1.ReasonMemberFailing, fmt.Sprintf("Member %s has the data, and waits for its vote until more members are healthy.", learner.Name))
			return nil
		}
		d.does(workloadsv1alpha1.ReasonScaling, fmt.Sprintf("Member %s has the data, and gets its vote.", learner.Name))
		return &Change{Kind: Promote, Name: learner.Name, ID: learner.ID}
	}
	d.does(workloadsv1alpha1.ReasonScaling, fmt.Sprintf("Member %s is starting, and gets the data: %d of %d vote.", learner.Name, len(voters), d.Instance.Spec.Replicas))
	return nil
}

const (
	// fewRestarts is how often a learner may end before it has come up.
	fewRestarts = 3
	// patientAfter is how many learners of a name are replaced so early. Each leaves a folder in a
	// volume that may be full: after that, it is twice as many restarts each time.
	patientAfter = 2
)

// isHollow reports whether a learner may have got data, and lost it before it was noted what has it: it
// ends again and again in a Pod of its own. etcd does that where the leader takes a member for one that
// has what it was sent. A learner has no vote, so that nothing is lost with it.
func (d *decision) isHollow(entry *render.Entry) bool {
	return d.endsAgain(entry) >= fewRestarts<<max(entry.Hollow-patientAfter+1, 0)
}

// staysHollow reports whether one that ends again and again follows others that did.
func (d *decision) staysHollow(entry *render.Entry) bool {
	return entry.Hollow >= patientAfter && d.endsAgain(entry) >= fewRestarts && !d.isHollow(entry)
}

// endsAgain is how often a learner that has not come up has ended in a Pod of its own.
func (d *decision) endsAgain(entry *render.Entry) int32 {
	pod := d.Pods[entry.Name]
	if entry.Volume != "" || pod == nil || entry.Replaces == pod.UID || d.answers(entry) {
		return 0
	}
	return restarts(pod)
}

func (d *decision) describeHollow(entry *render.Entry) string {
	ended := fmt.Sprintf("Member %s has been added %d times, and never came up: `kubectl logs %s -c %s --previous` says why.", entry.Name, entry.Hollow+1, entry.Name, etcd.Container)
	if d.Instance.Spec.Storage == nil {
		return ended
	}
	return ended + fmt.Sprintf(" If its volume is full: in claim %q, every folder but %q is of a member that is gone, and may be deleted.",
		d.Instance.ClaimName(entry.Ordinal(d.Instance)), entry.Folder)
}

func restarts(pod *corev1.Pod) int32 {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == etcd.Container {
			return pod.Status.ContainerStatuses[i].RestartCount
		}
	}
	return 0
}

// admit notes what a learner starts from. Its Pod, if there is one, was made for another.
func (d *decision) admit(learner *Member) {
	entry := render.Entry{Name: learner.Name, ID: learner.ID, Folder: learner.ID}
	if pod := d.Pods[learner.Name]; pod != nil {
		entry.Replaces = pod.UID
	}
	for i := range d.entries {
		if other := &d.entries[i]; other.Name == learner.Name && other.Gone {
			entry.Hollow = min(other.Hollow+1, render.MaxHollow)
		}
	}
	d.entries = slices.DeleteFunc(d.entries, func(other render.Entry) bool { return other.Name == learner.Name })
	d.entries = append(d.entries, entry)
	slices.SortFunc(d.entries, func(a, b render.Entry) int { return cmp.Compare(a.Ordinal(d.Instance), b.Ordinal(d.Instance)) })
}

// isInSync reports whether a learner has nine tenths of the leader's log, as etcd asks for.
func (d *decision) isInSync(learner *Member) bool {
	has := d.Cluster.Answers[learner.Name]
	for i := range d.Cluster.Members {
		if member := &d.Cluster.Members[i]; member.ID == has.Leader {
			return d.isHealthy(member) && has.Applied*10 >= d.Cluster.Answers[member.Name].Index*9
		}
	}
	return false
}

// missing is the name of the lowest member that is to be, and is not; empty if all are.
func (d *decision) missing() string {
	for ordinal := range int(d.Instance.Spec.Replicas) {
		name := d.Instance.MemberName(ordinal)
		if !slices.ContainsFunc(d.Cluster.Members, func(member Member) bool { return member.Name == name }) {
			return name
		}
	}
	return ""
}

// shrink takes a member out of the cluster, before its Pod goes: one that does not answer first,
// the leader last, and the others from the highest on.
func (d *decision) shrink(voters []Member) *Change {
	extra := slices.DeleteFunc(slices.Clone(voters), func(member Member) bool {
		return render.Ordinal(d.Instance, member.Name) < int(d.Instance.Spec.Replicas)
	})
	if len(extra) == 0 {
		return nil
	}
	d.does(workloadsv1alpha1.ReasonScaling, fmt.Sprintf("Members are being taken away: %d vote, and %d are to be.", len(voters), d.Instance.Spec.Replicas))
	slices.Reverse(extra)
	next := slices.IndexFunc(extra, func(member Member) bool { return !d.isHealthy(&member) })
	if next < 0 {
		next = slices.IndexFunc(extra, func(member Member) bool { return member.ID != d.leader() })
	}
	if next < 0 {
		return d.moveLeader(voters, func(member *Member) bool { return member.ID != extra[0].ID })
	}
	if !d.canGo(voters, extra[next].ID) {
		return nil
	}
	return &Change{Kind: Remove, Name: extra[next].Name, ID: extra[next].ID}
}

// leader is the ID of the member that a healthy one says leads; empty if they differ.
func (s *Snapshot) leader() string {
	leader := ""
	for i := range s.Cluster.Members {
		member := &s.Cluster.Members[i]
		if !s.isHealthy(member) {
			continue
		}
		says := s.Cluster.Answers[member.Name].Leader
		if leader != "" && says != leader {
			return ""
		}
		leader = says
	}
	return leader
}

// moveLeader lets the lowest healthy voter lead that is suitable; nil if none is.
func (d *decision) moveLeader(voters []Member, suitable func(*Member) bool) *Change {
	for i := range voters {
		if voter := &voters[i]; d.isHealthy(voter) && voter.ID != d.leader() && suitable(voter) {
			return &Change{Kind: MoveLeader, Name: voter.Name, ID: voter.ID}
		}
	}
	return nil
}
