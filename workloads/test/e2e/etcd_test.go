//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/cluster"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
)

// etcdSlow is how long a cluster may take to change its members.
const etcdSlow = 5 * time.Minute

// etcdInstance makes an ETCDInstance.
func (w *world) etcdInstance(name string, edit func(*workloadsv1alpha1.ETCDInstanceSpec)) *workloadsv1alpha1.ETCDInstance {
	w.t.Helper()
	e := &workloadsv1alpha1.ETCDInstance{ObjectMeta: w.named(name)}
	edit(&e.Spec)
	w.create(e)
	return e
}

// etcdRuns waits until an ETCDInstance is running, with as many members that vote.
func (w *world) etcdRuns(e *workloadsv1alpha1.ETCDInstance, members int32) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		w.refresh(e)
		g.Expect(e.Status.ObservedGeneration).To(Equal(e.Generation))
		g.Expect(e.Status.State).To(Equal(workloadsv1alpha1.ETCDRunning), e.Status.Message)
		g.Expect(e.Status.ReadyReplicas).To(Equal(members), e.Status.Message)
	}).WithTimeout(etcdSlow).Should(Succeed())
}

// at is an address.
func at(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }

// etcdClient is a client of an ETCDInstance without TLS.
func (w *world) etcdClient(e *workloadsv1alpha1.ETCDInstance) *clientv3.Client {
	w.t.Helper()
	service := &corev1.Service{ObjectMeta: w.named(e.Name)}
	w.refresh(service)
	made, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"http://" + at(service.Spec.ClusterIP, workloadsv1alpha1.PortClient)}, DialTimeout: 5 * time.Second, DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 5 * time.Second, Logger: zap.NewNop(),
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { _ = made.Close() })
	return made
}

// etcdWrites writes one key after the other until it is stopped, and then says which revision each
// write has that etcd has acknowledged. It returns when there are some.
func (w *world) etcdWrites(to *clientv3.Client) (stop func() map[string]int64) {
	ctx, cancel := context.WithCancel(w.ctx)
	acknowledged := map[string]int64{}
	var ended sync.WaitGroup
	// As fast as etcd can, it would leave the other scenarios no processor.
	pace := rate.NewLimiter(200, 1)
	ended.Go(func() {
		for number := 0; pace.Wait(ctx) == nil; number++ {
			key := fmt.Sprintf("key-%06d", number)
			once, end := context.WithTimeout(ctx, 5*time.Second)
			if put, err := to.Put(once, key, "value"); err == nil {
				acknowledged[key] = put.Header.Revision
			}
			end()
		}
	})
	w.Eventually(func(g Gomega) int64 {
		written, err := to.Get(w.ctx, "key-", clientv3.WithPrefix(), clientv3.WithCountOnly())
		g.Expect(err).NotTo(HaveOccurred())
		return written.Count
	}).Should(BeNumerically(">", 100))
	return func() map[string]int64 {
		cancel()
		ended.Wait()
		return acknowledged
	}
}

// etcdHolds checks that each acknowledged write up to a revision is there, with its own revision.
func (w *world) etcdHolds(in *clientv3.Client, acknowledged map[string]int64, until int64) {
	w.t.Helper()
	var all *clientv3.GetResponse
	w.Eventually(func() (err error) {
		all, err = in.Get(w.ctx, "key-", clientv3.WithPrefix(), clientv3.WithKeysOnly())
		return err
	}).Should(Succeed(), "the Service sends clients to a member once its Pod is ready")
	has := map[string]int64{}
	for _, kv := range all.Kvs {
		has[string(kv.Key)] = kv.ModRevision
	}
	held, lost := 0, []string(nil)
	for key, revision := range acknowledged {
		switch {
		case revision > until:
		case has[key] == revision:
			held++
		default:
			lost = append(lost, fmt.Sprintf("%s of revision %d, which has now %d", key, revision, has[key]))
		}
	}
	w.Expect(lost).To(BeEmpty(), "writes that were acknowledged")
	w.Expect(held).To(BeNumerically(">", 10), "writes that were acknowledged")
	w.t.Logf("%d acknowledged writes are all there, with their revisions", held)
}

