package aggregated

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/internal/apiserver"
	"github.com/critical-service/operator/workloads/internal/operator"
)

const (
	// Service is by whose name the server has its certificate.
	Service = operator.Name + "-webhook"
	// Namespace has the ETCDInstances.
	Namespace = "shop"
	// Instance is one behind which there is an etcd.
	Instance = "my-super-etcd"
	// Deploying is one without members.
	Deploying = "young"
	// Waiting is one that waits for a snapshot.
	Waiting = "waiting"

	mebibyte = 1 << 20
)

var apiServiceName = etcd.Subresources.Version + "." + etcd.Subresources.Group

// Setup is what leads from kube-apiserver to an etcd, but for the server in between.
type Setup struct {
	// Endpoint is where the etcd is, and Revision its last.
	Endpoint string
	Revision int64
	// Receiver is where the Pod of Waiting receives it: a host and a port.
	Receiver string
	// Folder has the certificate of the server, what it audits, and the data of the etcd.
	Folder string
	// Port is where the server listens.
	Port int
}

// Prepare makes a Setup with an etcd of so many MiB, which ends with this process.
func Prepare(ctx context.Context, cluster *testenv.Cluster, mebibytes int) (*Setup, error) {
	folder, err := os.MkdirTemp("", "aggregated-")
	if err != nil {
		return nil, err
	}
	address, err := ports.FreeUntilExit()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	s := &Setup{Folder: folder}
	s.Port, err = strconv.Atoi(port)
	template := &x509.Certificate{
		DNSNames: []string{Service + "." + operator.Namespace + ".svc"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	policy := "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"
	return s, errors.Join(err,
		testenv.IssueCertificate(folder, "server", template),
		os.WriteFile(filepath.Join(folder, "policy.yaml"), []byte(policy), 0o600),
		s.startMember(ctx, mebibytes), s.makeObjects(ctx, cluster), s.trust(ctx, cluster),
	)
}

// Environment is what a process that is to Serve has in its environment.
func (s *Setup) Environment() (string, error) {
	what, err := json.Marshal(program{Port: s.Port, Certificates: s.Folder, Endpoint: s.Endpoint, Receiver: s.Receiver, Audit: s.Folder})
	return variable + "=" + string(what), err
}

// startMember starts an etcd that ends with this process, and fills it.
func (s *Setup) startMember(ctx context.Context, mebibytes int) error {
	at, err := ports.FreeUntilExit()
	if err != nil {
		return err
	}
	peer, err := ports.FreeUntilExit()
	if err != nil {
		return err
	}
	s.Endpoint = "http://" + at
	command := exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "etcd"), //nolint:noctx // It ends with this process.
		"--data-dir", filepath.Join(s.Folder, "etcd"), "--unsafe-no-fsync", "--logger=zap", "--log-level=error",
		"--quota-backend-bytes", strconv.Itoa(8<<30), "--snapshot-count", "100",
		"--listen-client-urls", s.Endpoint, "--advertise-client-urls", s.Endpoint,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "default=http://"+peer)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return err
	}
	connection, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint}, DialTimeout: time.Minute, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer connection.Close()
	value := make([]byte, mebibyte)
	for number := range mebibytes {
		if _, err := rand.Read(value); err != nil {
			return err
		}
		answer, err := connection.Put(ctx, fmt.Sprintf("key-%04d", number), string(value))
		if err != nil {
			return err
		}
		s.Revision = answer.Header.Revision
	}
	return nil
}

// makeObjects makes the instances, and the Service and the APIService that lead to this machine.
func (s *Setup) makeObjects(ctx context.Context, cluster *testenv.Cluster) error {
	running := instance(Instance)
	waiting := instance(Waiting)
	waiting.Spec.Storage, waiting.Spec.Restore = &workloadsv1alpha1.ETCDStorage{Size: "1Gi"}, &workloadsv1alpha1.ETCDRestore{Upload: true}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}},
		running, instance(Deploying), waiting,
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: Service},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
		},
		s.APIService(),
	} {
		if err := cluster.Client.Create(ctx, object); err != nil {
			return err
		}
	}
	running.Status.State = workloadsv1alpha1.ETCDRunning
	running.Status.Members = []workloadsv1alpha1.ETCDMember{
		{Name: running.MemberName(0), ID: "1", Healthy: true, Leader: true}, {Name: running.MemberName(1), ID: "2", Healthy: true, Learner: true},
	}
	waiting.Status.Conditions = []metav1.Condition{{
		Type: workloadsv1alpha1.ConditionRestored, Status: metav1.ConditionFalse, Reason: workloadsv1alpha1.ReasonWaitingForUpload,
		Message: "The snapshot is awaited.", LastTransitionTime: metav1.Now(),
	}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Waiting + "-restore", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(waiting, workloadsv1alpha1.ETCDInstanceKind),
		}},
		Spec: corev1.PodSpec{AutomountServiceAccountToken: new(bool), Containers: []corev1.Container{{Name: "restore", Image: "none"}}},
	}
	if err := errors.Join(cluster.Client.Status().Update(ctx, running), cluster.Client.Status().Update(ctx, waiting), cluster.Client.Create(ctx, pod)); err != nil {
		return err
	}
	pod.Status.PodIP, pod.Status.PodIPs = "10.1.2.3", []corev1.PodIP{{IP: "10.1.2.3"}}
	return cluster.Client.Status().Update(ctx, pod)
}

func instance(name string) *workloadsv1alpha1.ETCDInstance {
	return &workloadsv1alpha1.ETCDInstance{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
}

// APIService is what an administrator applies.
func (s *Setup) APIService() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": etcd.Subresources.Group, "version": etcd.Subresources.Version, "groupPriorityMinimum": int64(1000), "versionPriority": int64(15),
		"service": map[string]any{"namespace": operator.Namespace, "name": Service, "port": int64(s.Port)},
	}}}
	object.SetGroupVersionKind(apiserver.APIServiceKind)
	object.SetName(apiServiceName)
	return object
}

// Available is the condition of the APIService: whether kube-apiserver gets an answer.
func (s *Setup) Available(ctx context.Context, cluster *testenv.Cluster) (string, error) {
	object := s.APIService()
	if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return "", err
	}
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		if of, isMap := condition.(map[string]any); isMap && of["type"] == "Available" {
			status, _ := of["status"].(string)
			return status, nil
		}
	}
	return "", err
}

// trust does what the webhook does with its authority: the API server is to trust it.
func (s *Setup) trust(ctx context.Context, cluster *testenv.Cluster) error {
	authority, err := os.ReadFile(filepath.Join(s.Folder, "ca.crt"))
	if err != nil {
		return err
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := cluster.Client.Get(ctx, types.NamespacedName{Name: operator.Webhook.Kind.Definition()}, &definition); err != nil {
		return err
	}
	before := definition.DeepCopy()
	trusted := &definition.Spec.Conversion.Webhook.ClientConfig.CABundle
	*trusted = bytes.Join([][]byte{*trusted, authority}, []byte("\n"))
	return cluster.Client.Patch(ctx, &definition, client.MergeFrom(before))
}
