package operator

import (
	"crypto/tls"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/etcd"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/internal/apiserver"
	"github.com/critical-service/operator/workloads/internal/apiserver/backup"
	"github.com/critical-service/operator/workloads/internal/apiserver/members"
	"github.com/critical-service/operator/workloads/internal/apiserver/places"
	"github.com/critical-service/operator/workloads/internal/apiserver/restore"
	"github.com/critical-service/operator/workloads/internal/apiserver/view"
	"github.com/critical-service/operator/workloads/internal/settings"
)

// memberAddress is where a member is; nil is by its name in the cluster.
var memberAddress func(instance *workloadsv1alpha1.ETCDInstance, member string) string

// serveAPI adds the aggregated API server, which shows the certificate of the webhook.
func serveAPI(mgr ctrl.Manager, s *settings.Settings) error {
	certified, isCertified := mgr.GetWebhookServer().(interface {
		GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	})
	if !isCertified {
		return errors.New("the webhook has no certificate to serve other APIs with")
	}
	trust, err := apiserver.NewTrust(mgr.GetConfig(), apiserver.TrustOptions{
		Definition: Webhook.Kind.Definition(),
		Service:    types.NamespacedName{Namespace: s.OperatorNamespace, Name: Webhook.Service},
		Names:      etcd.APIServices,
	})
	if err != nil {
		return err
	}
	views, err := client.NewWithWatch(view.Bounded(mgr.GetConfig()), client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return err
	}
	authorizer, err := apiserver.Authorizer(mgr.GetConfig())
	if err != nil {
		return err
	}
	recorder, err := events.NewRecorderOfEveryReplica(mgr, Name)
	if err != nil {
		return err
	}
	reached := &members.Members{Reader: mgr.GetAPIReader(), Address: memberAddress}
	keeper := &members.Keeper{Client: views, Within: members.AnswerWithin}
	reporter := &backup.Reporter{Log: mgr.GetLogger().WithName("backup"), Recorder: recorder}
	free := places.New(places.Snapshots)
	server := apiserver.New(apiserver.Options{
		Port: s.APIPort, Certificate: certified.GetCertificate, Config: mgr.GetConfig(), Wanted: trust.Wanted(),
		Groups: apiserver.Groups(backup.New(reached, keeper, free, reporter.Report, apiserver.ParentKind),
			restore.New(reached, free, authorizer, apiserver.ParentKind), views, authorizer),
		AuditPolicy: s.APIAuditPolicy, AuditLog: s.APIAuditLog,
	})
	return errors.Join(mgr.Add(trust), mgr.Add(server))
}
