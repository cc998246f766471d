package ingress

import (
	"encoding/json"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/read"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

const (
	// noteOwned and noteServices hold, on Ingresses in the cache, the keys that the operator set
	// and the Services of the backends. No user can write them, because the API server accepts no
	// key with spaces.
	noteOwned, noteServices = "keys that the operator set", "services of the backends"
	// annotationClass is the older form of spec.ingressClassName.
	annotationClass = "kubernetes.io/ingress.class"
	// maxServices is how many Services of one Ingress are looked at.
	maxServices = 256
	// maxName is more than the name of a class or of a Service has, and maxValue more than a value
	// that the operator sets: one that is cut off differs from it.
	maxName, maxValue = 253, 1025
)

// CacheByObject says what is kept: of Ingresses what decisions read, and of EndpointSlices those of
// the core. Nothing is where that is not permitted.
func CacheByObject(options Options) map[client.Object]cache.ByObject {
	if !options.Permitted {
		return nil
	}
	namespaces := read.Namespaces(options.Namespaces)
	return map[client.Object]cache.ByObject{
		&networkingv1.Ingress{}: {Namespaces: namespaces, Transform: options.slimIngress},
		&discoveryv1.EndpointSlice{}: {
			Namespaces: namespaces, Transform: slimSlice,
			Label: labels.SelectorFromSet(labels.Set{discoveryv1.LabelManagedBy: criticalv2.ManagedBy}),
		},
	}
}

func (o *Options) slimIngress(object any) (any, error) {
	ingress, is := object.(*networkingv1.Ingress)
	if !is {
		return object, nil // A tombstone.
	}
	if _, isSlim := ingress.Annotations[noteOwned]; isSlim {
		return object, nil // One that comes again.
	}
	slim := &networkingv1.Ingress{ObjectMeta: read.Meta(&ingress.ObjectMeta)}
	if class := ingress.Spec.IngressClassName; class != nil {
		slim.Spec.IngressClassName = new(read.Short(*class, maxName))
	}
	owned := ownedKeys(ingress.ManagedFields)
	slim.Annotations = map[string]string{noteOwned: strings.Join(owned, ","), noteServices: strings.Join(servicesOf(&ingress.Spec), ",")}
	for key, value := range ingress.Annotations {
		if _, kept := o.Annotations[key]; kept || key == workloadsv1.AnnotationFallback || key == annotationClass || slices.Contains(owned, key) {
			slim.Annotations[key] = read.Short(value, maxValue)
		}
	}
	return slim, nil
}

// ownedKeys are the annotations that the operator set. Only the API server writes managedFields.
func ownedKeys(all []metav1.ManagedFieldsEntry) []string {
	var keys []string
	for i := range all {
		entry := &all[i]
		if entry.Manager != workloadsv1.ManagedBy || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Metadata struct {
				Annotations map[string]json.RawMessage `json:"f:annotations"`
			} `json:"f:metadata"`
		}
		// What the API server wrote can be read.
		_ = json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields)
		for field := range fields.Metadata.Annotations {
			if key, isKey := strings.CutPrefix(field, "f:"); isKey {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// servicesOf are the Services of the backends, in order. Backends that are other resources have
// none.
func servicesOf(spec *networkingv1.IngressSpec) []string {
	found := map[string]bool{}
	add := func(backend *networkingv1.IngressBackend) {
		if backend != nil && backend.Service != nil && len(found) < maxServices {
			found[read.Short(backend.Service.Name, maxName)] = true
		}
	}
	add(spec.DefaultBackend)
	for i := range spec.Rules {
		if http := spec.Rules[i].HTTP; http != nil {
			for j := range http.Paths {
				add(&http.Paths[j].Backend)
			}
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// slimSlice keeps whose the slice is, and whether it is promoted.
func slimSlice(object any) (any, error) {
	slice, is := object.(*discoveryv1.EndpointSlice)
	if !is {
		return object, nil
	}
	slim := &discoveryv1.EndpointSlice{ObjectMeta: read.Meta(&slice.ObjectMeta), AddressType: slice.AddressType}
	slim.Labels = read.Only(slice.Labels, discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy)
	if isPromoted(slice) {
		slim.Endpoints = []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}}
	}
	return slim, nil
}

// isPromoted reports whether a slice of the core makes its Service answer from the fallback: every
// proxy uses it then.
func isPromoted(slice *discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready })
}
