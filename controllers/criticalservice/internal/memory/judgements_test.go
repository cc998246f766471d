package memory_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
)

func judgement(service types.NamespacedName, state criticalv2.ServiceState, at time.Time, policies ...string) summary.Judgement {
	made := summary.Judgement{Service: service, At: at, State: state}
	for _, name := range policies {
		made.Matching = append(made.Matching, summary.Policy{Key: types.NamespacedName{Name: name}})
	}
	return made
}

// names are the Services of some Judgements.
func names(judged []*memory.Judged) []string {
	found := []string{}
	for _, known := range judged {
		found = append(found, known.Service.Name)
	}
	return found
}

func TestJudgementsAreFoundByCriticalService(t *testing.T) {
	g := NewWithT(t)
	var known memory.Judgements
	now := time.Unix(1_800_000_000, 0)
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: name} }
	known.Set(key("web"), judgement(key("web"), criticalv2.StateArmed, now, "a", "b"))
	known.Set(key("cart"), judgement(key("cart"), criticalv2.StateArmed, now, "b"))
	g.Expect(names(known.Of(types.NamespacedName{Name: "a"}))).To(ConsistOf("web"))
	g.Expect(names(known.Of(types.NamespacedName{Name: "b"}))).To(ConsistOf("web", "cart"))
	g.Expect(names(known.All())).To(ConsistOf("web", "cart"))

	known.Set(key("web"), judgement(key("web"), criticalv2.StateArmed, now, "b"))
	g.Expect(known.Of(types.NamespacedName{Name: "a"})).To(BeEmpty(), "it does not match any more")
	known.Delete(key("web"))
	g.Expect(names(known.Of(types.NamespacedName{Name: "b"}))).To(ConsistOf("cart"))
	g.Expect(known.Get(key("web"))).To(BeNil())
}

func TestWhatIsCountedOfAServiceGoesWithIt(t *testing.T) {
	g := NewWithT(t)
	var known memory.Judgements
	web, now := types.NamespacedName{Namespace: "shop", Name: "web"}, time.Unix(1_800_000_000, 0)
	known.CountOutage(web)
	g.Expect(known.Keys()).To(BeEmpty(), "what is not known is not counted")
	known.Set(web, judgement(web, criticalv2.StateArmed, now, "a"))
	known.Set(web, judgement(web, criticalv2.StateCovered, now.Add(time.Second), "a"))
	known.CountOutage(web)
	known.Set(web, judgement(web, criticalv2.StateCovered, now.Add(time.Minute), "a"))
	g.Expect(known.Get(web).Outages).To(Equal(1))
	g.Expect(known.Get(web).Since).To(Equal(now.Add(time.Second)), "its state began then")
	known.Delete(web)
	known.Set(web, judgement(web, criticalv2.StateCovered, now, "a"))
	g.Expect(known.Get(web).Outages).To(BeZero())
}

func TestWhatIsRememberedOfANamespaceGoesWithItsLastService(t *testing.T) {
	g := NewWithT(t)
	known := &memory.Memory{}
	service := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("web-%d", i)}
	}
	known.Tables.Set("shop", memory.Table{})
	known.Tables.Set("bank", memory.Table{})
	for i := range 3 {
		known.Judgements.Set(service(i), judgement(service(i), criticalv2.StateArmed, time.Time{}, "a"))
		known.Judgements.Set(service(i), judgement(service(i), criticalv2.StateCovered, time.Time{}, "a", "b"))
	}
	for i := range 3 {
		g.Expect(known.Tables.Keys()).To(ConsistOf("shop", "bank"))
		known.Forget(service(i))
	}
	g.Expect(known.Tables.Keys()).To(ConsistOf("bank"))
}

// Two controllers decide about a Service. One of them may still work on what it saw when the other one has forgotten it.
func TestAServiceThatWasForgottenIsNotKnownAgainByWhatWasDecidedBefore(t *testing.T) {
	g := NewWithT(t)
	var known memory.Judgements
	web, now := types.NamespacedName{Namespace: "shop", Name: "web"}, time.Unix(1_800_000_000, 0)
	known.Set(web, judgement(web, criticalv2.StateArming, now, "a"))
	armed := judgement(web, criticalv2.StateArmed, now.Add(time.Second), "a")
	last, stored := known.Amend(web, armed.At, &armed)
	g.Expect(stored).To(BeTrue())
	g.Expect(last.State).To(Equal(criticalv2.StateArming))
	known.Delete(web)
	_, stored = known.Amend(web, armed.At, &armed)
	g.Expect(stored).To(BeFalse())
	g.Expect(known.Keys()).To(BeEmpty())
}
