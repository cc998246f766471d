package decide

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/controller/drift"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/render"
)

// findConflict finds an object of another that has a name which the WebApp needs. It is left alone.
func (d *decision) findConflict() {
	if d.Deployment != nil {
		d.checkOwner("Deployment", d.Deployment)
	}
	if d.Service != nil {
		d.checkOwner("Service", d.Service)
	}
	if d.Fallback.Object != nil && d.Fallback.IsEarlier(render.Owner(d.WebApp)) {
		d.waitFor("ServiceFallback", d.Fallback.Object.Name)
	}
}

func (d *decision) checkOwner(kind string, object metav1.Object) {
	owner := render.Owner(d.WebApp)
	switch {
	case owner.IsOurs(object):
	case owner.IsEarlier(object):
		d.waitFor(kind, object.GetName())
	case d.conflict == "":
		d.conflict = fmt.Sprintf("%s %q belongs to another user, and is left alone: delete or rename it, or create a WebApp of another name.", kind, object.GetName())
	}
}

func (d *decision) waitFor(kind, name string) {
	if d.earlier == "" {
		d.earlier = fmt.Sprintf("%s %q of an earlier WebApp of this name is about to be deleted.", kind, name)
	}
}

// protect writes the ServiceFallback.
func (d *decision) protect() {
	if d.blocked() {
		return
	}
	owner := render.Owner(d.WebApp)
	d.plan.Fallback = d.Fallback.ChangeOf(d.wantedFallback(), owner)
}

// expose writes the Service.
func (d *decision) expose() {
	if d.blocked() {
		return
	}
	if wanted := render.Service(d.WebApp); d.Service == nil || !drift.Covers(d.Service, wanted) {
		d.plan.Service = wanted
	}
}

// store writes the Database. Another engine than that of the data is never asked for.
func (d *decision) store() {
	wanted := render.Database(d.WebApp)
	if d.blocked() || wanted == nil || d.databaseIsAnothers() || d.changesEngine() {
		return
	}
	if d.Database == nil || !drift.Covers(d.Database, wanted) {
		d.plan.Database = wanted
	}
}

func (d *decision) databaseIsAnothers() bool {
	return d.Database != nil && !render.Owner(d.WebApp).IsOurs(d.Database)
}

// lacksDatabase is why the Deployment stays as it is: with what the spec says now, an application that runs would reach no
// database, and one that is new that of another user.
func (d *decision) lacksDatabase() problem {
	if found := d.databaseProblem(); d.Deployment != nil || found.reason == workloadsv1.ReasonNameTaken {
		return found
	}
	return problem{}
}

// databaseProblem is why there is no Database as the spec asks for it; empty if there can be one.
func (d *decision) databaseProblem() problem {
	name := d.WebApp.DatabaseName()
	switch {
	case d.WebApp.Spec.DBImage == "":
		return problem{}
	case d.databaseIsAnothers():
		return problem{workloadsv1.ReasonNameTaken, fmt.Sprintf(
			"Database %q belongs to another user, and is left alone: delete or rename it, or create a WebApp of another name.", name)}
	case d.WebApp.Engine() == "":
		return problem{workloadsv1.ReasonDatabaseTypeUnknown, fmt.Sprintf(
			"The name of image %q does not say which engine it is: set spec.dbType to mongo, mysql or postgres.", d.WebApp.Spec.DBImage)}
	case d.changesEngine():
		return problem{workloadsv1.ReasonDatabaseTypeChanged, fmt.Sprintf("Image %q is of another engine than the data, which is of %s, and the database goes on as it is: "+
			"correct spec.dbImage, or create another WebApp.", d.WebApp.Spec.DBImage, d.Database.Spec.Type)}
	default:
		return problem{}
	}
}

func (d *decision) changesEngine() bool {
	return d.Database != nil && d.WebApp.Engine() != "" && d.Database.Spec.Type != d.WebApp.Engine()
}

// run writes the Deployment. Without the settings, the meter or the database that the spec asks for, what runs stays
// as it is.
func (d *decision) run() {
	if d.blocked() || d.lacksConfig() || d.lacksMeter() || d.lacksDatabase().reason != "" {
		return
	}
	wanted := render.Deployment(d.WebApp, d.Config, d.MeterImage, d.replicas())
	if d.Deployment == nil || !drift.Covers(d.Deployment, wanted) {
		if d.Deployment != nil {
			// The number of Pods may have changed since it was read.
			wanted.ResourceVersion = d.Deployment.ResourceVersion
		}
		d.plan.Deployment = wanted
	}
}

// budget writes the PodDisruptionBudget, where there are at least two Pods: one alone it would not
// help.
func (d *decision) budget() {
	if d.blocked() || d.Deployment == nil && d.plan.Deployment == nil {
		return
	}
	ours := d.Budget != nil && render.Owner(d.WebApp).IsOurs(d.Budget)
	wanted := render.Budget(d.WebApp)
	switch {
	case d.desired >= 2 && (d.Budget == nil || ours && !drift.Covers(d.Budget, wanted)):
		d.plan.Budget = wanted
	case d.desired < 2 && ours && d.Budget.DeletionTimestamp == nil:
		d.plan.RemoveBudget = d.Budget
	}
}

// describe says what there is.
func (d *decision) describe() {
	d.status.Selector = render.SelectorText(d.WebApp)
	d.status.Replicas, d.status.ReadyReplicas, d.status.DesiredReplicas = 0, 0, d.desired
	if d.Deployment != nil && d.conflict == "" {
		d.status.Replicas, d.status.ReadyReplicas = d.Deployment.Status.Replicas, d.Deployment.Status.ReadyReplicas
	}
	d.status.RequestsPerSecond = ""
	if d.known {
		d.status.RequestsPerSecond = rounded(d.Reading.RequestsPerSecond)
	}
}

// least and most bound the rates that are said: the application may count as it likes, and the
// field is short.
const least, most = 0.01, 1e12

// rounded is a rate in two digits: a status is not written for each request.
func rounded(rate float64) string {
	if rate < least {
		return "0"
	}
	two, _ := strconv.ParseFloat(strconv.FormatFloat(min(rate, most), 'g', 2, 64), 64)
	return strconv.FormatFloat(two, 'f', -1, 64)
}

// databaseReady is what the Database says of itself; nil if it says nothing of its spec of now.
func (d *decision) databaseReady() *metav1.Condition {
	if d.Database == nil || d.Database.Status.ObservedGeneration != d.Database.Generation {
		return nil
	}
	return meta.FindStatusCondition(d.Database.Status.Conditions, workloadsv1.ConditionReady)
}
