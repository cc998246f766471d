package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/controller/drift"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// findConflict finds an object of another that has a name which the ETCDInstance needs. It is
// left alone.
func (d *decision) findConflict() {
	if d.Service != nil {
		d.checkOwner("Service", d.Service)
	}
	if d.awaitsFallback() {
		d.wait("ServiceFallback", d.Fallback.Object.Name)
	}
	if d.Peers != nil {
		d.checkOwner("Service", d.Peers)
	}
	if d.StatefulSet != nil {
		d.checkOwner("StatefulSet", d.StatefulSet)
	}
	if d.Config != nil {
		d.checkOwner("ConfigMap", d.Config)
	}
	if d.Budget != nil {
		d.checkOwner("PodDisruptionBudget", d.Budget)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Secrets)) {
		switch secret := d.Secrets[name]; {
		case secret.Earlier:
			d.wait("Secret", name)
		case secret.Found && !secret.Ours:
			d.refuse("Secret", name)
		}
	}
}

// checkOwner looks whose an object is that has a name which the ETCDInstance needs.
func (d *decision) checkOwner(kind string, object metav1.Object) {
	switch {
	case render.IsEarlier(d.Instance, object):
		d.wait(kind, object.GetName())
	case !render.IsOurs(d.Instance, object):
		d.refuse(kind, object.GetName())
	}
}

// refuse says what stands in the way. The first says enough.
func (d *decision) refuse(kind, name string) {
	d.conflict = cmp.Or(d.conflict, fmt.Sprintf("%s %q exists and does not belong to this ETCDInstance, so that it is left alone: "+
		"delete or rename it, or create an ETCDInstance of another name.", kind, name))
}

// wait waits for an object that goes with an earlier ETCDInstance of the name.
func (d *decision) wait(kind, name string) {
	d.earlier = fmt.Sprintf("%s %q of an earlier ETCDInstance of this name is about to be deleted, and goes first.", kind, name)
}

// protect lets the core answer while no member does. It comes before the Service, so that this is
// protected from its first moment. The Service of another is not the ETCDInstance's to protect.
func (d *decision) protect() {
	service, owner := render.Service(d.Instance), render.Owner(d.Instance)
	wanted := fallback.For(service, owner, d.Instance.Spec.Fallback)
	said := d.Fallback.Protected(service, wanted, owner)
	if d.Service != nil && !render.IsOurs(d.Instance, d.Service) && !render.IsEarlier(d.Instance, d.Service) {
		wanted = nil
		said = fallback.Protection{
			Reason:  workloadsv1.ReasonNameTaken,
			Message: fmt.Sprintf("Service %q does not belong to this ETCDInstance, which protects its own only.", service.Name),
		}
	}
	d.plan.Fallback = d.Fallback.ChangeOf(wanted, owner)
	d.conditions().Set(workloadsv1.ConditionProtected, said.Is, said.Reason, condition.Message(said.Message))
}

// awaitsFallback reports whether the Service is missing, and the ServiceFallback is that of an
// earlier ETCDInstance: a Service that is made now would lose it in the next moment.
func (d *decision) awaitsFallback() bool {
	return d.Service == nil && d.Fallback.IsEarlier(render.Owner(d.Instance))
}

// AwaitsAnswer reports whether the Service is missing, and is not made yet because the API server
// fails to read or write its ServiceFallback.
func (s *Snapshot) AwaitsAnswer() bool {
	return s.Service == nil &&
		s.Fallback.DelaysService(s.Instance.Spec.Fallback, s.Ages.Of(workloadsv1.ConditionProtected, workloadsv1.ReasonCreateDenied, s.Now))
}

// expose keeps both Services and the budget as they are to be.
func (d *decision) expose() {
	if !d.awaitsFallback() && !d.AwaitsAnswer() {
		d.exposeBy(d.Service, render.Service(d.Instance))
	}
	d.exposeBy(d.Peers, render.Peers(d.Instance))
	wanted := render.Budget(d.Instance, d.entries)
	if d.Budget == nil || render.IsOurs(d.Instance, d.Budget) && d.Budget.DeletionTimestamp == nil && !drift.Covers(d.Budget, wanted) {
		d.plan.Budget = wanted
	}
}

func (d *decision) exposeBy(has, wanted *corev1.Service) {
	if has != nil && (!render.IsOurs(d.Instance, has) || has.DeletionTimestamp != nil ||
		drift.Covers(has, wanted) && equality.Semantic.DeepEqual(has.Spec.Selector, wanted.Spec.Selector)) {
		return
	}
	d.plan.Services = append(d.plan.Services, wanted)
}

// certify keeps the certificates. The authority comes first, and is never made again: members
// would not know each other.
func (d *decision) certify() {
	if !d.Instance.Spec.WithTLSBundle || d.invalid != "" || d.conflict != "" || d.earlier != "" {
		return
	}
	authority := d.Instance.AuthoritySecretName()
	switch has := d.Secrets[authority]; {
	case has.Problem != "":
		d.certificateProblem = fmt.Sprintf("Secret %q cannot sign certificates: %s. Restore it from a backup; "+
			"without it, create another ETCDInstance with restore.fromInstance.", authority, has.Problem)
		return
	case !has.Found && len(d.entries) > 0:
		d.certificateProblem = fmt.Sprintf("Secret %q is gone, and the members trust its authority only: restore it from a backup; "+
			"without it, create another ETCDInstance before the certificates end.", authority)
		return
	case !has.Found:
		d.plan.Certificates = append(d.plan.Certificates, authority)
	}
	for _, name := range slices.Sorted(maps.Keys(render.Leaves(d.Instance))) {
		has := d.Secrets[name]
		if !has.Found || !has.RenewAt.After(d.Now) {
			d.plan.Certificates = append(d.plan.Certificates, name)
			continue
		}
		d.recheckIn(has.RenewAt.Sub(d.Now))
	}
}
