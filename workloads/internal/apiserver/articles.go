package apiserver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/etcd"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/internal/apiserver/backup"
	"github.com/critical-service/operator/workloads/internal/apiserver/places"
	"github.com/critical-service/operator/workloads/internal/apiserver/view"
)

// The groups of the documents: the workshop has its own in two spellings, in its text and in its
// code. Its other spellings are those of a scanner.
var (
	workshop = []schema.GroupVersion{{Group: "etcdaas.devoxx2018", Version: "v1alpha1"}, {Group: "etcdas.devoxx2018", Version: "v1alpha1"}}
	zalando  = schema.GroupVersion{Group: "zalando.org", Version: "v1"}
)

// What the operator may do to our kinds for users of the views is granted by config/articles, and
// by nothing else: without it, a view answers that it may not.

// articles are the groups of the documents, as views of our kinds.
func articles(snapshots *backup.Storage, views client.WithWatch, authorizer authorizer.Authorizer) []*Group {
	options := view.Options{Client: views, Authorizer: authorizer, Lists: places.New(view.Lists), Watches: places.New(view.Watches)}
	var groups []*Group
	for _, group := range workshop {
		groups = append(groups, newGroup(group, map[string]runtime.Object{
			"ETCDInstance": &workloadsv1alpha1.ETCDInstance{}, "ETCDInstanceList": &workloadsv1alpha1.ETCDInstanceList{},
			etcd.BackupResultKind: &etcd.BackupResult{},
		}, map[string]rest.Storage{
			"etcdinstances": instances(options),
			"etcdinstances/backup": snapshots.In(func() runtime.Object { return &workloadsv1alpha1.ETCDInstance{} },
				func(ctx context.Context, name string) error {
					return view.Allow(ctx, authorizer, etcd.Subresources.WithResource(etcd.Resource.Resource), etcd.Backup, name)
				}),
		}))
	}
	return append(groups, newGroup(zalando, map[string]runtime.Object{
		"Database": &workloadsv1.Database{}, "DatabaseList": &workloadsv1.DatabaseList{},
	}, map[string]rest.Storage{"databases": databases(options)}))
}

func instances(options view.Options) rest.Storage {
	options.Of, options.Singular, options.ShortNames = etcd.Resource, "etcdinstance", []string{"etcd"}
	options.Object = func() client.Object { return &workloadsv1alpha1.ETCDInstance{} }
	options.List = func() client.ObjectList { return &workloadsv1alpha1.ETCDInstanceList{} }
	cell := func(text func(*workloadsv1alpha1.ETCDInstance) string) func(client.Object) string {
		return func(object client.Object) string {
			if instance, isInstance := object.(*workloadsv1alpha1.ETCDInstance); isInstance {
				return text(instance)
			}
			return ""
		}
	}
	options.Columns = []view.Column{
		{Name: "State", Cell: cell(func(e *workloadsv1alpha1.ETCDInstance) string { return string(e.Status.State) })},
		{Name: "Ready", Cell: cell(func(e *workloadsv1alpha1.ETCDInstance) string {
			return fmt.Sprintf("%d/%d", e.Status.ReadyReplicas, e.Spec.Replicas)
		})},
	}
	return &view.Storage{Options: options}
}

func databases(options view.Options) rest.Storage {
	options.Of, options.Singular, options.ShortNames = workloadsv1.GroupVersion.WithResource("databases"), "database", []string{"db", "dbs"}
	options.Object = func() client.Object { return &workloadsv1.Database{} }
	options.List = func() client.ObjectList { return &workloadsv1.DatabaseList{} }
	options.Columns = []view.Column{{Name: "Type", Cell: func(object client.Object) string {
		if database, isDatabase := object.(*workloadsv1.Database); isDatabase {
			return string(database.Spec.Type)
		}
		return ""
	}}}
	return &view.Storage{Options: options}
}
