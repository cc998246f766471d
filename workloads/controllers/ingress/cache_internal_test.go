package ingress

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// hostile is an Ingress as large as a user can make it.
func hostile() *networkingv1.Ingress {
	made := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{}}}
	for i := range 100 {
		made.Annotations[fmt.Sprintf("note-%d", i)] = strings.Repeat("x", 2000)
	}
	made.Annotations["foo"] = strings.Repeat("y", 50_000)
	made.Annotations[workloadsv1.AnnotationFallback] = strings.Repeat("z", 50_000)
	rule := networkingv1.IngressRule{Host: strings.Repeat("h", 200), IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}}
	for i := range 5000 {
		rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{Path: "/", Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: fmt.Sprintf("%s-%d", strings.Repeat("s", 58), i)},
		}})
	}
	made.Spec.Rules = []networkingv1.IngressRule{rule}
	return made
}

func TestAHostileIngressTakesLittleMemory(t *testing.T) {
	g := NewWithT(t)
	options := Options{Annotations: map[string]string{"foo": "bar"}}
	slim, err := options.slimIngress(hostile())
	g.Expect(err).NotTo(HaveOccurred())
	text, err := json.Marshal(slim)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(text)).To(BeNumerically("<", 20_000))
	g.Expect(split(slim.(*networkingv1.Ingress).Annotations[noteServices])).To(HaveLen(maxServices))
	again, err := options.slimIngress(slim)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeIdenticalTo(slim), "it is kept once")
}

func TestOnlyWhatTheOperatorAppliedIsItsOwn(t *testing.T) {
	fields := func(manager string, operation metav1.ManagedFieldsOperationType, subresource, raw string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(raw)}
	}
	const foo = `{"f:metadata":{"f:annotations":{".":{},"f:foo":{},"f:a.b/c":{}}}}`
	for sentence, c := range map[string]struct {
		entry metav1.ManagedFieldsEntry
		want  []string
	}{
		"what it applied":                   {fields(workloadsv1.ManagedBy, metav1.ManagedFieldsOperationApply, "", foo), []string{"a.b/c", "foo"}},
		"what another applied":              {fields("argocd", metav1.ManagedFieldsOperationApply, "", foo), nil},
		"what was updated under its name":   {fields(workloadsv1.ManagedBy, metav1.ManagedFieldsOperationUpdate, "", foo), nil},
		"what was applied to a subresource": {fields(workloadsv1.ManagedBy, metav1.ManagedFieldsOperationApply, "status", foo), nil},
		"what cannot be read":               {fields(workloadsv1.ManagedBy, metav1.ManagedFieldsOperationApply, "", "{"), nil},
		"nothing":                           {metav1.ManagedFieldsEntry{Manager: workloadsv1.ManagedBy, Operation: metav1.ManagedFieldsOperationApply}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(ownedKeys([]metav1.ManagedFieldsEntry{c.entry})).To(Equal(c.want))
		})
	}
}

func TestBackendsThatAreNoServicesAreIgnored(t *testing.T) {
	g := NewWithT(t)
	g.Expect(servicesOf(&networkingv1.IngressSpec{
		DefaultBackend: &networkingv1.IngressBackend{}, Rules: []networkingv1.IngressRule{{}, {Host: "shop.example.com"}},
	})).To(BeEmpty())
}

func TestOfASliceIsKeptWhetherItIsPromoted(t *testing.T) {
	g := NewWithT(t)
	for sentence, c := range map[string]struct {
		ready *bool
		want  bool
	}{
		"ready":               {new(true), true},
		"standby":             {new(false), false},
		"nothing means ready": {nil, true},
	} {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"note": "long"}, Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
			Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: c.ready}}},
		}
		slim, err := slimSlice(slice)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(promoted(slim.(*discoveryv1.EndpointSlice))).To(Equal(c.want), sentence)
		g.Expect(slim.(*discoveryv1.EndpointSlice).Annotations).To(BeEmpty())
	}
}
