//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestATeamProtectsItsServiceWithoutRightsOutsideOfItsNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	team := w.team()
	application := w.deployment("shop")
	shop := w.service("shop").withTeam(team, pageSentence).ready()
	shop.condition(criticalv2.ConditionReady, metav1.ConditionTrue, criticalv2.ConditionReasonProtected)

	w.scale(application, 0)
	shop.standsIn(thePage)
	var read criticalv2.ServiceFallback
	w.Expect(team.Get(w.ctx, client.ObjectKeyFromObject(shop.policy), &read)).To(Succeed(), "the team reads the status")
	w.Expect(read.Status.Services.Covered).To(BeEquivalentTo(1))

	w.scale(application, 1)
	shop.standsBy("shop")
	w.Expect(team.Delete(w.ctx, &read)).To(Succeed())
	w.Eventually(func(g Gomega) []string {
		var left []string
		for _, endpoint := range shop.standbyEndpoints(g) {
			left = append(left, endpoint.Addresses...)
		}
		return left
	}).Should(BeEmpty(), "what the ServiceFallback had goes with it")
	shop.answeredBy("shop")
}

func TestAnAdministratorEnforcesAPageOverThatOfATeam(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	application := w.deployment("shop")
	shop := w.service("shop").withTeam(w.team(), contentSentence).ready()
	theirs := shop.policy
	w.scale(application, 0)
	shop.standsIn(theContent)
	o := shop.watched()
	o.answers(theContent)

	shop.withPage()
	change(w, shop.policy.(*criticalv2.CriticalService), func(p *criticalv2.CriticalService) { p.Spec.Precedence = criticalv2.PrecedenceEnforced })
	shop.becomesBy(theirs, criticalv2.StateIgnored, criticalv2.ReasonOverridden, shop.policy.GetName(), "Enforced")
	shop.conditionOf(theirs, criticalv2.ConditionOverridden, metav1.ConditionTrue, criticalv2.ConditionReasonPrecedence)
	o.answers(thePage)
	results := o.end()
	w.Expect(unanswered(results)).To(BeEmpty(), "requests that no one answered")
	w.Expect(tally(results)).To(And(HaveLen(2), HaveKey(theContent), HaveKey(thePage)))

	shop.standsIn(thePage)
	w.Expect(shop.outages(theirs)).To(HaveLen(1), "the outage began under the team's")
	w.Expect(shop.outages(shop.policy)).To(BeEmpty(), "and is not counted again")
	w.scale(application, 1)
	shop.standsBy("shop")
}

// outages are those of the Service in the history of a policy.
func (s *service) outages(policy client.Object) []criticalv2.Outage {
	s.t.Helper()
	current := observed(policy)
	s.Expect(s.Get(s.ctx, client.ObjectKeyFromObject(policy), current)).To(Succeed())
	return slices.DeleteFunc(current.Observed().Outages, func(o criticalv2.Outage) bool { return o.Namespace != s.namespace || o.Name != s.object.Name })
}

// The Pods that answer belong to all policies that match: Kubernetes removes what only a deleted one owned.
func TestADefaultTakesOverWhereATeamDeletesItsFallbackInMidOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	team := w.team()
	application := w.deployment("shop")
	shop := w.service("shop").withTeam(team, pageSentence).ready()
	theirs := shop.policy
	shop.withPage()
	shop.becomes(criticalv2.StateIgnored, criticalv2.ReasonOverridden)
	w.scale(application, 0)
	shop.becomesBy(theirs, criticalv2.StateCovered, criticalv2.ReasonFallbackServing)
	o := w.watch("shop", shop.url(), 50)
	o.answers(thePage)

	began := time.Now()
	w.Expect(team.Delete(w.ctx, theirs)).To(Succeed())
	shop.becomes(criticalv2.StateCovered, criticalv2.ReasonFallbackServing)
	o.keeps(thePage, 5*time.Second)
	o.kept(thePage, began, time.Now())
	o.end()
	w.scale(application, 1)
	shop.standsBy("shop")
}
