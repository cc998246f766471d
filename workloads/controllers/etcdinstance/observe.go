package etcdinstance

import (
	"context"
	"net"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/certificate"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/live"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// observer makes Snapshots. It is the only place that reads.
type observer struct {
	// cached reads ETCDInstances, made what was made for them, and live the API server.
	cached, made, live client.Reader
	etcd               live.Etcd
	fallbacks          *fallback.Watch
	// image is the setting, and ownImage that of the operator.
	image, ownImage string
	clock           clock.PassiveClock
	// reasons are those of the conditions.
	reasons recheck.Reasons
}

// sight is a Snapshot, and what decisions do not need: keys, and where the members are.
type sight struct {
	decide.Snapshot
	certificates map[string]certificate.Data
	members      []live.Address
}

// observe makes a Snapshot. It has no ETCDInstance where that is gone, or goes without more.
func (o *observer) observe(ctx context.Context, key types.NamespacedName) (sight, error) {
	snap := sight{Snapshot: decide.Snapshot{Now: o.clock.Now(), Image: o.image, SnapshotImage: o.ownImage}}
	e, err := read.Existing[workloadsv1alpha1.ETCDInstance](ctx, o.cached, key)
	if err != nil {
		return snap, err
	}
	if e == nil || e.DeletionTimestamp != nil && !slices.Contains(e.Finalizers, workloadsv1alpha1.Finalizer) {
		o.reasons.Observe(key, nil, snap.Now)
		return snap, nil
	}
	snap.Ages = o.reasons.Observe(key, e.Status.Conditions, snap.Now)
	snap.Instance = e
	if err := o.objects(ctx, &snap); err != nil {
		return snap, err
	}
	if err := o.pods(ctx, &snap); err != nil {
		return snap, err
	}
	if err := o.snapshots(ctx, &snap); err != nil {
		return snap, err
	}
	if err := o.secrets(ctx, &snap); err != nil {
		return snap, err
	}
	if snap.Fallback, err = o.fallbacks.See(ctx, o.live, key); err != nil {
		return snap, err
	}
	snap.members = addresses(&snap)
	if len(snap.members) > 0 {
		snap.Cluster = o.etcd.Look(ctx, snap.members)
	}
	return snap, nil
}

func (o *observer) objects(ctx context.Context, snap *sight) (err error) {
	e := snap.Instance
	named := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: e.Namespace, Name: name}
	}
	if snap.StatefulSet, err = read.Named[appsv1.StatefulSet](ctx, o.made, o.live, named(e.Name)); err != nil {
		return err
	}
	if snap.Config, err = read.Named[corev1.ConfigMap](ctx, o.made, o.live, named(e.ConfigName())); err != nil {
		return err
	}
	if snap.Service, err = read.Named[corev1.Service](ctx, o.made, o.live, named(e.Name)); err != nil {
		return err
	}
	if snap.Peers, err = read.Named[corev1.Service](ctx, o.made, o.live, named(e.PeersName())); err != nil {
		return err
	}
	snap.Budget, err = read.Named[policyv1.PodDisruptionBudget](ctx, o.made, o.live, named(e.Name))
	return err
}

// pods reads the Pods of the StatefulSet, and the claims of their names.
func (o *observer) pods(ctx context.Context, snap *sight) error {
	e := snap.Instance
	snap.Pods, snap.Claims = map[string]*corev1.Pod{}, map[string]*corev1.PersistentVolumeClaim{}
	for ordinal := range workloadsv1alpha1.MaxReplicas {
		name := e.MemberName(ordinal)
		pod, err := read.Existing[corev1.Pod](ctx, o.made, types.NamespacedName{Namespace: e.Namespace, Name: name})
		if err != nil {
			return err
		}
		if pod != nil && snap.StatefulSet != nil && isOf(pod, snap.StatefulSet.UID) {
			snap.Pods[name] = pod
		}
		if e.Spec.Storage == nil {
			continue
		}
		claim, err := read.Existing[corev1.PersistentVolumeClaim](ctx, o.made, types.NamespacedName{Namespace: e.Namespace, Name: e.ClaimName(ordinal)})
		if err != nil {
			return err
		}
		if claim != nil {
			snap.Claims[name] = claim
		}
	}
	return nil
}

