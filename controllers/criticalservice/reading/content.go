package reading

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/internal/contract/page"
)

// contents are the ConfigMaps with content of teams that a page names. What is known of
// one is what is wrong with it.
type contents struct{ observe.Observer }

// metadata is needed while the page of a Service names a content.
func (c contents) metadata(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	needed := false
	c.eachUser(ctx, key, func(*corev1.Service) { needed = true })
	if !needed {
		return nil, nil
	}
	return c.ContentMetadata(ctx, key)
}

// read lists, because the operator may list ConfigMaps, and not get any by name.
func (c contents) read(ctx context.Context, key types.NamespacedName) (*metav1.ObjectMeta, []page.Problem, error) {
	var configs corev1.ConfigMapList
	err := c.Live.List(ctx, &configs, client.InNamespace(key.Namespace), client.MatchingFields{metav1.ObjectNameField: key.Name},
		client.MatchingLabels{criticalv2.LabelResponder: criticalv2.ResponderContent})
	if err != nil || len(configs.Items) == 0 {
		return nil, nil, err
	}
	config := &configs.Items[0]
	files := map[string][]byte{}
	for name, text := range config.Data {
		files[name] = []byte(text)
	}
	maps.Copy(files, config.BinaryData)
	_, problems := page.Parse(files)
	return &config.ObjectMeta, problems, nil
}

func (c contents) same(last, next []page.Problem) bool { return slices.Equal(last, next) }

// eachUser calls f with every Service whose page names a content.
func (c contents) eachUser(ctx context.Context, key types.NamespacedName, f func(*corev1.Service)) {
	naming := slices.DeleteFunc(observe.Policies(ctx, c.Cached, key.Namespace), func(policy criticalv2.Policy) bool {
		named := policy.Protection().Fallback.Page
		return named == nil || named.ConfigMapName != key.Name
	})
	observe.EachSelectedIn(ctx, c.Cached, key.Namespace, naming, f)
}
