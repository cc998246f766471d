package v2_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestWhatTheSchemaCannotExpress(t *testing.T) {
	const badValue = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
		"with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
	for sentence, test := range map[string]struct {
		change func(*criticalv2.CriticalServiceSpec)
		want   []string
	}{
		"a label that a Service can have":   {change: func(*criticalv2.CriticalServiceSpec) {}},
		"a delay of some milliseconds":      {change: func(s *criticalv2.CriticalServiceSpec) { s.ActivationDelay.Duration = 1500 * time.Millisecond }},
		"a prefix, and a value that is not": {change: func(s *criticalv2.CriticalServiceSpec) { s.ServiceSelector.MatchLabels["example.com/tier"] = "" }},
		"a value with a space": {
			change: func(s *criticalv2.CriticalServiceSpec) { s.ServiceSelector.MatchLabels["role"] = "front end" },
			want:   []string{`spec.serviceSelector.matchLabels[role]: Invalid value: "front end": ` + badValue},
		},
		"a key that no label has": {
			change: func(s *criticalv2.CriticalServiceSpec) { s.ServiceSelector.MatchLabels["ro le"] = "frontend" },
			want: []string{`spec.serviceSelector.matchLabels: Invalid value: "ro le": name part must consist of alphanumeric characters, '-', '_' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`},
		},
		"a value of an expression": {
			change: func(s *criticalv2.CriticalServiceSpec) {
				s.ServiceSelector.MatchExpressions = []metav1.LabelSelectorRequirement{
					{Key: "tier", Operator: metav1.LabelSelectorOpExists},
					{Key: "role", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "a b"}},
				}
			},
			want: []string{`spec.serviceSelector.matchExpressions[1].values[1]: Invalid value: "a b": ` + badValue},
		},
		"the selector of namespaces too": {
			change: func(s *criticalv2.CriticalServiceSpec) {
				s.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "-"}}
			},
			want: []string{`spec.namespaceSelector.matchLabels[team]: Invalid value: "-": ` + badValue},
		},
		"a delay of half a millisecond": {
			change: func(s *criticalv2.CriticalServiceSpec) {
				s.ActivationDelay.Duration, s.DeactivationDelay.Duration = 500*time.Microsecond, time.Second+time.Nanosecond
			},
			want: []string{
				`spec.activationDelay: Invalid value: "500µs": must be a whole number of milliseconds, for example '250ms'`,
				`spec.deactivationDelay: Invalid value: "1.000000001s": must be a whole number of milliseconds, for example '250ms'`,
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			spec := criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "frontend"}}}
			test.change(&spec)
			var got []string
			for _, err := range spec.ValidateBeyondSchema() {
				got = append(got, err.Error())
			}
			g.Expect(got).To(Equal(test.want))
		})
	}
}

// What is refused is what matches nothing, no more and no less.
func TestASelectorIsRefusedIfItCannotBeUsed(t *testing.T) {
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"", "role", "a b", "example.com/role", "/role", "-", "Example.com/a", "x/y/z", "ä"}
	word := func() string { return words[random.IntN(len(words))] }
	operators := []metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist", "Gt", ""}
	refused := 0
	for range 5000 {
		selector := metav1.LabelSelector{MatchLabels: map[string]string{}}
		for range random.IntN(2) {
			selector.MatchLabels[word()] = word()
		}
		for range random.IntN(2) {
			requirement := metav1.LabelSelectorRequirement{Key: word(), Operator: operators[random.IntN(len(operators))]}
			for range random.IntN(3) {
				requirement.Values = append(requirement.Values, word())
			}
			selector.MatchExpressions = append(selector.MatchExpressions, requirement)
		}
		_, err := metav1.LabelSelectorAsSelector(&selector)
		errs := (&criticalv2.CriticalServiceSpec{ServiceSelector: selector}).ValidateSelectors()
		if err == nil {
			g.Expect(errs).To(BeEmpty(), "%v", selector)
			continue
		}
		refused++
		g.Expect(errs).NotTo(BeEmpty(), "%v: %v", selector, err)
	}
	g.Expect(refused).To(And(BeNumerically(">", 1000), BeNumerically("<", 4000)))
}

// A status that contains the errors must not change without cause.
func TestErrorsOfASelectorStandStill(t *testing.T) {
	g := NewWithT(t)
	spec := criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{
		"a": "-", "b": "-", "c": "-", "d ": "-", "e ": "", "f": "-",
	}}}
	first := spec.ValidateSelectors().ToAggregate().Error()
	for range 100 {
		g.Expect(spec.ValidateSelectors().ToAggregate().Error()).To(Equal(first))
	}
}

// What the tests of the schema call valid is valid.
func TestNothingValidIsRefused(t *testing.T) {
	files, err := filepath.Glob("../../controllers/criticalservice/stories/testdata/v2/valid/*.yaml")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		var object criticalv2.CriticalService
		g.Expect(yaml.Unmarshal(data, &object)).To(Succeed(), file)
		g.Expect(object.Spec.ValidateBeyondSchema()).To(BeEmpty(), file)
	}
}
