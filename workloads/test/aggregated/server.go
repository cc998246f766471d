// Package aggregated has kube-apiserver serve backups, for tests and benchmarks: an etcd, the
// objects that lead from the one to the other, and the API server as a process of its own, which
// can be killed. There is no other part of the operator.
package aggregated

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/internal/apiserver"
	"github.com/critical-service/operator/workloads/internal/apiserver/backup"
	"github.com/critical-service/operator/workloads/internal/apiserver/members"
	"github.com/critical-service/operator/workloads/internal/operator"
	"github.com/critical-service/operator/workloads/internal/settings"
)

// program is what a process that serves is told.
type program struct {
	Port int
	// Certificates is the folder with the certificate that is served.
	Certificates string
	// Endpoint is where every member is.
	Endpoint string
	// Audit is a folder for the policy and the log.
	Audit string
}

const told = "TEST_PROGRAM"

// Serve runs the API server as the operator does, with the certificate of a folder and without
// the operator's kinds.
func Serve(ctx context.Context) error {
	var p program
	if err := json.Unmarshal([]byte(os.Getenv(told)), &p); err != nil {
		return err
	}
	ctrl.SetLogger((&settings.Settings{}).Logger())
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	scheme, err := controllers.Scheme()
	if err != nil {
		return err
	}
	reader, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	trust, err := apiserver.NewTrust(config, apiserver.TrustOptions{
		Definition: "appconfigs.mycrd.com", Service: types.NamespacedName{Namespace: operator.Namespace, Name: Service},
		Names: apiserver.APIServices(),
	})
	if err != nil {
		return err
	}
	authorizer, err := apiserver.Authorizer(config)
	if err != nil {
		return err
	}
	source := &members.Members{Reader: reader, Address: func(*workloadsv1alpha1.ETCDInstance, string) string { return p.Endpoint }}
	report := func(_ context.Context, instance types.NamespacedName, bytes, revision int64, err error) {
		fmt.Printf("REPORT %s %d %d %v\n", instance, bytes, revision, err)
	}
	server := apiserver.New(apiserver.Options{
		Port: p.Port, Config: config, Wanted: trust.Wanted(),
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(filepath.Join(p.Certificates, "server.crt"), filepath.Join(p.Certificates, "server.key"))
			return &pair, err
		},
		Groups:      apiserver.Groups(backup.New(source, report, apiserver.ParentKind), reader, authorizer),
		AuditPolicy: filepath.Join(p.Audit, "policy.yaml"), AuditLog: filepath.Join(p.Audit, "log"),
	})
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return trust.Start(ctx) })
	running.Go(func() error { return server.Start(ctx) })
	return running.Wait()
}
