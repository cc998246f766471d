package apiserver

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/workloads/internal/apiserver/backup"
	"github.com/critical-service/operator/workloads/internal/apiserver/restore"
)

// newScheme knows what every API server answers with.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"},
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return scheme
}

// Group is a group of one version that is served.
type Group struct {
	info genericapiserver.APIGroupInfo
	// kinds are those of its own.
	kinds map[string]runtime.Object
}

// newGroup makes a group with a scheme of its own: the same Go type may be served in several
// groups, and one scheme would know it as one of them.
func newGroup(version schema.GroupVersion, kinds map[string]runtime.Object, served map[string]rest.Storage) *Group {
	scheme := newScheme()
	// What clients send and what the storage takes is the same: there is one version.
	for _, of := range []schema.GroupVersion{version, {Group: version.Group, Version: runtime.APIVersionInternal}} {
		for kind, object := range kinds {
			scheme.AddKnownTypeWithName(of.WithKind(kind), object)
		}
	}
	metav1.AddToGroupVersion(scheme, version)
	info := genericapiserver.NewDefaultAPIGroupInfo(version.Group, scheme, runtime.NewParameterCodec(scheme), serializer.NewCodecFactory(scheme))
	info.PrioritizedVersions = []schema.GroupVersion{version}
	info.VersionedResourcesStorageMap[version.Version] = served
	return &Group{info: info, kinds: kinds}
}

// Groups are all that are served; kube-apiserver sends the requests of those that have an APIService.
func Groups(snapshots *backup.Storage, uploads *restore.Storage, views client.WithWatch, authorizer authorizer.Authorizer) []*Group {
	return append(articles(snapshots, views, authorizer), subresources(snapshots, uploads))
}

// subresources is the group of the subresources of our own kinds.
func subresources(snapshots, uploads rest.Storage) *Group {
	return newGroup(etcd.Subresources, map[string]runtime.Object{
		etcd.Kind.Kind: &Parent{}, etcd.BackupResultKind: &etcd.BackupResult{},
	}, map[string]rest.Storage{
		etcd.Resource.Resource:                      parent{},
		etcd.Resource.Resource + "/" + etcd.Backup:  snapshots,
		etcd.Resource.Resource + "/" + etcd.Restore: uploads,
	})
}

// Parent is the kind whose subresources are served. The objects themselves are in another group.
type Parent struct {
	metav1.TypeMeta `json:",inline"`
}

// ParentKind is an empty object of it.
func ParentKind() runtime.Object { return &Parent{} }

// DeepCopyObject copies the object.
func (p *Parent) DeepCopyObject() runtime.Object { return &Parent{TypeMeta: p.TypeMeta} }

// parent is the resource in whose path the subresources are: it can do nothing itself, and the
// library wants one.
type parent struct{}

var (
	_ rest.Storage              = parent{}
	_ rest.Scoper               = parent{}
	_ rest.SingularNameProvider = parent{}
)

// New is an empty object.
func (parent) New() runtime.Object { return &Parent{} }

// Destroy has nothing to clean up.
func (parent) Destroy() {}

// NamespaceScoped says that the objects live in namespaces.
func (parent) NamespaceScoped() bool { return true }

// GetSingularName is the name of one object.
func (parent) GetSingularName() string { return "etcdinstance" }
