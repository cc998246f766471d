package outage_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage/outagetest"
)

var (
	until   = time.Date(2030, 1, 31, 18, 30, 0, 0, time.UTC)
	entrust = outage.Options{Service: outagetest.Web, Until: until, Alone: func(why error) error { return why }}
	alone   = outage.Options{Service: outagetest.Web, Until: until, Alone: func(error) error { return nil }}
)

// role is the name of the permission.
var role = types.NamespacedName{Namespace: outagetest.Web.Namespace, Name: "web-maintenance"}

func TestAnOutageBeginsAndEnds(t *testing.T) {
	for sentence, c := range map[string]struct {
		objects        []client.Object
		workload       criticalv2.WorkloadReplicas
		name, resource string
	}{
		"of a Deployment":  {application(), criticalv2.WorkloadReplicas{Deployment: "web", Replicas: 3}, "web/deployments.apps/web", "deployments/scale"},
		"of a StatefulSet": {statefulApplication(), criticalv2.WorkloadReplicas{StatefulSet: "web", Replicas: 3}, "web/statefulsets.apps/web", "statefulsets/scale"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, c.objects...)
			w.Scaled = func(int32) error {
				m := w.Maintenance()
				w.Expect(m.Status.Owed).To(Equal(&c.workload), "the operator knows before it is scaled")
				w.Expect(m.Spec.Purpose).To(Equal(criticalv2.PurposeDrill))
				w.Expect(m.Spec.Services).To(HaveExactElements("web"))
				w.Expect(m.Spec.Until.Time).To(BeTemporally("==", until))
				w.Expect(m.Spec.TTLSecondsAfterFinished).To(HaveValue(BeEquivalentTo(3600)))
				return nil
			}
			made, err := outage.Begin(t.Context(), w, entrust)
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(w.Replicas()).To(BeZero())
			w.Expect(made.Began).To(BeTemporally("~", time.Now(), time.Minute))

			permission, binding := &rbacv1.Role{}, &rbacv1.RoleBinding{}
			w.Expect(w.Get(t.Context(), role, permission)).To(Succeed())
			w.Expect(permission.Rules).To(Equal([]rbacv1.PolicyRule{
				{APIGroups: []string{"mycrd.com"}, Resources: []string{"maintenances"}, ResourceNames: []string{c.name}, Verbs: []string{"restore"}},
				{APIGroups: []string{"apps"}, Resources: []string{c.resource}, ResourceNames: []string{"web"}, Verbs: []string{"get", "patch"}},
			}), "exactly what it takes to end this")
			uid := w.Maintenance().UID
			w.Expect(permission.OwnerReferences).To(HaveExactElements(And(HaveField("Kind", "Maintenance"), HaveField("UID", uid))), "it goes with the Maintenance")
			w.Expect(w.Get(t.Context(), role, binding)).To(Succeed())
			w.Expect(binding.OwnerReferences).To(HaveExactElements(HaveField("UID", uid)))
			w.Expect(binding.Subjects).To(Equal([]rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "operators", Name: "critical"}}))

			w.Scaled = nil
			w.Expect(made.End(t.Context())).To(Succeed())
			w.Expect(w.Replicas()).To(Equal(int32(3)))
			w.Expect(w.Maintenance()).To(BeNil())
			w.Expect(made.End(t.Context())).To(Succeed(), "a second time there is nothing to do")
		})
	}
}

func TestAnOperatorThatIsNoServiceAccountIsAUser(t *testing.T) {
	w := newWorld(t, application()...)
	w.Operator = "developer"
	_, err := outage.Begin(t.Context(), w, entrust)
	w.Expect(err).NotTo(HaveOccurred())
	binding := &rbacv1.RoleBinding{}
	w.Expect(w.Get(t.Context(), role, binding)).To(Succeed())
	w.Expect(binding.Subjects).To(Equal([]rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "developer"}}))
}

func TestWhatIsOwedWithoutAMaintenance(t *testing.T) {
	passed := time.Now().Add(-time.Minute)
	other := func(changes ...func(*criticalv2.Maintenance)) *criticalv2.Maintenance {
		return outagetest.Existing(append(changes, func(m *criticalv2.Maintenance) { m.UID = "another" })...)
	}
	for sentence, c := range map[string]struct {
		until time.Time
		// replicas are what the workload has when the outage ends.
		replicas, want int32
		// instead is another Maintenance of the name.
		instead *criticalv2.Maintenance
		says    string
	}{
		"it was deleted before the end, and its Role first":        {until: until, want: 3},
		"it was deleted, and the workload scaled":                  {until: until, replicas: 1, want: 1},
		"it ended, and the operator gave it back":                  {until: passed, replicas: 3, want: 3},
		"after the end it is not known whether that is wanted":     {until: passed, says: "`kubectl scale -n shop deployments.apps/web --replicas=3`"},
		"another one stands in its place":                          {until: until, want: 3, instead: other(func(m *criticalv2.Maintenance) { m.Spec.Restore, m.Status.Owed = nil, nil })},
		"another one stands in its place, and owes the same":       {until: until, instead: other()},
		"another one stands in its place, and owes something else": {until: until, want: 3, instead: other(func(m *criticalv2.Maintenance) { m.Status.Owed.Deployment = "cart" })},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, application()...)
			options := entrust
			options.Until = c.until
			made, err := outage.Begin(t.Context(), w, options)
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(w.Delete(t.Context(), w.Maintenance())).To(Succeed())
			w.Operator = ""
			if c.instead != nil {
				w.Expect(w.Create(t.Context(), c.instead)).To(Succeed())
			}
			w.Scale(c.replicas)
			if err := made.End(t.Context()); c.says == "" {
				w.Expect(err).NotTo(HaveOccurred())
			} else {
				w.Expect(err).To(MatchError(ContainSubstring(c.says)))
			}
			w.Expect(w.Replicas()).To(Equal(c.want))
		})
	}
}

