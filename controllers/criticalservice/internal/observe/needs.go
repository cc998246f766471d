package observe

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/protection"
)

// readNeeds reads what the fallback of the Service rests on.
func (o *Observer) readNeeds(ctx context.Context, from client.Reader, snap *decide.Snapshot) error {
	needs := snap.Needs()
	if needs.Template.Name != "" && o.mayRead(needs.Template.Namespace) {
		template, err := o.template(ctx, needs.Template, snap)
		if err != nil {
			return err
		}
		if template != nil {
			snap.Template, snap.TemplateTooLarge = template.Value, template.Value == nil
		}
	}
	if needs.Content.Name != "" {
		// Nothing is taken away for its sake, so that the cache is always enough.
		content, err := o.ContentMetadata(ctx, needs.Content)
		if err != nil {
			return err
		}
		if content != nil {
			snap.Content = &decide.Content{}
			if known := o.Memory.Contents.Of(needs.Content, content.UID); known != nil {
				*snap.Content = decide.Content{Judged: true, Problems: known.Value}
			}
		}
	}
	if needs.Neighbors {
		if err := o.readNeighbors(ctx, snap); err != nil {
			return err
		}
	}
	for _, name := range needs.Backups {
		if err := o.readBackup(ctx, from, name, snap); err != nil {
			return err
		}
	}
	return nil
}

// readNeighbors reads the Services whose fallback Pods the Service may select. Nothing
// is taken away for their sake, so that the cache is always enough.
func (o *Observer) readNeighbors(ctx context.Context, snap *decide.Snapshot) error {
	var services corev1.ServiceList
	if err := o.Cached.List(ctx, &services, client.InNamespace(snap.Service.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	templateOf := snap.NeighborTemplates()
	for i := range services.Items {
		service := &services.Items[i]
		name := templateOf(service)
		if service.Name == snap.Service.Name || name.Name == "" || !o.mayRead(name.Namespace) {
			continue
		}
		template, err := o.template(ctx, name, snap)
		if err != nil {
			return err
		}
		if template != nil && template.Value != nil {
			snap.Neighbors = append(snap.Neighbors, decide.Neighbor{Service: service, Template: template.Value})
		}
	}
	return nil
}

// ContentMetadata is the metadata of a ConfigMap that its owner agrees to publish; nil
// if there is none. Of content, the cache holds no more.
func (o *Observer) ContentMetadata(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	content := &metav1.PartialObjectMetadata{}
	content.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := client.IgnoreNotFound(o.Cached.Get(ctx, key, content))
	if err != nil || content.Labels[criticalv2.LabelResponder] != criticalv2.ResponderContent {
		return nil, err
	}
	return content, nil
}

// template is what is known of a PodTemplate; nil if there is none, or it was not read yet,
// which the Snapshot notes.
func (o *Observer) template(ctx context.Context, key types.NamespacedName, snap *decide.Snapshot) (*memory.Reading[*corev1.PodTemplate], error) {
	metadata, err := o.TemplateMetadata(ctx, o.Cached, key)
	if err != nil || metadata == nil {
		return nil, err
	}
	known := o.Memory.Templates.Of(key, metadata.UID)
	if known == nil && !slices.Contains(snap.Unread, key) {
		snap.Unread = append(snap.Unread, key)
	}
	return known, nil
}

// confirmTemplate makes sure that the PodTemplate is the version that was read: a Pod
// that was made from another one may be given up.
func (o *Observer) confirmTemplate(ctx context.Context, snap *decide.Snapshot) error {
	if snap.Template == nil {
		return nil
	}
	key := client.ObjectKeyFromObject(snap.Template)
	metadata, err := o.TemplateMetadata(ctx, o.Live, key)
	if err != nil {
		return err
	}
	if metadata == nil || metadata.UID != snap.Template.UID {
		snap.Template = nil
	} else if metadata.ResourceVersion != snap.Template.ResourceVersion {
		snap.Template, snap.Unread = nil, append(snap.Unread, key)
	}
	return nil
}

// TemplateMetadata is the metadata of a PodTemplate; nil if there is none. The cache
// holds no more of it.
func (o *Observer) TemplateMetadata(ctx context.Context, from client.Reader, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	template := templateMetadata()
	if err := from.Get(ctx, key, template); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return template, nil
}

func (o *Observer) readBackup(ctx context.Context, from client.Reader, name types.NamespacedName, snap *decide.Snapshot) error {
	service, err := read.Existing[corev1.Service](ctx, from, name)
	if err != nil {
		return err
	}
	var endpoints discoveryv1.EndpointSliceList
	if err := from.List(ctx, &endpoints, client.InNamespace(name.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: name.Name}); err != nil {
		return err
	}
	if snap.Backups == nil {
		snap.Backups = map[string]decide.Backup{}
	}
	snap.Backups[name.Name] = decide.Backup{
		Service: service,
		Slices:  slices.DeleteFunc(endpoints.Items, func(slice discoveryv1.EndpointSlice) bool { return protection.IsStandby(&slice) }),
	}
	return nil
}

// mayRead reports whether a PodTemplate may be used: the operator does not watch those
// of other namespaces.
func (o *Observer) mayRead(namespace string) bool {
	return len(o.Namespaces) == 0 || slices.Contains(o.Namespaces, namespace) ||
		namespace == o.Settings.Template.Namespace || namespace == o.Settings.OperatorNamespace
}
