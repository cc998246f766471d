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

// APIServices are the names of those that turn on what the workloads operator serves: the
// subresources, and the groups of the documents.
var APIServices = []string{
	Subresources.Version + "." + Subresources.Group, "v1alpha1.etcdaas.devoxx2018", "v1alpha1.etcdas.devoxx2018", "v1.zalando.org",
}

const (
	// Backup is the subresource by which a snapshot is taken: by GET it is sent, and by POST it is
	// stored in the cluster.
	Backup = "backup"
	// Restore is the subresource to which a snapshot is sent: by POST, or by GET that is upgraded.
	Restore = "restore"
)

// What clients read and write of an ETCDInstance by its names.
const (
	// BackupAnnotation asks for one stored snapshot.
	BackupAnnotation = "workloads.mycrd.com/backup"
	// ConditionRestored is True once the data is restored, ReasonWaiting is its reason while a
	// snapshot is waited for, and ReasonRestoreFailed while it cannot be restored.
	ConditionRestored   = "Restored"
	ReasonWaiting       = "WaitingForUpload"
	ReasonRestoreFailed = "RestoreFailed"
)

const (
	// Protocol is the subprotocol of a WebSocket over which a snapshot is sent: in binary messages,
	// none of them longer than Chunk. A connection that was upgraded to it may take longer than the
	// 60 s after which kube-apiserver cuts every other request to an aggregated API server.
	//
	// A backup is sent by the server, which closes with 1000 where it has sent all, and otherwise
	// with a reason. What is restored is sent by the client, which ends it by an empty message; the
	// server answers with a Status as a text message, which it may do earlier to refuse the rest.
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