// etcdVersion is that of an image that workloads/test/images makes: v3.6 or v3.7.
func (w *world) etcdVersion(minor string) string {
	w.t.Helper()
	module, err := os.ReadFile(filepath.Join("..", "images", "etcd", minor, "go.mod"))
	w.Expect(err).NotTo(HaveOccurred())
	found := regexp.MustCompile(`(?m)go.etcd.io/etcd/server/v3 (v[0-9.]+)`).FindSubmatch(module)
	w.Expect(found).NotTo(BeNil())
	return string(found[1])
}

// etcdVolumes makes volumes of a class that only this scenario has.
func (w *world) etcdVolumes(number int) *workloadsv1alpha1.ETCDStorage {
	w.t.Helper()
	w.t.Cleanup(func() {
		// A folder must not be removed while something writes to it.
		w.report()
		w.Expect(w.DeleteAllOf(w.ctx, &workloadsv1alpha1.ETCDInstance{}, inNamespace(w))).To(Succeed())
		var pods corev1.PodList
		w.Eventually(func(g Gomega) []corev1.Pod {
			g.Expect(w.List(w.ctx, &pods, inNamespace(w))).To(Succeed())
			return pods.Items
		}).Should(BeEmpty(), "Pods with a volume")
	})
	for n := range number {
		folder := filepath.Join(w.t.TempDir(), "volume")
		w.Expect(os.Mkdir(folder, 0o700)).To(Succeed())
		w.Expect(os.Chown(folder, etcdUser, etcdUser)).To(Succeed())
		w.create(&corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", w.namespace, n)},
			Spec: corev1.PersistentVolumeSpec{
				StorageClassName:              w.namespace,
				Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("4Gi")},
				AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
			},
		})
	}
	return &workloadsv1alpha1.ETCDStorage{Size: "1Gi", StorageClassName: new(w.namespace)}
}

// etcdUser is the user of the members in their Pods.
const etcdUser = 1000

// etcdctl runs etcdctl in a Pod that has the client's certificate, as an application would.
func (w *world) etcdctl(e *workloadsv1alpha1.ETCDInstance, name string, arguments ...string) string {
	w.t.Helper()
	return w.etcdctlAt(e, "https://"+at(e.Name, workloadsv1alpha1.PortClient), name, arguments...)
}

// etcdctlAt is etcdctl of one endpoint.
func (w *world) etcdctlAt(e *workloadsv1alpha1.ETCDInstance, endpoint, name string, arguments ...string) string {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: w.named(name),
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(etcdUser)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "etcdctl", Image: "quay.io/coreos/etcd:" + w.etcdVersion("v3.7"),
				Command: append([]string{
					"etcdctl", "--endpoints=" + endpoint, "--cacert=/tls/ca.crt", "--cert=/tls/tls.crt", "--key=/tls/tls.key",
				}, arguments...),
				VolumeMounts: []corev1.VolumeMount{{Name: "tls", MountPath: "/tls", ReadOnly: true}},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
			Volumes: []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: e.ClientSecretName()}}}},
		},
	}
	w.create(pod)
	w.Eventually(func(g Gomega) {
		w.refresh(pod)
		g.Expect(pod.Status.Phase).To(BeElementOf(corev1.PodSucceeded, corev1.PodFailed))
	}).Should(Succeed())
	output := strings.TrimSpace(w.kubectl("logs", name))
	w.Expect(pod.Status.Phase).To(Equal(corev1.PodSucceeded), output)
	return output
}

func TestAnETCDInstanceLosesNoWriteWhileItsMembersComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.report()
	e := w.etcdInstance("my-super-etcd", func(*workloadsv1alpha1.ETCDInstanceSpec) {})
	w.etcdRuns(e, 1)
	to := w.etcdClient(e)
	stop := w.etcdWrites(to)

	w.kubectl("scale", "etcd/"+e.Name, "--replicas=3")
	w.etcdRuns(e, 3)
	// The member of the lowest ordinal is the first in every list.
	w.etcdLosesPod(e, 0)
	w.kubectl("scale", "etcd/"+e.Name, "--replicas=1")
	w.etcdRuns(e, 1)
	w.etcdHolds(to, stop(), math.MaxInt64)
}

