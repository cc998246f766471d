package v2_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestWhichServicesASpecSelects(t *testing.T) {
	frontends := metav1.LabelSelector{MatchLabels: map[string]string{"role": "frontend"}}
	for sentence, test := range map[string]struct {
		spec criticalv2.CriticalServiceSpec
		want bool
	}{
		"by its own labels, in every namespace": {criticalv2.CriticalServiceSpec{ServiceSelector: frontends}, true},
		"by an expression": {criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "role", Operator: metav1.LabelSelectorOpExists},
		}}}, true},
		"not with another label":                     {criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "backend"}}}, false},
		"in a namespace of the list":                 {criticalv2.CriticalServiceSpec{ServiceSelector: frontends, Namespaces: []string{"other", "shop"}}, true},
		"not in another":                             {criticalv2.CriticalServiceSpec{ServiceSelector: frontends, Namespaces: []string{"other"}}, false},
		"in a namespace with a label":                {criticalv2.CriticalServiceSpec{ServiceSelector: frontends, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "web"}}}, true},
		"not in one without it":                      {criticalv2.CriticalServiceSpec{ServiceSelector: frontends, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "data"}}}, false},
		"in any namespace, if its selector is empty": {criticalv2.CriticalServiceSpec{ServiceSelector: frontends, NamespaceSelector: &metav1.LabelSelector{}}, true},
		"none, if it names no label":                 {criticalv2.CriticalServiceSpec{}, false},
		"none, if the selector is not valid": {criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "role", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"a b"}},
		}}}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := test.spec.Selects("shop", map[string]string{"team": "web"}, map[string]string{"role": "frontend", "tier": "web"})
			NewWithT(t).Expect(got).To(Equal(test.want))
			service := &metav1.ObjectMeta{Namespace: "shop", Labels: map[string]string{"role": "frontend", "tier": "web"}}
			policy := &criticalv2.CriticalService{Spec: test.spec}
			NewWithT(t).Expect(policy.Selector()(service, map[string]string{"team": "web"})).To(Equal(test.want), "parsed once")
		})
	}
}
