package operator

import (
	"context"
	"crypto/tls"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/internal/apiserver"
	"github.com/critical-service/operator/workloads/internal/apiserver/backup"
	"github.com/critical-service/operator/workloads/internal/apiserver/members"
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
		Names:      apiserver.APIServices(),
	})
	if err != nil {
		return err
	}
	source := &members.Members{Reader: mgr.GetAPIReader(), Address: memberAddress}
	log := mgr.GetLogger().WithName("backup")
	report := func(_ context.Context, instance types.NamespacedName, bytes, revision int64, err error) {
		if err != nil {
			log.Info("a snapshot was not sent whole", "instance", instance, "bytes", bytes, "revision", revision, "reason", err.Error())
			return
		}
		log.Info("sent a snapshot", "instance", instance, "bytes", bytes, "revision", revision)
	}
	views, err := client.NewWithWatch(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return err
	}
	authorizer, err := apiserver.Authorizer(mgr.GetConfig())
	if err != nil {
		return err
	}
	server := apiserver.New(apiserver.Options{
		Port: s.APIPort, Certificate: certified.GetCertificate, Config: mgr.GetConfig(), Wanted: trust.Wanted(),
		Groups:      apiserver.Groups(backup.New(source, report, apiserver.ParentKind), views, authorizer),
		AuditPolicy: s.APIAuditPolicy, AuditLog: s.APIAuditLog,
	})
	return errors.Join(mgr.Add(trust), mgr.Add(server))
}
