//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/etcd/snapshot"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
)

// etcdTLSClient is a client of an ETCDInstance with TLS.
func (w *world) etcdTLSClient(e *workloadsv1alpha1.ETCDInstance) *clientv3.Client {
	w.t.Helper()
	service, secret := &corev1.Service{ObjectMeta: w.named(e.Name)}, &corev1.Secret{ObjectMeta: w.named(e.ClientSecretName())}
	w.refresh(service)
	w.refresh(secret)
	pair, err := tls.X509KeyPair(secret.Data[workloadsv1alpha1.KeyCertificate], secret.Data[workloadsv1alpha1.KeyPrivateKey])
	w.Expect(err).NotTo(HaveOccurred())
	trusted := x509.NewCertPool()
	w.Expect(trusted.AppendCertsFromPEM(secret.Data[workloadsv1alpha1.KeyCA])).To(BeTrue())
	name := e.Name + "." + e.Namespace + ".svc"
	made, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"https://" + at(name, workloadsv1alpha1.PortClient)},
		TLS:       &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: trusted, MinVersion: tls.VersionTLS12},
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", at(service.Spec.ClusterIP, workloadsv1alpha1.PortClient))
		})}, DialTimeout: 5 * time.Second, DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 5 * time.Second, Logger: zap.NewNop(),
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { _ = made.Close() })
	return made
}

// etcdStored waits for the answer to a request for a snapshot, and finds its file, which is on this machine.
func (w *world) etcdStored(e *workloadsv1alpha1.ETCDInstance, request string) (path string, contents *snapshot.Contents) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		w.refresh(e)
		g.Expect(e.Status.Backup).To(HaveValue(And(HaveField("Request", request), HaveField("State", workloadsv1alpha1.ETCDBackupStored))))
	}).WithTimeout(etcdSlow).Should(Succeed())
	stored := e.Status.Backup
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: w.named(e.BackupClaimName())}
	w.refresh(claim)
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
	w.refresh(volume)
	path = filepath.Join(volume.Spec.HostPath.Path, stored.File)
	contents, err := snapshot.Inspect(path)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(contents.Revision).To(Equal(stored.Revision))
	w.Expect(contents.Bytes).To(Equal(stored.SizeBytes))
	return path, contents
}

// etcdRestored is the revision of the data that was restored.
func (w *world) etcdRestored(e *workloadsv1alpha1.ETCDInstance) (revision int64) {
	w.t.Helper()
	w.etcdRuns(e, e.Spec.Replicas)
	said := meta.FindStatusCondition(e.Status.Conditions, workloadsv1alpha1.ConditionRestored)
	w.Expect(said).To(HaveValue(HaveField("Status", metav1.ConditionTrue)))
	_, err := fmt.Sscanf(said.Message, "The data of revision %d was restored", &revision)
	w.Expect(err).NotTo(HaveOccurred(), said.Message)
	return revision
}

// TestAnETCDInstanceIsRestoredFromASnapshotUnderLoad: an ETCDInstance of another, one of a file, and a snapshot before the end.
func TestAnETCDInstanceIsRestoredFromASnapshotUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.report()
	storage := w.etcdVolumes(4)
	e := w.etcdInstance("etcd", func(spec *workloadsv1alpha1.ETCDInstanceSpec) {
		spec.Replicas, spec.Storage, spec.WithTLSBundle, spec.Backup.BeforeDeletion = 1, storage, true, true
	})
	w.etcdRuns(e, 1)
	stop := w.etcdWrites(w.etcdTLSClient(e))
	uploaded := w.etcdInstance("uploaded", func(spec *workloadsv1alpha1.ETCDInstanceSpec) {
		spec.Replicas, spec.Storage, spec.Restore = 1, storage, &workloadsv1alpha1.ETCDRestore{Upload: true}
	})
	w.kubectl("annotate", "etcd/"+e.Name, workloadsv1alpha1.AnnotationBackup+"=first")
	path, contents := w.etcdStored(e, "first")
	copied := w.etcdInstance("copied", func(spec *workloadsv1alpha1.ETCDInstanceSpec) {
		spec.Replicas, spec.Storage, spec.Restore = 1, storage, &workloadsv1alpha1.ETCDRestore{FromInstance: e.Name}
	})
	w.hasCondition(uploaded, &uploaded.Status.Conditions, workloadsv1alpha1.ConditionRestored, metav1.ConditionFalse, workloadsv1alpha1.ReasonWaitingForUpload)
	w.etcdUpload(uploaded, path)
	restored := w.etcdRestored(copied)
	acknowledged := stop()
	w.etcdHolds(w.etcdClient(copied), acknowledged, restored)
	w.Expect(w.etcdRestored(uploaded)).To(Equal(contents.Revision))
	w.etcdHolds(w.etcdClient(uploaded), acknowledged, contents.Revision)

	// The snapshot before the end has what was written since.
	last := e.DeepCopy()
	w.Expect(w.Delete(w.ctx, e)).To(Succeed())
	w.gone(last)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: w.named(last.BackupClaimName())}
	w.refresh(claim)
	stored, err := filepath.Glob(filepath.Join(filepath.Dir(path), "etcd-*.db"))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(stored).To(HaveLen(2))
	newest := int64(0)
	for _, file := range stored {
		contents, err := snapshot.Inspect(file)
		w.Expect(err).NotTo(HaveOccurred())
		newest = max(newest, contents.Revision)
	}
	for key, revision := range acknowledged {
		w.Expect(revision).To(BeNumerically("<=", newest), key)
	}
}

// etcdUpload sends a snapshot to the Pod that waits for it.
func (w *world) etcdUpload(e *workloadsv1alpha1.ETCDInstance, path string) {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: w.named(e.RestorePodName())}
	w.refresh(pod)
	w.Eventually(func(g Gomega) {
		file, err := os.Open(path)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = file.Close() }()
		request, err := http.NewRequestWithContext(w.ctx, http.MethodPost, "http://"+at(pod.Status.PodIP, workloadsv1alpha1.PortRestore)+"/snapshot", file)
		g.Expect(err).NotTo(HaveOccurred())
		answer, err := http.DefaultClient.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		_ = answer.Body.Close()
		g.Expect(answer.StatusCode).To(Equal(http.StatusOK))
	}).Should(Succeed())
}
