package outage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// ErrNotPermitted says that the user may not permit the operator to give the
// application back.
var ErrNotPermitted = errors.New("the operator cannot be permitted to give the application back")

const (
	pollInterval = 200 * time.Millisecond
	// answerTimeout is how long the operator may take to write a status.
	answerTimeout = 10 * time.Second
	// recordTimeout is how long it may take to record what is owed: its permission may
	// reach the API server after the Maintenance, and it then tries again.
	recordTimeout = 30 * time.Second
)

// TakeAway scales a workload to zero for a Maintenance that exists. The operator is
// permitted to give it back, and has recorded what it owes, before that. Where it does
// not, alone decides whether to go on: the Maintenance then says what is to be given
// back, and a user does it.
func TakeAway(ctx context.Context, to client.Client, m *criticalv2.Maintenance, w *Workload, alone func(why error) error) error {
	entrusted := true
	try := func(err error) error {
		if err == nil || ctx.Err() != nil {
			return err
		}
		entrusted = false
		return alone(err)
	}
	err := MayPermit(ctx, to, client.ObjectKeyFromObject(m), w)
	if err == nil {
		err = Answered(ctx, to, m)
	}
	if err == nil {
		err = permit(ctx, to, m, w)
	}
	if err := try(err); err != nil {
		return err
	}
	if err := demand(ctx, to, m, w); err != nil {
		return err
	}
	if entrusted {
		if err := try(recorded(ctx, to, m)); err != nil {
			return err
		}
	}
	return w.ScaleDown(ctx, to)
}

// Answered waits until the operator has written the status of a Maintenance as it is,
// which proves that it runs.
func Answered(ctx context.Context, to client.Client, m *criticalv2.Maintenance) error {
	err := follow(ctx, to, m, answerTimeout, func() bool {
		return m.Status.Operator != "" && m.Status.ObservedGeneration >= m.Generation
	})
	if errors.Is(err, errTooLong) {
		return fmt.Errorf("the operator does not answer: it wrote no status of Maintenance %q within %s, because it does not run, "+
			"is older than this plugin, or does not watch namespace %q: see `kubectl critsvc doctor`", m.Name, answerTimeout, m.Namespace)
	}
	return err
}

// recorded waits until the operator says what it owes.
func recorded(ctx context.Context, to client.Client, m *criticalv2.Maintenance) error {
	err := follow(ctx, to, m, recordTimeout, func() bool { return m.Status.Owed != nil || m.Owes() == nil })
	switch {
	case errors.Is(err, errTooLong):
		said := "it says nothing of it"
		if is := meta.FindStatusCondition(m.Status.Conditions, criticalv2.MaintenanceRestored); is != nil {
			said = is.Reason + ": " + is.Message
		}
		return fmt.Errorf("the operator did not record within %s what %s is owed (%s): see the status of Maintenance %q", recordTimeout, m.Spec.Restore, said, m.Name)
	case err == nil && m.Status.Owed == nil:
		return fmt.Errorf("the operator saw no replicas of %s: it was scaled meanwhile; try again", m.Spec.Restore)
	default:
		return err
	}
}

var errTooLong = errors.New("it takes too long")

