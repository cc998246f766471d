package testenv

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

// What differs from one run of a story to the next: fields, among them hashes over UIDs and names, and UIDs and times in any text.
var (
	chance = []string{
		"resourceVersion", "managedFields", "nodePort", "clusterIP", "clusterIPs", "podIP", "podIPs", "mycrd.com/applied-hash", "workloads.mycrd.com/applied-hash",
	}
	uid       = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	timestamp = regexp.MustCompile(`[0-9-]{10}T[0-9:.]+Z`)
)

// Describe says all about the objects of some kinds that a story leaves behind, but for what is chance: the same story has
// the same description. Of a Secret it says the keys.
func (w *World) Describe(kinds ...client.ObjectList) string {
	w.T.Helper()
	var text strings.Builder
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, w.Cluster.Client.Scheme())
		w.Expect(err).NotTo(gomega.HaveOccurred())
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		w.Expect(w.Cluster.Client.List(w.T.Context(), list, client.InNamespace(w.Namespace))).To(gomega.Succeed())
		slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
		for i := range list.Items {
			content := list.Items[i].Object
			if data, isSecret := content["data"].(map[string]any); isSecret && list.Items[i].GetKind() == "Secret" {
				content["data"] = slices.Sorted(maps.Keys(data))
			}
			described, err := yaml.Marshal(withoutChance(content))
			w.Expect(err).NotTo(gomega.HaveOccurred())
			text.WriteString("---\n" + string(described))
		}
	}
	described := strings.ReplaceAll(text.String(), w.Namespace, "WORLD")
	return timestamp.ReplaceAllString(uid.ReplaceAllString(described, "UID"), "TIME")
}

// withoutChance leaves those fields out, however deep they are.
func withoutChance(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, inner := range value {
			if !slices.Contains(chance, key) {
				kept[key] = withoutChance(inner)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i := range value {
			kept[i] = withoutChance(value[i])
		}
		return kept
	default:
		return value
	}
}
