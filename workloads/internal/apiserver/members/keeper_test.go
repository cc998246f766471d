package members_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/critical-service/operator/internal/etcd"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/internal/apiserver/members"
)

var named = types.NamespacedName{Namespace: "shop", Name: "e"}

// answered bounds a request that gets an answer. unanswered, for one that gets none, is just longer than one look takes to come.
const answered, unanswered = time.Minute, 1200 * time.Millisecond

// running is an instance that can be backed up.
func running() *workloadsv1alpha1.ETCDInstance {
	instance := &workloadsv1alpha1.ETCDInstance{ObjectMeta: metav1.ObjectMeta{Namespace: named.Namespace, Name: named.Name, UID: "1"}}
	instance.Status.State = workloadsv1alpha1.ETCDRunning
	instance.Status.Members = []workloadsv1alpha1.ETCDMember{{Name: "e-0", ID: "1", Healthy: true}}
	return instance
}

func builder(t *testing.T, objects ...client.Object) *fake.ClientBuilder {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(corev1.AddToScheme(scheme)).To(Succeed())
	NewWithT(t).Expect(workloadsv1alpha1.AddToScheme(scheme)).To(Succeed())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&workloadsv1alpha1.ETCDInstance{})
}

// answering is what the controller does with what is asked for by the annotation.
func answering(answer *workloadsv1alpha1.ETCDStoredBackup) interceptor.Funcs {
	return interceptor.Funcs{Patch: func(ctx context.Context, to client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
		if err := to.Patch(ctx, object, patch, options...); err != nil || answer == nil {
			return err
		}
		instance := object.DeepCopyObject().(*workloadsv1alpha1.ETCDInstance)
		instance.Status.Backup = answer.DeepCopy()
		instance.Status.Backup.Request = instance.Annotations[workloadsv1alpha1.AnnotationBackup]
		return to.Status().Update(ctx, instance)
	}}
}

func TestASnapshotIsStored(t *testing.T) {
	for sentence, test := range map[string]struct {
		answer *workloadsv1alpha1.ETCDStoredBackup
		state  string
		file   string
		says   string
	}{
		"and the answer says where": {
			&workloadsv1alpha1.ETCDStoredBackup{State: workloadsv1alpha1.ETCDBackupStored, File: "e-7.db", Revision: 7, SizeBytes: 20480}, etcd.BackupStored, "e-7.db", "",
		},
		"or is still running, when the answer cannot wait":         {&workloadsv1alpha1.ETCDStoredBackup{State: workloadsv1alpha1.ETCDBackupRunning}, etcd.BackupRunning, "", ""},
		"or was not begun, because no controller runs for example": {nil, etcd.BackupRunning, "", ""},
		"or failed, and the answer says why":                       {&workloadsv1alpha1.ETCDStoredBackup{State: workloadsv1alpha1.ETCDBackupFailed, Message: "the claim is full"}, "", "", "no snapshot of ETCDInstance shop/e was stored: the claim is full"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			to := builder(t, running()).WithInterceptorFuncs(answering(test.answer)).Build()
			within := answered
			if test.state == etcd.BackupRunning {
				within = unanswered
			}
			keeper := &members.Keeper{Client: to, Within: within}
			stored, err := keeper.Store(t.Context(), named)
			if test.says != "" {
				g.Expect(apierrors.IsServiceUnavailable(err)).To(BeTrue())
				g.Expect(err).To(MatchError(ContainSubstring(test.says)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stored.State).To(Equal(test.state))
			g.Expect(stored.File).To(Equal(test.file))
			g.Expect(stored.Claim).To(Equal("e-backup"))
			g.Expect(stored.UID).To(BeEquivalentTo("1"))
			var asked workloadsv1alpha1.ETCDInstance
			g.Expect(to.Get(t.Context(), named, &asked)).To(Succeed())
			g.Expect(asked.Annotations).To(HaveKeyWithValue(workloadsv1alpha1.AnnotationBackup, stored.Request))
			g.Expect(len(stored.Request)).To(And(BeNumerically(">", 0), BeNumerically("<=", workloadsv1alpha1.MaxBackupRequest)))
		})
	}
}

func TestOneSnapshotIsStoredAtATime(t *testing.T) {
	asked := func(value string, last *workloadsv1alpha1.ETCDStoredBackup) *workloadsv1alpha1.ETCDInstance {
		instance := running()
		instance.Annotations = map[string]string{workloadsv1alpha1.AnnotationBackup: value}
		instance.Status.Backup = last
		return instance
	}
	const stored, underWay = workloadsv1alpha1.ETCDBackupStored, workloadsv1alpha1.ETCDBackupRunning
	young := running()
	young.Status.Members, young.Status.State = nil, workloadsv1alpha1.ETCDDeploying
	for sentence, test := range map[string]struct {
		instance *workloadsv1alpha1.ETCDInstance
		is       func(error) bool
	}{
		"another one was asked for, and not begun": {asked("a", nil), apierrors.IsTooManyRequests},
		"another one is running":                   {asked("a", &workloadsv1alpha1.ETCDStoredBackup{Request: "a", State: underWay}), apierrors.IsTooManyRequests},
		"one before it is running":                 {asked("", &workloadsv1alpha1.ETCDStoredBackup{Request: "b", State: underWay}), apierrors.IsTooManyRequests},
		"another one was asked for after the last": {asked("a", &workloadsv1alpha1.ETCDStoredBackup{Request: "b", State: stored}), apierrors.IsTooManyRequests},
		"the last one is stored":                   {asked("a", &workloadsv1alpha1.ETCDStoredBackup{Request: "a", State: stored}), nil},
		"what asks for nothing is too long":        {asked(string(make([]byte, 64)), nil), nil},
		"it has no member yet":                     {young, apierrors.IsConflict},
		"it does not exist":                        {nil, apierrors.IsNotFound},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			built := builder(t)
			if test.instance != nil {
				built = builder(t, test.instance)
			}
			to := built.WithInterceptorFuncs(answering(&workloadsv1alpha1.ETCDStoredBackup{State: stored})).Build()
			_, err := (&members.Keeper{Client: to, Within: answered}).Store(t.Context(), named)
			if test.is == nil {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(test.is(err)).To(BeTrue(), "%v", err)
			if apierrors.IsTooManyRequests(err) {
				seconds, retry := apierrors.SuggestsClientDelay(err)
				g.Expect(retry && seconds > 0).To(BeTrue())
			}
		})
	}
}

