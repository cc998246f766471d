//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/workloads/api/v1alpha1"
)

// etcdSlow is how long a cluster may take to change its members.
const etcdSlow = 5 * time.Minute

// etcdInstance makes an ETCDInstance.
func (w *world) etcdInstance(name string, edit func(*v1alpha1.ETCDInstanceSpec)) *v1alpha1.ETCDInstance {
	w.t.Helper()
	e := &v1alpha1.ETCDInstance{ObjectMeta: w.named(name)}
	edit(&e.Spec)
	w.create(e)
	return e
}

// etcdRuns waits until an ETCDInstance is running, with as many members that vote.
func (w *world) etcdRuns(e *v1alpha1.ETCDInstance, members int32) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		w.refresh(e)
		g.Expect(e.Status.ObservedGeneration).To(Equal(e.Generation))
		g.Expect(e.Status.State).To(Equal(v1alpha1.ETCDRunning), e.Status.Message)
		g.Expect(e.Status.ReadyReplicas).To(Equal(members), e.Status.Message)
	}).WithTimeout(etcdSlow).Should(Succeed())
}

// etcdClient is a client of an ETCDInstance without TLS.
func (w *world) etcdClient(e *v1alpha1.ETCDInstance) *clientv3.Client {
	w.t.Helper()
	service := &corev1.Service{ObjectMeta: w.named(e.Name)}
	w.exists(service)
	made, err := clientv3.New(clientv3.Config{
		Endpoints: []string{fmt.Sprintf("http://%s:%d", service.Spec.ClusterIP, v1alpha1.PortClient)}, DialTimeout: 5 * time.Second,
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { _ = made.Close() })
	return made
}

// etcdWrites writes one key after the other until it is stopped, and then says which revision each
// write has that etcd has acknowledged.
func (w *world) etcdWrites(to *clientv3.Client) (stop func() map[string]int64) {
	ctx, cancel := context.WithCancel(w.ctx)
	acknowledged := map[string]int64{}
	var ended sync.WaitGroup
	ended.Go(func() {
		for number := 0; ctx.Err() == nil; number++ {
			key := fmt.Sprintf("key-%06d", number)
			once, end := context.WithTimeout(ctx, 5*time.Second)
			if put, err := to.Put(once, key, "value"); err == nil {
				acknowledged[key] = put.Header.Revision
			}
			end()
		}
	})
	return func() map[string]int64 {
		cancel()
		ended.Wait()
		return acknowledged
	}
}

func TestAnETCDInstanceLosesNoWriteWhileItsMembersComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.report()
	e := w.etcdInstance("my-super-etcd", func(*v1alpha1.ETCDInstanceSpec) {})
	w.etcdRuns(e, 1)
	to := w.etcdClient(e)
	stop := w.etcdWrites(to)

	w.kubectl("scale", "etcd/"+e.Name, "--replicas=3", "--namespace="+w.namespace)
	w.etcdRuns(e, 3)
	pod := &corev1.Pod{ObjectMeta: w.named(e.MemberName(1))}
	w.exists(pod)
	killed := pod.UID
	w.Expect(w.Client.Delete(w.ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
	w.Eventually(func(g Gomega) {
		w.refresh(e)
		w.exists(pod)
		g.Expect(pod.UID).NotTo(Equal(killed))
	}).WithTimeout(etcdSlow).Should(Succeed())
	w.etcdRuns(e, 3)
	w.kubectl("scale", "etcd/"+e.Name, "--replicas=1", "--namespace="+w.namespace)
	w.etcdRuns(e, 1)

	for key, revision := range stop() {
		has, err := to.Get(w.ctx, key)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(has.Kvs).To(HaveLen(1), "%s was acknowledged", key)
		w.Expect(has.Kvs[0].ModRevision).To(Equal(revision), key)
	}
}

func TestAnETCDInstanceWithoutAQuorumKeepsItsData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.report()
	e := w.etcdInstance("etcd", func(spec *v1alpha1.ETCDInstanceSpec) { spec.Replicas, spec.WithTLSBundle = 3, true })
	w.etcdRuns(e, 3)
	for ordinal := range 2 {
		w.Expect(w.Client.Delete(w.ctx, &corev1.Pod{ObjectMeta: w.named(e.MemberName(ordinal))}, client.GracePeriodSeconds(0))).To(Succeed())
	}
	w.Eventually(func(g Gomega) {
		w.refresh(e)
		g.Expect(e.Status.State).To(Equal(v1alpha1.ETCDFailed))
		g.Expect(e.Status.Message).To(And(ContainSubstring("lost its quorum for good"), ContainSubstring("deletes nothing")))
	}).WithTimeout(etcdSlow).Should(Succeed())
	left := &corev1.Pod{ObjectMeta: w.named(e.MemberName(2))}
	w.Consistently(func(g Gomega) {
		w.exists(left)
		g.Expect(left.DeletionTimestamp).To(BeNil(), "the last copy is left alone")
	}).Should(Succeed())
}