func TestAnOutageThatCannotBeginLeavesNothing(t *testing.T) {
	own := &rbacv1.Role{ObjectMeta: named("web-maintenance")}
	for sentence, c := range map[string]struct {
		refuse func(string, client.Object) error
		with   []client.Object
		says   string
	}{
		"who may not scale":               {refuse: outagetest.Forbidden[*unstructured.Unstructured]("scale"), says: "you may not scale Deployment \"web\""},
		"who may not make Roles":          {refuse: outagetest.Forbidden[*rbacv1.Role]("create"), says: outage.ErrNotPermitted.Error()},
		"who may not make RoleBindings":   {refuse: outagetest.Forbidden[*rbacv1.RoleBinding]("create"), says: `The ClusterRole "admin" allows all of it`},
		"who may not make Maintenances":   {refuse: outagetest.Forbidden[*criticalv2.Maintenance]("create"), says: "create Maintenance"},
		"who may not change Maintenances": {refuse: outagetest.Forbidden[*criticalv2.Maintenance]("patch"), says: "say in Maintenance"},
		"whose own Role has the name":     {with: append(application(), own), says: `"web-maintenance" is not of a Maintenance`},
		"who has no application":          {with: []client.Object{service()}, says: "no Pod of the application"},
		"whose application has none yet":  {with: []client.Object{service(), pod("web-1", "ReplicaSet", "web-abc"), replicaSet("web-abc", "web"), deployment("web", 0)}, says: "has no replicas"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if c.with == nil {
				c.with = application()
			}
			w := newWorld(t, c.with...)
			w.Refuse = c.refuse
			_, err := outage.Begin(t.Context(), w, entrust)
			w.Expect(err).To(MatchError(ContainSubstring(c.says)))
			w.Expect(w.Maintenance()).To(BeNil())
			if c.refuse != nil {
				w.Expect(w.Replicas()).To(Equal(int32(3)))
			}
		})
	}
}

func TestWhatIsUnderWayStays(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*criticalv2.Maintenance)
		says   string
	}{
		"a maintenance of the Service":      {func(*criticalv2.Maintenance) {}, "maintenance off svc/web -n shop"},
		"one of another Service":            {func(m *criticalv2.Maintenance) { m.Spec.Services = []string{"cart"} }, "kubectl edit maintenance web -n shop"},
		"one of several Services":           {func(m *criticalv2.Maintenance) { m.Spec.Services = []string{"cart", "web"} }, "kubectl edit maintenance web -n shop"},
		"one that recurs":                   {func(m *criticalv2.Maintenance) { m.Spec.Recurring = &criticalv2.Recurring{} }, "is recurring or about other Services"},
		"one that is being deleted":         {func(m *criticalv2.Maintenance) { m.DeletionTimestamp = outage.Ending(until) }, "is being deleted"},
		"one that ended, and owes replicas": {func(m *criticalv2.Maintenance) { m.Status.Ended = outage.Ending(until) }, "is under way"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, append(application(), outagetest.Existing(c.change))...)
			_, err := outage.Begin(t.Context(), w, entrust)
			w.Expect(err).To(MatchError(ContainSubstring(c.says)))
			w.Expect(w.Replicas()).To(Equal(int32(3)))
			w.Expect(w.Maintenance().UID).To(BeEquivalentTo("existing"))
		})
	}
}

func TestWhatHasEndedIsReplaced(t *testing.T) {
	w := newWorld(t, append(application(), outagetest.Existing(func(m *criticalv2.Maintenance) {
		m.Finalizers, m.Status.Restored, m.Status.Owed, m.Status.Ended = nil, m.Status.Owed, nil, outage.Ending(until)
	}))...)
	_, err := outage.Begin(t.Context(), w, entrust)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.Replicas()).To(BeZero())
	w.Expect(w.Maintenance().Spec.Purpose).To(Equal(criticalv2.PurposeDrill))
}

