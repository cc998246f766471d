// Package etcd has the words on which the API server of the workloads operator and its clients
// agree: how ETCDInstances and their subresources are reached, and how a snapshot is sent.
//
// It is in the core's module, which must not depend on workloads/ (see
// controllers/sibling_test.go), since one of the clients is the plugin of that module; the other
// one, and the server, are in workloads/, which may import it. So the clients know the kind by
// its names alone, as kubectl does: they read and write unstructured objects.
package etcd

import (
	"path"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is that of an etcd.
var Kind = schema.GroupVersionKind{Group: "mycrd.com", Version: "v1alpha1", Kind: "ETCDInstance"}

// Resource is Kind in URLs.
var Resource = Kind.GroupVersion().WithResource("etcdinstances")

// Subresources is the group in which backups are served. It is not that of the kind:
// an aggregated API server would have to serve the whole group, CustomResourceDefinitions included.
var Subresources = schema.GroupVersion{Group: "subresources.mycrd.com", Version: "v1alpha1"}

// Backup is the subresource by which a snapshot is taken.
const Backup = "backup"

const (
	// Protocol is the subprotocol of a WebSocket over which a snapshot is sent: in binary messages,
	// none of them longer than Chunk. The server closes it with 1000 where it has sent all, and
	// otherwise with a reason. A connection that was upgraded to it may take longer than the 60 s
	// after which kube-apiserver cuts every other request to an aggregated API server.
	Protocol = "v1.snapshot.etcd.mycrd.com"
	// Chunk is how many bytes of a snapshot are held at once.
	Chunk = 32 << 10
	// RevisionHeader has the revision that a snapshot holds at least.
	RevisionHeader = "Etcd-Revision"
)

// Path is the path of a subresource of an instance, in a group in which it is served.
func Path(group schema.GroupVersion, namespace, name, subresource string) string {
	return path.Join("/apis", group.Group, group.Version, "namespaces", namespace, Resource.Resource, name, subresource)
}