// follow reads a Maintenance until a condition holds.
func follow(ctx context.Context, to client.Client, m *criticalv2.Maintenance, timeout time.Duration, is func() bool) error {
	err := wait.PollUntilContextTimeout(ctx, pollInterval, timeout, true, func(ctx context.Context) (bool, error) {
		current := &criticalv2.Maintenance{}
		err := to.Get(ctx, client.ObjectKeyFromObject(m), current)
		switch {
		case apierrors.IsNotFound(err), err == nil && (current.UID != m.UID || current.DeletionTimestamp != nil):
			return false, fmt.Errorf("the Maintenance %q was deleted meanwhile", m.Name)
		case err != nil:
			return false, fmt.Errorf("read Maintenance %q: %w", m.Name, err)
		}
		*m = *current
		return is(), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return errTooLong
	}
	return err
}

// demand says in a Maintenance what its workload is to get back. That cannot be changed
// once it is said.
func demand(ctx context.Context, to client.Client, m *criticalv2.Maintenance, w *Workload) error {
	wanted := w.Owed()
	if m.Spec.Restore != nil {
		if owed := m.Owes(); owed == nil || *owed != *wanted {
			return fmt.Errorf("the Maintenance %q says that %s gets %d replicas back, and not what %s has now (%d), or gave them back already: "+
				"end it by `kubectl critsvc maintenance off`, and begin another", m.Name, m.Spec.Restore, m.Spec.Restore.Replicas, w, w.Replicas)
		}
		return nil
	}
	changed := m.DeepCopy()
	changed.Spec.Restore = wanted
	if err := to.Patch(ctx, changed, client.MergeFrom(m), FieldOwner); err != nil {
		return fmt.Errorf("say in Maintenance %q what %s is owed: %w", m.Name, w, err)
	}
	*m = *changed
	return nil
}

// MayPermit asks the API server by a dry run whether the user may permit the operator to
// give a workload back, before anything is done.
func MayPermit(ctx context.Context, to client.Client, service types.NamespacedName, w *Workload) error {
	role := roleFor(New(service), w.Owed())
	role.OwnerReferences = nil // There is no Maintenance yet.
	err := client.NewDryRunClient(to).Create(ctx, role, FieldOwner)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return notPermitted(err, w)
}

// permit lets the operator restore exactly that Maintenance, and scale exactly that
// workload. The garbage collector takes the permission away with the Maintenance.
func permit(ctx context.Context, to client.Client, m *criticalv2.Maintenance, w *Workload) error {
	role := roleFor(m, w.Owed())
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{subjectOf(m.Status.Operator)},
	}
	for _, object := range []client.Object{role, binding} {
		if err := notPermitted(put(ctx, to, object), w); err != nil {
			return err
		}
	}
	return nil
}

// roleFor is the Role of a Maintenance. Its name is not that of the Maintenance alone: a
// Service's name is often that of a Role of its application.
func roleFor(m *criticalv2.Maintenance, owed *criticalv2.WorkloadReplicas) *rbacv1.Role {
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: m.Namespace, Name: m.Name + "-maintenance",
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: criticalv2.GroupVersion.String(), Kind: criticalv2.MaintenanceKind.Kind, Name: m.Name, UID: m.UID,
			}},
		},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{criticalv2.GroupVersion.Group}, Resources: []string{"maintenances"}, ResourceNames: []string{criticalv2.RestoreName(m.Name, owed)}, Verbs: []string{criticalv2.VerbRestore}},
			{APIGroups: []string{appsv1.GroupName}, Resources: []string{owed.Resource() + "/scale"}, ResourceNames: []string{owed.Name()}, Verbs: []string{"get", "patch"}},
		},
	}
}

// subjectOf names a user of the API server in a RoleBinding.
func subjectOf(user string) rbacv1.Subject {
	if account, is := strings.CutPrefix(user, "system:serviceaccount:"); is {
		if namespace, name, found := strings.Cut(account, ":"); found {
			return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
		}
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}
}

// put makes an object as it must be. One of an earlier maintenance, which the garbage
// collector has not come to yet, is replaced; one of another user is not.
func put(ctx context.Context, to client.Client, object client.Object) error {
	err := to.Create(ctx, object.DeepCopyObject().(client.Object), FieldOwner)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	existing := object.DeepCopyObject().(client.Object)
	if err := to.Get(ctx, client.ObjectKeyFromObject(object), existing); err != nil {
		return err
	}
	ours := func(owner metav1.OwnerReference) bool { return owner.Kind == criticalv2.MaintenanceKind.Kind }
	if !slices.ContainsFunc(existing.GetOwnerReferences(), ours) {
		return fmt.Errorf("the Role or RoleBinding %q is not of a Maintenance, and its name is needed for the permission: rename it", object.GetName())
	}
	object.SetResourceVersion(existing.GetResourceVersion())
	return to.Update(ctx, object, FieldOwner)
}

// notPermitted explains why the API server refuses a permission: users cannot grant
// what they do not have themselves.
func notPermitted(err error, w *Workload) error {
	switch {
	case err == nil:
		return nil
	case !apierrors.IsForbidden(err):
		return fmt.Errorf("permit the operator to give %s back: %w", w, err)
	default:
		return fmt.Errorf("%w: for that you must be allowed to create Roles and RoleBindings in this namespace, and to do yourself what the operator is to do "+
			"(the verb %s on maintenances.%s, and get and patch on %s/scale). The ClusterRole \"admin\" allows all of it (%s)",
			ErrNotPermitted, criticalv2.VerbRestore, criticalv2.GroupVersion.Group, w.Owed().Resource(), err.Error())
	}
}
