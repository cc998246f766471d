package webapp

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/internal/controller/fault"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// answering is a Reconciler whose API server has app, answers the writes of each kind with an error, and
// notes them. Scale is the kind of a number of Pods.
func answering(t *testing.T, errs map[string]error) (*Reconciler, *[]string) {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(workloadsv1.AddToScheme(scheme)).To(Succeed())
	stored := fake.NewClientBuilder().WithScheme(scheme).WithObjects(app()).Build()
	writes := &[]string{}
	answer := func(kind string) error {
		*writes = append(*writes, kind)
		return errs[kind]
	}
	return &Reconciler{observer: observer{live: stored}, client: interceptor.NewClient(stored, interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			return answer(object.(runtime.Object).GetObjectKind().GroupVersionKind().Kind)
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return answer("Scale")
		},
	})}, writes
}

func app() *workloadsv1.WebApp {
	return &workloadsv1.WebApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"},
		Spec:       workloadsv1.WebAppSpec{AppName: "web", Image: "web:1", DBImage: "mysql:8.0"},
	}
}

var (
	resource = schema.GroupResource{Group: "apps", Resource: "deployments"}
	denied   = apierrors.NewForbidden(resource, "web", errors.New("a policy forbids it"))
	full     = apierrors.NewForbidden(resource, "web", errors.New("exceeded quota: team"))
	conflict = apierrors.NewConflict(resource, "web", errors.New("the object has been modified"))
	errBroke = errors.New("the connection broke")
)

// One part that is refused or fails does not block the others.
func TestWhatTheAPIServerDoesNotAccept(t *testing.T) {
	all := []string{"ServiceFallback", "Service", "Database", "Deployment", "PodDisruptionBudget"}
	for sentence, c := range map[string]struct {
		errs   map[string]error
		writes []string
		class  fault.Class
		kind   string
		says   string
	}{
		"nothing is refused":            {nil, all, fault.None, workloadsv1.ConditionReady, "being made"},
		"the Deployment, by a policy":   {map[string]error{"Deployment": denied}, all, fault.None, workloadsv1.ConditionReady, "a policy forbids it"},
		"the Service, by a quota":       {map[string]error{"Service": full}, all, fault.None, workloadsv1.ConditionReady, "exceeded quota"},
		"the Database, by a quota":      {map[string]error{"Database": full}, all, fault.None, workloadsv1.ConditionDatabaseReady, "exceeded quota"},
		"the ServiceFallback, by one":   {map[string]error{"ServiceFallback": denied}, all, fault.None, workloadsv1.ConditionProtected, "a policy forbids it"},
		"the budget, by a policy":       {map[string]error{"PodDisruptionBudget": denied}, all, fault.None, workloadsv1.ConditionReady, "a policy forbids it"},
		"another user was there before": {map[string]error{"Deployment": conflict}, all, fault.Wait, workloadsv1.ConditionReady, "being made"},
		"there is no answer":            {map[string]error{"Database": errBroke}, all, fault.Retry, workloadsv1.ConditionReady, "being made"},
		"no answer about the ServiceFallback": {map[string]error{"ServiceFallback": errBroke},
			[]string{"ServiceFallback", "Database", "Deployment", "PodDisruptionBudget"}, fault.Retry, workloadsv1.ConditionReady, "being made"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			r, writes := answering(t, c.errs)
			a := app()
			a.Spec.Replicas = new(int32(2))
			snap := &decide.Snapshot{WebApp: a, Fallback: fallback.Seen{Served: true}}
			plan := decide.Decide(*snap)
			done, err := r.apply(t.Context(), snap, &plan)
			g.Expect(*writes).To(Equal(c.writes))
			g.Expect(fault.Of(err)).To(Equal(c.class), "%v", err)
			done.tell(snap)
			g.Expect(decide.Decide(*snap).Status.Conditions).To(ContainElement(And(
				HaveField("Type", c.kind), HaveField("Message", ContainSubstring(c.says)))))
		})
	}
}

// A template that a policy refuses leaves what runs as it is: it has to be enough.
func TestPodsAreScaledWhereTheirTemplateIsRefused(t *testing.T) {
	for sentence, c := range map[string]struct {
		err    error
		writes []string
	}{
		"it is refused": {denied, []string{"Deployment", "Scale"}},
		"it is written": {nil, []string{"Deployment"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			r, writes := answering(t, map[string]error{"Deployment": c.err})
			a := app()
			snap := &decide.Snapshot{WebApp: a, Deployment: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "2"}}}
			_, err := r.apply(t.Context(), snap, &decide.Plan{Deployment: render.Deployment(a, "", "workloads:1", 2), Scale: new(int32(6))})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(*writes).To(Equal(c.writes))
		})
	}
}

func TestANumberOfPodsThatIsNotAccepted(t *testing.T) {
	for sentence, c := range map[string]struct {
		err     error
		class   fault.Class
		refused bool
	}{
		"by a policy":                        {denied, fault.None, true},
		"because the Deployment has changed": {conflict, fault.Wait, false},
		"because there is no answer":         {errBroke, fault.Retry, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			r, _ := answering(t, map[string]error{"Scale": c.err})
			snap := &decide.Snapshot{WebApp: app(), Deployment: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}}
			done, err := r.apply(t.Context(), snap, &decide.Plan{Scale: new(int32(6))})
			g.Expect(fault.Of(err)).To(Equal(c.class), "%v", err)
			g.Expect(done.scaled).To(BeFalse())
			if c.refused {
				g.Expect(done.refusals[decide.OfScale].Message).NotTo(BeEmpty())
			} else {
				g.Expect(done.refusals[decide.OfScale].Message).To(BeEmpty())
			}
		})
	}
}

// What ran goes on, whatever becomes of its ServiceFallback.
func TestAServiceThatExistsIsPutRightWithoutItsFallback(t *testing.T) {
	g := NewWithT(t)
	r, writes := answering(t, map[string]error{"ServiceFallback": errBroke})
	a := app()
	snap := &decide.Snapshot{WebApp: a, Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: "2"}}}
	service := render.Service(a)
	_, err := r.apply(t.Context(), snap, &decide.Plan{Fallback: fallback.Change{Apply: fallback.For(service, render.Owner(a), nil)}, Service: service})
	g.Expect(fault.Of(err)).To(Equal(fault.Retry))
	g.Expect(*writes).To(Equal([]string{"ServiceFallback", "Service"}))
}

// A cache that is behind would roll out an earlier image, and then the present one again.
func TestWhatIsWrittenIsOfTheSpecThatIsStored(t *testing.T) {
	behind := app()
	behind.Generation--
	deployment := render.Deployment(behind, "", "workloads:1", 2)
	for sentence, plan := range map[string]*decide.Plan{
		"a Deployment":             {Deployment: deployment},
		"a number of Pods":         {Scale: new(int32(6))},
		"a Service":                {Service: render.Service(behind)},
		"the deletion of a budget": {RemoveBudget: &policyv1.PodDisruptionBudget{ObjectMeta: deployment.ObjectMeta}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			r, writes := answering(t, nil)
			_, err := r.apply(t.Context(), &decide.Snapshot{WebApp: behind, Deployment: deployment}, plan)
			g.Expect(fault.Of(err)).To(Equal(fault.Wait), "%v", err)
			g.Expect(*writes).To(BeEmpty())
		})
	}
}