func TestAnOperatorThatDoesNotRunIsNotTrusted(t *testing.T) {
	for sentence, options := range map[string]outage.Options{"an outage is refused": entrust, "or is made without it": alone} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, application()...)
				w.Operator = ""
				made, err := outage.Begin(t.Context(), w, options)
				if err != nil {
					w.Expect(err).To(MatchError(ContainSubstring("the operator does not answer")))
					w.Expect(w.Replicas()).To(Equal(int32(3)))
					w.Expect(w.Maintenance()).To(BeNil())
					return
				}
				w.Expect(w.Replicas()).To(BeZero())
				w.Expect(w.Maintenance().Spec.Restore).To(Equal(&criticalv2.WorkloadReplicas{Deployment: "web", Replicas: 3}), "maintenance off gives it back")
				w.Expect(made.End(t.Context())).To(Succeed())
				w.Expect(w.Replicas()).To(Equal(int32(3)))
				w.Expect(w.Maintenance()).To(BeNil())
			})
		})
	}
}

func TestAnOperatorThatStopsMeanwhileKeepsNothing(t *testing.T) {
	for sentence, objects := range map[string][]client.Object{"of a Deployment": application(), "of a StatefulSet": statefulApplication()} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, objects...)
				made, err := outage.Begin(t.Context(), w, entrust)
				w.Expect(err).NotTo(HaveOccurred())
				w.Expect(w.Maintenance().Finalizers).NotTo(BeEmpty())
				w.Operator = ""
				w.Expect(made.End(t.Context())).To(Succeed())
				w.Expect(w.Replicas()).To(Equal(int32(3)))
				w.Expect(w.Maintenance()).To(BeNil(), "its finalizer is of no use any more")
			})
		})
	}
}

func TestWhatTheOperatorDoesNotRecordIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, application()...)
		w.Refuse = func(verb string, object client.Object) error {
			if _, is := object.(*criticalv2.Maintenance); is && verb == "patch" {
				w.Operator = "" // It stops before it sees what is wanted.
			}
			return nil
		}
		_, err := outage.Begin(t.Context(), w, entrust)
		w.Expect(err).To(MatchError(ContainSubstring("did not record within 30s what deployments.apps/web is owed")))
		w.Expect(w.Replicas()).To(Equal(int32(3)))
		w.Expect(w.Maintenance()).To(BeNil())
	})
}

func TestAScaleThatChangesMeanwhileIsNotOverwritten(t *testing.T) {
	w := newWorld(t, application()...)
	w.Refuse = func(verb string, object client.Object) error {
		if _, is := object.(*criticalv2.Maintenance); is && verb == "patch" {
			w.Scale(5)
		}
		return nil
	}
	_, err := outage.Begin(t.Context(), w, entrust)
	w.Expect(err).To(MatchError(ContainSubstring("was scaled from 3 to 5 meanwhile")))
	w.Expect(w.Replicas()).To(Equal(int32(5)))
}

func TestAnInterruptionIsNoReasonToGoOnAlone(t *testing.T) {
	w := newWorld(t, application()...)
	ctx, interrupt := context.WithCancel(t.Context())
	w.Operator = ""
	w.Refuse = func(verb string, object client.Object) error {
		if _, is := object.(*criticalv2.Maintenance); is && verb == "create" {
			interrupt()
		}
		return nil
	}
	_, err := outage.Begin(ctx, w, alone)
	w.Expect(errors.Is(err, context.Canceled)).To(BeTrue(), "%v", err)
	w.Expect(w.Replicas()).To(Equal(int32(3)))
	w.Expect(w.Maintenance()).To(BeNil())
}

func TestWhatIsOn(t *testing.T) {
	now := until.Add(-time.Hour)
	ended := func(m *criticalv2.Maintenance) { m.Status.Ended = outage.Ending(now) }
	given := func(m *criticalv2.Maintenance) { m.Status.Owed, m.Status.Restored = nil, m.Status.Owed }
	for sentence, c := range map[string]struct {
		changes []func(*criticalv2.Maintenance)
		want    bool
	}{
		"one without an end":                    {nil, true},
		"one that owes something after its end": {[]func(*criticalv2.Maintenance){func(m *criticalv2.Maintenance) { m.Spec.Until = outage.Ending(now.Add(-time.Hour)) }}, true},
		"one that gave back after its end": {[]func(*criticalv2.Maintenance){
			given, func(m *criticalv2.Maintenance) { m.Spec.Until = outage.Ending(now.Add(-time.Hour)) },
		}, false},
		"one that ended": {[]func(*criticalv2.Maintenance){given, ended}, false},
		"one that waits for its window": {[]func(*criticalv2.Maintenance){func(m *criticalv2.Maintenance) {
			m.Spec.Restore, m.Status.Owed, m.Spec.Recurring = nil, nil, &criticalv2.Recurring{Schedule: "0 2 * * SUN"}
		}}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(outage.IsOn(outagetest.Existing(c.changes...), now)).To(Equal(c.want))
		})
	}
}
