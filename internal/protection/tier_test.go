package protection_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

var front = metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}

func critical(name string, precedence criticalv2.Precedence) *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: front, Precedence: precedence},
	}
}

func fallbackOf(namespace, name string, spec criticalv2.ServiceFallbackSpec) *criticalv2.ServiceFallback {
	return &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
}

func TestThePoliciesOfAServiceAreInTiers(t *testing.T) {
	g := NewWithT(t)
	service := shop()
	naming := criticalv2.ServiceFallbackSpec{Services: []string{"other", service.Name}}
	selecting := criticalv2.ServiceFallbackSpec{ServiceSelector: &front}
	want := []criticalv2.Policy{
		critical("y", criticalv2.PrecedenceEnforced), critical("z", criticalv2.PrecedenceEnforced),
		fallbackOf(service.Namespace, "w", naming), fallbackOf(service.Namespace, "x", naming),
		fallbackOf(service.Namespace, "u", selecting), fallbackOf(service.Namespace, "v", selecting),
		critical("a", criticalv2.PrecedenceDefault), critical("b", ""),
	}
	elsewhere := []criticalv2.Policy{
		fallbackOf("elsewhere", "a", naming), fallbackOf("elsewhere", "b", selecting),
		fallbackOf(service.Namespace, "c", criticalv2.ServiceFallbackSpec{Services: []string{"other"}}),
		fallbackOf(service.Namespace, "d", criticalv2.ServiceFallbackSpec{ServiceSelector: &metav1.LabelSelector{}}),
		fallbackOf(service.Namespace, "e", criticalv2.ServiceFallbackSpec{}),
	}
	all := slices.Concat(elsewhere, want)
	for range 20 {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		g.Expect(protection.Matching(all, service, nil)).To(Equal(want))
		g.Expect(protection.Governors(all, nil)(service)).To(Equal(want[0]))
	}
	var tiers []string
	for _, policy := range want {
		tiers = append(tiers, protection.TierOf(policy, service.Name).String())
	}
	g.Expect(tiers).To(Equal([]string{"Enforced", "Enforced", "Named", "Named", "Selected", "Selected", "Default", "Default"}))
}

func TestOptingOutBeatsAllButAnEnforcedPolicy(t *testing.T) {
	service := shop()
	service.Annotations = map[string]string{criticalv2.AnnotationCriticalService: criticalv2.OptOut}
	for sentence, test := range map[string]struct {
		governor criticalv2.Policy
		want     bool
	}{
		"no policy":             {nil, true},
		"a CriticalService":     {critical("a", criticalv2.PrecedenceDefault), true},
		"a ServiceFallback":     {fallbackOf(service.Namespace, "a", criticalv2.ServiceFallbackSpec{Services: []string{service.Name}}), true},
		"an enforced policy":    {critical("a", criticalv2.PrecedenceEnforced), false},
		"a policy of version 1": {critical("a", ""), true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(protection.OptedOut(service, test.governor)).To(Equal(test.want))
			g.Expect(protection.OptedOut(shop(), test.governor)).To(BeFalse())
		})
	}
}

// A team may make any number of them, and each Service is compared with all that count.
func TestTheOldestFallbacksOfANamespaceCount(t *testing.T) {
	g := NewWithT(t)
	var all []criticalv2.Policy
	for i := range protection.MaxFallbacks + 3 {
		fallback := fallbackOf("team", fmt.Sprintf("%03d", protection.MaxFallbacks+3-i), criticalv2.ServiceFallbackSpec{})
		fallback.CreationTimestamp = metav1.NewTime(time.Unix(int64(1_800_000_000+i), 0))
		all = append(all, fallback)
	}
	oldest := slices.Clone(all)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	counting, next := protection.Counting(all)
	g.Expect(counting).To(Equal(oldest[:protection.MaxFallbacks]), "a new one takes the place of none")
	g.Expect(next).To(Equal(oldest[protection.MaxFallbacks]))

	counting, next = protection.Counting(oldest[:protection.MaxFallbacks])
	g.Expect(counting).To(HaveLen(protection.MaxFallbacks))
	g.Expect(next).To(BeNil())
}
