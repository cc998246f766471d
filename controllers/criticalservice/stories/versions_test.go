package stories_test

import (
	"context"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestAnObjectWrittenAsV1IsReadAsV2(t *testing.T) {
	g := NewWithT(t)
	written := &criticalv1.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: "written-as-v1"},
		Spec: criticalv1.CriticalServiceSpec{
			Namespace:   "nowhere",
			MatchLabels: []criticalv1.LabelMatch{{Key: "role", Value: "frontend"}, {Key: "app", Value: "shop"}},
		},
	}
	g.Expect(cluster.Client.Create(t.Context(), written)).To(Succeed())
	remove(t, written.Name)

	g.Expect(specOf(t, "v2", written.Name)).To(MatchYAML(`
namespaces: [nowhere]
serviceSelector: {matchLabels: {role: frontend, app: shop}}
activationDelay: 0s
deactivationDelay: 0s
precedence: Default
fallback: {podTemplate: {activation: OnDemand, publish: SelectorLabels}}`))
	read := &criticalv1.CriticalService{}
	g.Expect(cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(written), read)).To(Succeed())
	g.Expect(read.Spec).To(Equal(written.Spec), "labels keep their order")
	g.Expect(read.Annotations).To(BeEmpty())
}

func TestAClientOfV1LeavesAloneWhatItDoesNotKnow(t *testing.T) {
	g := NewWithT(t)
	written := newObject(t, `{namespaces: [nowhere], activationDelay: 5s, serviceSelector: {matchLabels: {role: frontend}}, fallback: {page: {message: Back soon., probes: {paths: []}}}}`)
	written.SetName("written-as-v2")
	g.Expect(cluster.Client.Create(t.Context(), written)).To(Succeed())
	remove(t, written.GetName())

	old := &criticalv1.CriticalService{}
	g.Expect(cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(written), old)).To(Succeed())
	g.Expect(old.Spec).To(Equal(criticalv1.CriticalServiceSpec{Namespace: "nowhere", MatchLabels: []criticalv1.LabelMatch{{Key: "role", Value: "frontend"}}}))
	changed := old.DeepCopy()
	changed.Spec.MatchLabels[0].Value = "backend"
	g.Expect(cluster.Client.Patch(t.Context(), changed, client.MergeFrom(old))).To(Succeed())

	want := written.DeepCopy()
	g.Expect(unstructured.SetNestedField(want.Object, "backend", "spec", "serviceSelector", "matchLabels", "role")).To(Succeed())
	g.Expect(specOf(t, "v2", written.GetName())).To(MatchYAML(encodeYAML(t, want.Object["spec"])))
}

// Server-side apply converts what each manager owns to the version in which it
// wrote.
func TestManagersOfBothVersionsShareAnObject(t *testing.T) {
	g := NewWithT(t)
	apply := func(version, manager, spec string) {
		object := newObject(t, spec)
		object.SetAPIVersion("mycrd.com/" + version)
		object.SetName("applied-as-both")
		g.Expect(cluster.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(manager), client.ForceOwnership)).To(Succeed())
	}
	apply("v1", "old", `{namespace: nowhere, matchLabels: [{key: role, value: frontend}]}`)
	remove(t, "applied-as-both")
	apply("v2", "new", `{serviceSelector: {matchLabels: {role: frontend}}, activationDelay: 7s}`)
	apply("v1", "old", `{namespace: elsewhere, matchLabels: [{key: role, value: frontend}]}`)
	g.Expect(specOf(t, "v2", "applied-as-both")).To(MatchYAML(`
namespaces: [elsewhere]
serviceSelector: {matchLabels: {role: frontend}}
activationDelay: 7s
deactivationDelay: 0s
precedence: Default
fallback: {podTemplate: {activation: OnDemand, publish: SelectorLabels}}`))
}

// remove deletes an object when the test ends.
func remove(t *testing.T, name string) {
	t.Helper()
	t.Cleanup(func() {
		object := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := cluster.Client.Delete(context.WithoutCancel(t.Context()), object); err != nil {
			t.Error(err)
		}
	})
}

// specOf is the spec as the API server shows it in a version.
func specOf(t *testing.T, version, name string) string {
	t.Helper()
	object := newObject(t, `{}`)
	object.SetAPIVersion("mycrd.com/" + version)
	if err := cluster.Client.Get(t.Context(), client.ObjectKey{Name: name}, object); err != nil {
		t.Fatal(err)
	}
	return encodeYAML(t, object.Object["spec"])
}

func encodeYAML(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.JSONToYAML(data)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An object without a fallback has the page stored by default, which no field manager owns:
// asking for another kind later must not stumble over it.
func TestTheDefaultPageGivesWayToAnotherFallback(t *testing.T) {
	g := NewWithT(t)
	apply := func(spec string) error {
		object := newObject(t, spec)
		object.SetName("turns-to-a-service")
		return cluster.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("team"))
	}
	g.Expect(apply(`{serviceSelector: {matchLabels: {role: frontend}}}`)).To(Succeed())
	remove(t, "turns-to-a-service")
	g.Expect(apply(`{serviceSelector: {matchLabels: {role: frontend}}, fallback: {service: {name: spare}}}`)).To(Succeed())

	back := newObject(t, `{}`)
	back.SetName("turns-to-a-service")
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"fallback":{"service":null,"page":{}}}}`))
	g.Expect(cluster.Client.Patch(t.Context(), back, patch)).To(Succeed())
	merged := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"fallback":{"page":null,"service":{"name":"spare"}}}}`))
	g.Expect(cluster.Client.Patch(t.Context(), back, merged)).To(Succeed())
}
