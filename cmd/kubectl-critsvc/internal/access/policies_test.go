package access_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/golden"
)

func fallback(namespace, name string, details ...criticalv2.ServiceStatus) *criticalv2.ServiceFallback {
	return &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: criticalv2.ProtectionStatus{Details: details}}
}

func TestWhichPoliciesAreRead(t *testing.T) {
	scheme, err := access.Scheme()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no"))
	unknown := &meta.NoKindMatchError{GroupKind: criticalv2.ServiceFallbackKind.GroupKind()}
	notFound := apierrors.NewGenericServerResponse(404, "list", schema.GroupResource{Resource: "servicefallbacks"}, "", "", 0, true)
	for sentence, test := range map[string]struct {
		ofCluster, ofTeam error
		namespace         string
		want              []string
		notices           []string
		failed            string
		kinds             int
	}{
		"both kinds, and ServiceFallbacks of the namespace": {namespace: "shop", want: []string{"CriticalService all", "ServiceFallback web"}, kinds: 2},
		"of all namespaces":                                     {want: []string{"CriticalService all", "ServiceFallback web", "ServiceFallback far"}, kinds: 2},
		"a team gets its ServiceFallbacks":                      {ofCluster: forbidden, namespace: "shop", want: []string{"ServiceFallback web"}, notices: []string{"You may not list CriticalServices"}, kinds: 1},
		"an operator without ServiceFallbacks has none":         {ofTeam: unknown, namespace: "shop", want: []string{"CriticalService all"}, kinds: 1},
		"so it is where the API server says only 404":           {ofTeam: notFound, namespace: "shop", want: []string{"CriticalService all"}, kinds: 1},
		"without the right to ServiceFallbacks, the other kind": {ofTeam: forbidden, namespace: "shop", want: []string{"CriticalService all"}, notices: []string{"You may not list ServiceFallbacks"}, kinds: 1},
		"without any right, it is an error":                     {ofCluster: forbidden, ofTeam: forbidden, namespace: "shop", failed: "list ServiceFallbacks"},
		"so it is if the kind that is allowed is not there":     {ofCluster: forbidden, ofTeam: unknown, namespace: "shop", failed: "list CriticalServices"},
		"a cluster without the operator":                        {ofCluster: &meta.NoKindMatchError{}, ofTeam: unknown, failed: "list CriticalServices"},
		"an API server that does not answer":                    {ofTeam: errors.New("connection refused"), failed: "list ServiceFallbacks: connection refused"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			asked := 0
			reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
				&criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "all"}}, fallback("shop", "web"), fallback("elsewhere", "far"),
			).WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, from client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					asked++
					_, isOfTeam := list.(*criticalv2.ServiceFallbackList)
					switch {
					case isOfTeam && test.ofTeam != nil:
						return test.ofTeam
					case !isOfTeam && test.ofCluster != nil:
						return test.ofCluster
					}
					return from.List(ctx, list, options...)
				},
			}).Build()
			policies, unseen, err := access.Policies(t.Context(), reader, test.namespace, access.Unseen{})
			if test.failed != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.failed)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			var titles []string
			for _, policy := range policies {
				titles = append(titles, access.Title(policy))
			}
			g.Expect(titles).To(ConsistOf(test.want))
			g.Expect(unseen.Notices()).To(HaveLen(len(test.notices)))
			for i, notice := range test.notices {
				g.Expect(unseen.Notices()[i]).To(HavePrefix(notice))
			}
			g.Expect(unseen.Kinds()).To(HaveLen(test.kinds))

			asked = 0
			again, _, err := access.Policies(t.Context(), reader, test.namespace, unseen)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(HaveLen(len(policies)))
			g.Expect(asked).To(Equal(test.kinds), "what was refused is not asked again")
		})
	}
}

func TestWhatATeamKnowsOfTheStatusOfAService(t *testing.T) {
	g := NewWithT(t)
	web := fallback("shop", "web", criticalv2.ServiceStatus{Namespace: "shop", Name: "web", State: criticalv2.StateArmed})
	reader := golden.Team(t, []runtime.Object{web})
	status, err := access.StatusOf(t.Context(), reader, types.NamespacedName{Namespace: "shop", Name: "web"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status.State).To(Equal(criticalv2.StateArmed))
	_, err = access.StatusOf(t.Context(), reader, types.NamespacedName{Namespace: "shop", Name: "other"})
	g.Expect(access.Explain(err)).To(MatchError(And(ContainSubstring("list CriticalServices"), ContainSubstring(`"edit" by a RoleBinding`))),
		"a CriticalService may govern it")
}

func TestWhoGovernsByAStatus(t *testing.T) {
	cluster := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "all"}}
	enforced := cluster.DeepCopy()
	enforced.Spec.Precedence = criticalv2.PrecedenceEnforced
	naming, selecting := fallback("shop", "web"), fallback("shop", "rest")
	naming.Spec.Services = []string{"web"}
	by := func(kind, name string) *criticalv2.PolicyReference {
		return &criticalv2.PolicyReference{Kind: kind, Name: name}
	}
	for sentence, test := range map[string]struct {
		policy criticalv2.Policy
		by     *criticalv2.PolicyReference
		want   access.Governor
	}{
		"a CriticalService":                                  {cluster, nil, access.Governor{Kind: "CriticalService", Name: "all", Tier: "Default"}},
		"an enforced one":                                    {enforced, nil, access.Governor{Kind: "CriticalService", Name: "all", Tier: "Enforced"}},
		"a ServiceFallback that names it":                    {naming, nil, access.Governor{Kind: "ServiceFallback", Name: "web", Tier: "Named"}},
		"a ServiceFallback that selects it":                  {selecting, nil, access.Governor{Kind: "ServiceFallback", Name: "rest", Tier: "Selected"}},
		"only an enforced one comes before a team's":         {naming, by("CriticalService", "pci"), access.Governor{Kind: "CriticalService", Name: "pci", Tier: "Enforced"}},
		"of another ServiceFallback the tier is not known":   {selecting, by("ServiceFallback", "web"), access.Governor{Kind: "ServiceFallback", Name: "web"}},
		"nor of one that comes before a CriticalService":     {cluster, by("ServiceFallback", "web"), access.Governor{Kind: "ServiceFallback", Name: "web"}},
		"nor of a CriticalService that comes before another": {cluster, by("CriticalService", "a"), access.Governor{Kind: "CriticalService", Name: "a"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(access.GovernorOf(test.policy, &criticalv2.ServiceStatus{Namespace: "shop", Name: "web", OverriddenBy: test.by})).To(Equal(test.want))
		})
	}
}

func TestAServiceFallbackThatCountsForNothingGovernsLast(t *testing.T) {
	g := NewWithT(t)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"role": "front"}}}
	cluster := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "all"}}
	cluster.Spec.ServiceSelector.MatchLabels = service.Labels
	web := fallback("shop", "web")
	web.Spec.Services = []string{"web"}
	g.Expect(access.Title(access.Matching([]criticalv2.Policy{cluster, web}, service, nil)[0])).To(Equal("CriticalService all"), "the operator has not seen it, or follows none")
	web.Status.ObservedGeneration = 1
	first := func(reason string) string {
		web.Status.Conditions = []metav1.Condition{{Type: criticalv2.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}}
		return access.Title(access.Matching([]criticalv2.Policy{cluster, web}, service, nil)[0])
	}
	g.Expect(first(criticalv2.ConditionReasonNotProtected)).To(Equal("ServiceFallback web"))
	g.Expect(first("TooMany")).To(Equal("CriticalService all"))
}
