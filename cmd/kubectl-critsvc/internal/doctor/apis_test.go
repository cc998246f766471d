package doctor

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/doctor/checkup"
)

func TestWhichAPIsAreAnswered(t *testing.T) {
	apiService := func(name string, spec, status map[string]any) client.Object {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": status}}
		object.SetGroupVersionKind(apiServiceKind)
		object.SetName(name)
		return object
	}
	available := func(status, reason, message string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": status, "reason": reason, "message": message}}}
	}
	ours := map[string]any{"service": map[string]any{"name": "critical-service-workloads-webhook"}}
	g := NewWithT(t)
	c := &collector{Client: clientWith(t, func(any) error { return nil },
		apiService("v1alpha1.subresources.mycrd.com", ours, available("False", "MissingEndpoints", "no endpoints")),
		apiService("v1alpha1.etcdaas.devoxx2018", ours, available("True", "Passed", "")),
		apiService("v1alpha1.etcdas.devoxx2018", ours, nil),
		apiService("v1.zalando.org", map[string]any{"group": "zalando.org"}, available("True", "Local", "")),
		apiService("v1.other", ours, available("False", "x", "")),
	)}
	g.Expect(c.apis(t.Context()).Value).To(Equal([]checkup.API{
		{Name: "v1alpha1.subresources.mycrd.com", Unavailable: "MissingEndpoints: no endpoints"},
		{Name: "v1alpha1.etcdaas.devoxx2018"},
		{Name: "v1alpha1.etcdas.devoxx2018", Unavailable: "the API server has not checked it"},
	}), "and neither those of CustomResourceDefinitions nor of others")
}
