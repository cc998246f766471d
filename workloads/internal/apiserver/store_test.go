package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/internal/etcd/console"
	"github.com/critical-service/operator/internal/etcd/remote"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/test/aggregated"
)

// mayStore is the right to have a snapshot stored, and to see whether it is.
var mayStore = []rbacv1.PolicyRule{
	{APIGroups: []string{group}, Resources: []string{"etcdinstances/backup"}, Verbs: []string{"create"}},
	{APIGroups: []string{"mycrd.com"}, Resources: []string{"etcdinstances"}, Verbs: []string{"get"}},
}

// answers is what the controller does with a request, after it has waited.
func (w *world) answers(with workloadsv1alpha1.ETCDStoredBackup, after time.Duration) {
	w.t.Helper()
	var before workloadsv1alpha1.ETCDInstance
	w.Expect(cluster.Client.Get(w.t.Context(), named, &before)).To(Succeed())
	asked := before.Annotations[etcd.BackupAnnotation]
	done := make(chan struct{})
	w.t.Cleanup(func() { <-done })
	ctx := context.WithoutCancel(w.t.Context())
	go func() {
		defer close(done)
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			var object workloadsv1alpha1.ETCDInstance
			err := cluster.Client.Get(ctx, named, &object)
			with.Request = object.Annotations[etcd.BackupAnnotation]
			if err != nil || with.Request == asked {
				return false, err
			}
			<-time.After(after)
			object.Status.Backup = &with
			return true, cluster.Client.Status().Update(ctx, &object)
		})
		if err != nil {
			w.t.Errorf("answer: %v", err)
		}
	}()
}

func resultOf(t *testing.T, answer *http.Response) etcd.BackupResult {
	t.Helper()
	var result etcd.BackupResult
	NewWithT(t).Expect(json.NewDecoder(answer.Body).Decode(&result)).To(Succeed())
	return result
}

var storedBackup = workloadsv1alpha1.ETCDStoredBackup{State: workloadsv1alpha1.ETCDBackupStored, File: "my-super-etcd-49.db", Revision: 49, SizeBytes: 20480}

func TestASnapshotIsStoredByPOST(t *testing.T) {
	w := serving(t)
	storer := w.user("storer", mayStore...)
	t.Run("and the answer says where", func(t *testing.T) {
		w := &world{WithT: NewWithT(t), t: t, Process: w.Process}
		w.answers(storedBackup, 0)
		answer := w.ask(storer, backupURL)
		w.Expect(answer).To(HaveHTTPStatus(http.StatusCreated))
		result := resultOf(t, answer)
		w.Expect(result.APIVersion + " " + result.Kind).To(Equal("subresources.mycrd.com/v1alpha1 BackupResult"))
		w.Expect(result.Request).NotTo(BeEmpty())
		result.TypeMeta.APIVersion, result.TypeMeta.Kind, result.Request = "", "", ""
		w.Expect(result).To(Equal(etcd.BackupResult{State: "stored", Claim: "my-super-etcd-backup", File: "my-super-etcd-49.db", Revision: 49, SizeBytes: 20480}))
		w.Eventually(func(g Gomega) {
			var events eventsv1.EventList
			g.Expect(cluster.Client.List(t.Context(), &events, client.InNamespace(namespace))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(And(HaveField("Reason", "BackupTaken"), HaveField("Regarding.Name", instance),
				HaveField("Note", ContainSubstring(`User "storer" took the snapshot my-super-etcd-49.db in the claim my-super-etcd-backup: 20480 bytes, revision 49`)))))
		}).Should(Succeed(), "the team of the instance sees who has its data")
	})
	t.Run("and the console waits longer than an answer may take", func(t *testing.T) {
		w := &world{WithT: NewWithT(t), t: t, Process: w.Process}
		w.answers(storedBackup, 2*aggregated.AnswerWithin)
		client, err := remote.New(storer)
		w.Expect(err).NotTo(HaveOccurred())
		var out bytes.Buffer
		w.Expect(console.Console{Out: &out, ErrOut: &out}.Store(t.Context(), client, named)).To(Succeed())
		w.Expect(out.String()).To(Equal("a backup of shop/my-super-etcd is stored in the claim my-super-etcd-backup as my-super-etcd-49.db: revision 49, 20 KiB\n"))
	})
	t.Run("and not, if the claim is full", func(t *testing.T) {
		w := &world{WithT: NewWithT(t), t: t, Process: w.Process}
		w.answers(workloadsv1alpha1.ETCDStoredBackup{State: workloadsv1alpha1.ETCDBackupFailed, Message: "The claim is full."}, 2*aggregated.AnswerWithin)
		client, err := remote.New(storer)
		w.Expect(err).NotTo(HaveOccurred())
		_, err = client.Store(t.Context(), named)
		w.Expect(err).To(MatchError(ContainSubstring("no snapshot was stored: The claim is full.")))
	})
	t.Run("one after the other", func(t *testing.T) {
		w := &world{WithT: NewWithT(t), t: t, Process: w.Process}
		w.answers(storedBackup, 2*aggregated.AnswerWithin)
		first := w.ask(storer, backupURL)
		w.Expect(first).To(HaveHTTPStatus(http.StatusAccepted))
		w.Expect(resultOf(t, first).State).To(Equal("running"))
		second := w.ask(storer, backupURL)
		w.Expect(second).To(HaveHTTPStatus(http.StatusTooManyRequests))
		w.Expect(second.Header.Get("Retry-After")).To(Equal("10"))
		w.Expect(statusOf(t, second).Message).To(ContainSubstring("is being stored already"))
	})
}

func TestWhoMayStore(t *testing.T) {
	w := serving(t)
	w.Expect(w.ask(w.keeper(), backupURL)).To(HaveHTTPStatus(http.StatusForbidden), "who may take one may not store one")
	storer := w.user("storer", mayStore...)
	w.Expect(w.get(storer, backupURL)).To(HaveHTTPStatus(http.StatusForbidden), "nor the other way round")
	young := w.ask(storer, etcd.Path(etcd.Subresources, namespace, aggregated.Deploying, etcd.Backup))
	w.Expect(young).To(HaveHTTPStatus(http.StatusConflict))
	w.Expect(statusOf(t, young).Message).To(ContainSubstring("wait until its state is running"))
}

// ask has a snapshot stored, as `kubectl create --raw` does.
func (w *world) ask(as *rest.Config, path string) *http.Response {
	w.t.Helper()
	answer, err := w.post(as, path, bytes.NewReader([]byte("{}")))
	w.Expect(err).NotTo(HaveOccurred())
	return answer
}