// An instance that is wrong may stay that way: to retry does not help its user.
func TestASnapshotThatMakesNoProgress(t *testing.T) {
	const message = "spec.version 3.4.0 is not known"
	wrong := func(change func(*workloadsv1alpha1.ETCDInstance)) *workloadsv1alpha1.ETCDInstance {
		instance := running()
		instance.Status.Conditions = []metav1.Condition{{Type: workloadsv1.ConditionReady, Status: metav1.ConditionFalse, Message: message}}
		change(instance)
		return instance
	}
	asked := func(instance *workloadsv1alpha1.ETCDInstance) {
		instance.Annotations = map[string]string{workloadsv1alpha1.AnnotationBackup: "a"}
	}
	for sentence, test := range map[string]struct {
		instance *workloadsv1alpha1.ETCDInstance
		// reads is called at each read.
		reads func(read int, instance *workloadsv1alpha1.ETCDInstance)
		is    func(error) bool
		says  string
	}{
		"is explained to who asks for another one": {wrong(asked), nil, apierrors.IsConflict, message},
		"although it is running": {wrong(func(e *workloadsv1alpha1.ETCDInstance) {
			e.Status.Backup = &workloadsv1alpha1.ETCDStoredBackup{Request: "a", State: workloadsv1alpha1.ETCDBackupRunning}
		}), nil, apierrors.IsConflict, message},
		"is explained to who asks first": {wrong(func(*workloadsv1alpha1.ETCDInstance) {}), nil, apierrors.IsConflict, message},
		"has to be awaited, once it begins": {wrong(asked), func(read int, e *workloadsv1alpha1.ETCDInstance) {
			if read > 2 {
				e.Status.Backup = &workloadsv1alpha1.ETCDStoredBackup{Request: "a", State: workloadsv1alpha1.ETCDBackupRunning}
			}
		}, apierrors.IsTooManyRequests, "is being stored already"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			reads := 0
			to := builder(t, test.instance).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, from client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					err := from.Get(ctx, key, object, options...)
					reads++
					if test.reads != nil {
						test.reads(reads, object.(*workloadsv1alpha1.ETCDInstance))
					}
					return err
				},
			}).Build()
			within := unanswered
			if test.reads != nil {
				within = answered
			}
			_, err := (&members.Keeper{Client: to, Within: within}).Store(t.Context(), named)
			g.Expect(test.is(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(test.says)))
		})
	}
}

// Two requests that read the same object must not both take the answer of one.
func TestTwoRequestsDoNotTakeEachOthersAnswer(t *testing.T) {
	g := NewWithT(t)
	conflicts := 0
	to := builder(t, running()).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, to client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			conflicts++
			if conflicts == 1 {
				other := running()
				if err := to.Get(ctx, named, other); err != nil {
					return err
				}
				metav1.SetMetaDataAnnotation(&other.ObjectMeta, workloadsv1alpha1.AnnotationBackup, "other")
				if err := to.Update(ctx, other); err != nil {
					return err
				}
			}
			return to.Patch(ctx, object, patch, options...)
		},
	}).Build()
	_, err := (&members.Keeper{Client: to, Within: time.Second}).Store(t.Context(), named)
	g.Expect(apierrors.IsTooManyRequests(err)).To(BeTrue(), "%v", err)
}