// etcdLosesPod kills a member, and waits until the cluster is whole with another Pod.
func (w *world) etcdLosesPod(e *workloadsv1alpha1.ETCDInstance, ordinal int) {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: w.named(e.MemberName(ordinal))}
	w.refresh(pod)
	killed := pod.UID
	w.Expect(w.Delete(w.ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
	w.Eventually(func(g Gomega) {
		g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		g.Expect(pod.UID).NotTo(Equal(killed))
		g.Expect(cluster.PodReady(pod)).To(BeTrue(), "it answers clients again")
	}).WithTimeout(etcdSlow).Should(Succeed())
	w.etcdRuns(e, 3)
}

func TestAnETCDInstanceIsUpgradedAndOutlivesAVolume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.report()
	older, newer := w.etcdVersion("v3.6"), w.etcdVersion("v3.7")
	storage := w.etcdVolumes(4)
	e := w.etcdInstance("etcd", func(spec *workloadsv1alpha1.ETCDInstanceSpec) {
		spec.Replicas, spec.Storage, spec.Image = 3, storage, "quay.io/coreos/etcd:"+older
	})
	w.etcdRuns(e, 3)
	w.Expect("v" + e.Status.Version).To(Equal(older))
	to := w.etcdClient(e)
	stop := w.etcdWrites(to)

	change(w, e, func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.Image = "quay.io/coreos/etcd:" + newer })
	w.etcdRuns(e, 3)
	w.Expect("v" + e.Status.Version).To(Equal(newer))
	for _, member := range e.Status.Members {
		w.Expect("v"+member.Version).To(Equal(newer), member.Name)
	}

	before := e.Status.Members
	w.Expect(w.Delete(w.ctx, &corev1.PersistentVolumeClaim{ObjectMeta: w.named(e.ClaimName(0))})).To(Succeed())
	w.etcdLosesPod(e, 0)
	w.Expect(e.Status.Members[0].ID).NotTo(Equal(before[0].ID), "a member without its data is another one")
	w.Expect(e.Status.Members[1].ID).To(Equal(before[1].ID))
	w.etcdHolds(to, stop(), math.MaxInt64)
}

func TestAnETCDInstanceWithoutAQuorumKeepsItsData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.report()
	e := w.etcdInstance("etcd", func(spec *workloadsv1alpha1.ETCDInstanceSpec) { spec.Replicas, spec.WithTLSBundle = 3, true })
	w.etcdRuns(e, 3)
	w.Expect(w.etcdctl(e, "put", "put", "greeting", "hello")).To(Equal("OK"))
	w.Expect(w.etcdctl(e, "get", "get", "greeting", "--print-value-only")).To(Equal("hello"))

	for ordinal := range 2 {
		w.Expect(w.Delete(w.ctx, &corev1.Pod{ObjectMeta: w.named(e.MemberName(ordinal))}, client.GracePeriodSeconds(0))).To(Succeed())
	}
	w.Eventually(func(g Gomega) {
		w.refresh(e)
		g.Expect(e.Status.State).To(Equal(workloadsv1alpha1.ETCDFailed))
		g.Expect(e.Status.Message).To(And(ContainSubstring("lost its quorum for good"), ContainSubstring("deletes nothing")))
	}).WithTimeout(etcdSlow).Should(Succeed())
	left := &corev1.Pod{ObjectMeta: w.named(e.MemberName(2))}
	w.Consistently(func(g Gomega) {
		w.refresh(left)
		g.Expect(left.DeletionTimestamp).To(BeNil(), "the last copy is left alone")
	}).Should(Succeed())
	w.Expect(w.etcdctlAt(e, e.ClientURL(left.Name), "read", "get", "greeting", "--print-value-only", "--consistency=s")).To(Equal("hello"), "the data of the last copy")
}
