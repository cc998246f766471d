// Package aggregated has kube-apiserver serve backups, for tests and benchmarks: an etcd, the
// objects that lead from the one to the other, and the API server as a process of its own, which
// can be killed. There is no other part of the operator.
package aggregated

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/etcd"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/internal/apiserver"
	"github.com/critical-service/operator/workloads/internal/apiserver/backup"
	"github.com/critical-service/operator/workloads/internal/apiserver/members"
	"github.com/critical-service/operator/workloads/internal/apiserver/places"
	"github.com/critical-service/operator/workloads/internal/apiserver/restore"
	"github.com/critical-service/operator/workloads/internal/apiserver/view"
	"github.com/critical-service/operator/workloads/internal/operator"
	"github.com/critical-service/operator/workloads/internal/settings"
)

// program is what a process that serves has in its environment.
type program struct {
	Port int
	// Certificates is the folder with the certificate that is served.
	Certificates string
	// Endpoint is where every member is, and Receiver where every Pod that restores is.
	Endpoint, Receiver string
	// Audit is a folder for the policy and the log.
	Audit string
}

const variable = "TEST_PROGRAM"

// AnswerWithin is how long a backup is waited for that is stored.
const AnswerWithin = 5 * time.Second

// Serve runs the API server as the operator does, with the certificate of a folder and without
// the operator's kinds.
func Serve(ctx context.Context) error {
	var p program
	if err := json.Unmarshal([]byte(os.Getenv(variable)), &p); err != nil {
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
	views, err := client.NewWithWatch(view.Bounded(config), client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	trust, err := apiserver.NewTrust(config, apiserver.TrustOptions{
		Definition: "appconfigs.mycrd.com", Service: types.NamespacedName{Namespace: operator.Namespace, Name: Service},
		Names: etcd.APIServices,
	})
	if err != nil {
		return err
	}
	authorizer, err := apiserver.Authorizer(config)
	if err != nil {
		return err
	}
	reached := &members.Members{
		Reader:   views,
		Address:  func(*workloadsv1alpha1.ETCDInstance, string) string { return p.Endpoint },
		Receives: func(*corev1.Pod) string { return p.Receiver },
	}
	keeper := &members.Keeper{Client: views, Within: AnswerWithin}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: clients.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return err
	}
	reporter := &backup.Reporter{Log: ctrl.Log, Recorder: broadcaster.NewRecorder(scheme, operator.Name)}
	free := places.New(places.Snapshots)
	server := apiserver.New(apiserver.Options{
		Port: p.Port, Config: config, Wanted: trust.Wanted(),
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(filepath.Join(p.Certificates, "server.crt"), filepath.Join(p.Certificates, "server.key"))
			return &pair, err
		},
		Groups: apiserver.Groups(backup.New(reached, keeper, free, reporter.Report, apiserver.ParentKind),
			restore.New(reached, free, authorizer, apiserver.ParentKind), views, authorizer),
		AuditPolicy: filepath.Join(p.Audit, "policy.yaml"), AuditLog: filepath.Join(p.Audit, "log"),
	})
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return trust.Start(ctx) })
	running.Go(func() error { return server.Start(ctx) })
	return running.Wait()
}