// snapshots reads what stores and restores them. A Pod of another user that has the name of one
// is looked for only where one is needed.
func (o *observer) snapshots(ctx context.Context, snap *sight) (err error) {
	e := snap.Instance
	named := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: e.Namespace, Name: name}
	}
	if snap.BackupPod, err = o.snapshotPod(ctx, named(e.BackupPodName()), asksForBackup(e)); err != nil {
		return err
	}
	if snap.BackupClaim, err = read.Existing[corev1.PersistentVolumeClaim](ctx, o.made, named(e.BackupClaimName())); err != nil || e.Spec.Restore == nil {
		return err
	}
	if snap.RestorePod, err = o.snapshotPod(ctx, named(e.RestorePodName()), !meta.IsStatusConditionTrue(e.Status.Conditions, workloadsv1alpha1.ConditionRestored)); err != nil {
		return err
	}
	if origin := e.Spec.Restore.FromInstance; origin != "" {
		snap.Origin, err = read.Existing[workloadsv1alpha1.ETCDInstance](ctx, o.cached, named(origin))
	}
	return err
}

func (o *observer) snapshotPod(ctx context.Context, key types.NamespacedName, isNeeded bool) (*corev1.Pod, error) {
	if isNeeded {
		return read.Named[corev1.Pod](ctx, o.made, o.live, key)
	}
	return read.Existing[corev1.Pod](ctx, o.made, key)
}

// asksForBackup reports whether a snapshot is asked for that is not answered.
func asksForBackup(e *workloadsv1alpha1.ETCDInstance) bool {
	request, answered := e.Annotations[workloadsv1alpha1.AnnotationBackup], e.Status.Backup
	return e.DeletionTimestamp != nil || request != "" && (answered == nil || answered.Request != request || answered.State == workloadsv1alpha1.ETCDBackupRunning)
}

func isOf(pod *corev1.Pod, set types.UID) bool {
	for i := range pod.OwnerReferences {
		if pod.OwnerReferences[i].UID == set {
			return true
		}
	}
	return false
}

// secrets reads the certificates. Secrets are not watched, because a watch reads all of them.
func (o *observer) secrets(ctx context.Context, snap *sight) error {
	e := snap.Instance
	if !e.Spec.WithTLSBundle {
		return nil
	}
	snap.Secrets, snap.certificates = map[string]decide.Secret{}, map[string]certificate.Data{}
	see := func(name string) (decide.Secret, certificate.Data, error) {
		secret, err := read.Existing[corev1.Secret](ctx, o.live, types.NamespacedName{Namespace: e.Namespace, Name: name})
		if err != nil || secret == nil {
			return decide.Secret{}, nil, err
		}
		return decide.Secret{Found: true, Ours: render.IsOurs(e, secret), Earlier: render.IsEarlier(e, secret)}, secret.Data, nil
	}
	authority := e.AuthoritySecretName()
	seen, signer, err := see(authority)
	if err != nil {
		return err
	}
	if seen.Found {
		if problem := signer.CheckAuthority(snap.Now); problem != nil {
			seen.Problem = problem.Error()
		}
	}
	snap.Secrets[authority], snap.certificates[authority] = seen, signer
	for name, leaf := range render.Leaves(e) {
		seen, data, err := see(name)
		if err != nil {
			return err
		}
		if seen.Found {
			seen.RenewAt = data.RenewAt(leaf, signer)
		}
		snap.Secrets[name], snap.certificates[name] = seen, data
	}
	return nil
}

// addresses are where the members are reached: by the addresses of their Pods, so that no name has
// to be known yet. Those without a certificate that can be read cannot be asked.
func addresses(snap *sight) []live.Address {
	e := snap.Instance
	var found []live.Address
	for ordinal := range workloadsv1alpha1.MaxReplicas {
		name := e.MemberName(ordinal)
		pod := snap.Pods[name]
		if pod == nil || pod.Status.PodIP == "" {
			continue
		}
		address := live.Address{Name: name, URL: e.ClientURL(name), At: net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(workloadsv1alpha1.PortClient)))}
		if e.Spec.WithTLSBundle {
			config, err := snap.certificates[e.ClientSecretName()].Client()
			if err != nil {
				continue
			}
			address.TLS = config
		}
		found = append(found, address)
	}
	return found
}

// voters are where the members are reached that answered, and can take a change: the leader first.
func (s *sight) voters() []live.Address {
	var found []live.Address
	for _, address := range s.members {
		answer, answered := s.Cluster.Answers[address.Name]
		isListed := slices.ContainsFunc(s.Cluster.Members, func(member decide.Member) bool { return member.ID == answer.ID && !member.Learner })
		switch {
		case !answered || !isListed:
		case answer.ID == answer.Leader:
			found = slices.Insert(found, 0, address)
		default:
			found = append(found, address)
		}
	}
	return found
}
