package reading

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/internal/controller/read"
)

// templates are the PodTemplates that protected Services need. What is known of one is
// what its Pods are made from; nil if it is too large.
type templates struct{ observe.Observer }

// metadata is needed while a CriticalService names a PodTemplate.
func (t templates) metadata(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	if !t.Settings.Templates().IsNamed(key, observe.Policies(ctx, t.Cached, key.Namespace)) {
		return nil, nil
	}
	return t.TemplateMetadata(ctx, t.Cached, key)
}

func (t templates) read(ctx context.Context, key types.NamespacedName) (*metav1.ObjectMeta, *corev1.PodTemplate, error) {
	found, err := read.Existing[corev1.PodTemplate](ctx, t.Live, key)
	if err != nil || found == nil {
		return nil, nil, err
	}
	text, err := json.Marshal(found.Template)
	if err != nil || len(text) > decide.MaxTemplate || observe.IsTooLarge(&found.Template) {
		return &found.ObjectMeta, nil, err
	}
	return &found.ObjectMeta, &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: found.Namespace, Name: found.Name, UID: found.UID, ResourceVersion: found.ResourceVersion},
		Template:   found.Template,
	}, nil
}

// same reports whether the same Pods are made from both.
func (t templates) same(last, next *corev1.PodTemplate) bool {
	if last == nil || next == nil {
		return last == next
	}
	return equality.Semantic.DeepEqual(last.Template, next.Template)
}

func (t templates) eachUser(ctx context.Context, key types.NamespacedName, f func(*corev1.Service)) {
	observe.EachUserOfTemplate(ctx, t.Cached, t.Settings.Templates(), key, f)
}
