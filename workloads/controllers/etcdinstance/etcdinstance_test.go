package etcdinstance_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
)

// The document's sample has a name, and no more.
func TestAnInstanceWithoutASpecRunsOneMember(t *testing.T) {
	w := newWorld(t)
	w.start()
	e := w.instance(func(*workloadsv1alpha1.ETCDInstance) {})
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 1)
	w.Expect(e.Status.Message).To(Equal("1 of 1 members are healthy, leader my-super-etcd-0."))
	w.Expect(e.Status.Members).To(ConsistOf(workloadsv1alpha1.ETCDMember{Name: "my-super-etcd-0", ID: "f0", Healthy: true, Leader: true, Version: "3.7.0"}))
	for _, made := range []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: e.Name}}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: e.PeersName()}},
		&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: e.Name}}, &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Name: e.Name}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: e.ConfigName()}}, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: e.Name}},
	} {
		made.SetNamespace(w.Namespace)
		w.Expect(w.Exists(made)).To(BeTrue())
		w.Expect(metav1.IsControlledBy(made, e)).To(BeTrue(), "%T goes with it", made)
	}
}

// Without an end of the changes, it would never be running.
func TestAnInstanceWithStorageSettles(t *testing.T) {
	w := newWorld(t)
	w.start()
	e := w.instance(func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.Storage = &workloadsv1alpha1.ETCDStorage{Size: "1Gi"} })
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 1)
}

// kubectl scale uses the same subresource.
func TestAnInstanceIsScaledMemberByMember(t *testing.T) {
	w := newWorld(t)
	w.start()
	e := w.instance(func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.Replicas = 3 })
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 3)

	w.etcd.does(func(f *etcd) { f.leader = f.members[2].ID })
	scale := &autoscalingv1.Scale{}
	w.Expect(w.Cluster.Client.SubResource("scale").Get(t.Context(), e, scale)).To(Succeed())
	w.Expect(scale.Status.Replicas).To(Equal(int32(3)))
	w.Expect(scale.Status.Selector).To(Equal("app.kubernetes.io/component=member," + workloadsv1alpha1.LabelETCDInstance + "=" + e.Name))
	w.Expect(w.Cluster.Client.SubResource("scale").Patch(t.Context(), e, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`)), client.WithSubResourceBody(scale))).To(Succeed())
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 1)
	w.Eventually(func(g Gomega) {
		w.kubernetes(g, e)
		g.Expect(w.Exists(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: e.MemberName(1)}})).To(BeFalse())
	}).Should(Succeed())
	w.Expect(e.Status.Members).To(ConsistOf(HaveField("Name", "my-super-etcd-0")))
	w.Eventually(w.EventsOf(e, "LeaderMoved")).ShouldNot(BeEmpty())
	w.Eventually(w.EventsOf(e, "MemberRemoved")).ShouldNot(BeEmpty())
}

// A Pod that comes again without a volume has no data, and takes part as another member.
func TestAMemberWithoutItsDataIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.start()
	e := w.instance(func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.Replicas = 3 })
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 3)
	before := slices.Clone(e.Status.Members)
	w.etcd.does(func(f *etcd) {
		// The member of this name does not answer with the ID that it had.
		f.members[1].ID = "gone"
	})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: e.MemberName(1)}}
	w.Expect(w.Cluster.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
	w.Eventually(func(g Gomega) {
		w.kubernetes(g, e)
		g.Expect(w.Exists(e)).To(BeTrue())
		g.Expect(e.Status.State).To(Equal(workloadsv1alpha1.ETCDRunning), e.Status.Message)
		g.Expect(e.Status.Members).NotTo(Equal(before))
	}).WithTimeout(2 * time.Minute).Should(Succeed())
}

// The Pod of the lowest ordinal has an address, and refuses connections: the others take the change.
func TestAMemberThatDoesNotAnswerIsNotAskedForAChange(t *testing.T) {
	w := newWorld(t)
	w.start()
	e := w.instance(func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.Replicas = 3 })
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 3)
	w.etcd.does(func(f *etcd) { f.silent, f.leader = e.MemberName(0), f.members[2].ID })
	lost := e.Status.Members[0].ID
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: e.MemberName(0)}}
	w.Expect(w.Cluster.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
	w.Eventually(func(g Gomega) {
		w.kubernetes(g, e)
		g.Expect(w.Exists(e)).To(BeTrue())
		g.Expect(e.Status.Members).To(ContainElement(And(HaveField("Name", e.MemberName(0)), HaveField("ID", Not(Equal(lost))))), e.Status.Message)
	}).WithTimeout(2 * time.Minute).Should(Succeed())
	w.etcd.does(func(f *etcd) { f.silent = "" })
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 3)
}

func TestTheStatusSaysWhyEtcdTakesNoChange(t *testing.T) {
	w := newWorld(t)
	w.start()
	e := w.instance(func(*workloadsv1alpha1.ETCDInstance) {})
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 1)
	const forever = math.MaxInt
	w.etcd.does(func(f *etcd) { f.refuses = forever })
	testenv.Update(w.World, e, func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.Replicas = 3 })
	w.Eventually(func(g Gomega) {
		w.kubernetes(g, e)
		g.Expect(w.Exists(e)).To(BeTrue())
		g.Expect(e.Status.Message).To(HaveSuffix("is being added: 1 of 3 vote. etcd has not taken this yet: etcdserver: unhealthy cluster."))
	}).Should(Succeed())
	w.etcd.does(func(f *etcd) { f.refuses = 0 })
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 3)
}

func TestWithTLSThereAreCertificatesAndTheyStay(t *testing.T) {
	w := newWorld(t)
	w.start()
	e := w.instance(func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.WithTLSBundle = true })
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 1)
	before := map[string]string{}
	for _, name := range []string{e.AuthoritySecretName(), e.ServerSecretName(), e.PeerSecretName(), e.ClientSecretName()} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
		w.Expect(w.Exists(secret)).To(BeTrue(), name)
		w.Expect(secret.Data).To(And(HaveKey(workloadsv1alpha1.KeyCA), HaveKey(workloadsv1alpha1.KeyCertificate), HaveKey(workloadsv1alpha1.KeyPrivateKey)))
		before[name] = secret.ResourceVersion
	}
	testenv.Update(w.World, e, func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.Replicas = 2 })
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 2)
	w.Expect(e.Status.Message).To(ContainSubstring("2 members survive no more failures than 1"))
	for name, version := range before {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
		w.Expect(w.Exists(secret)).To(BeTrue())
		w.Expect(secret.ResourceVersion).To(Equal(version), name)
	}
}

func TestAnAlarmStopsAllChanges(t *testing.T) {
	w := newWorld(t)
	w.start()
	e := w.instance(func(*workloadsv1alpha1.ETCDInstance) {})
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 1)
	w.etcd.does(func(f *etcd) { f.alarm = "NOSPACE" })
	testenv.Update(w.World, e, func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.Replicas = 3 })
	w.becomes(e, workloadsv1alpha1.ETCDFailed, 1)
	w.Expect(e.Status.Message).To(ContainSubstring("alarm disarm"))
	w.etcd.does(func(f *etcd) { f.alarm = "" })
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 3)
}

func TestWhatIsAnothersIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "my-super-etcd-config"}, Data: map[string]string{"mine": "yes"}}
	w.Create(taken)
	w.start()
	e := w.instance(func(*workloadsv1alpha1.ETCDInstance) {})
	w.becomes(e, workloadsv1alpha1.ETCDFailed, 0)
	w.Expect(e.Status.Message).To(HavePrefix(`ConfigMap "my-super-etcd-config" exists and does not belong to this ETCDInstance`))
	w.Expect(w.Exists(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: e.Name}})).To(BeFalse())
	w.Expect(w.Exists(taken)).To(BeTrue())
	w.Expect(taken.Data).To(Equal(map[string]string{"mine": "yes"}))
}

// parsed is an ETCDInstance as a user writes its spec.
func (w *world) parsed(name, spec string) *unstructured.Unstructured {
	w.T.Helper()
	object := &unstructured.Unstructured{}
	w.Expect(yaml.Unmarshal([]byte("spec: "+spec), &object.Object)).To(Succeed())
	object.SetGroupVersionKind(workloadsv1alpha1.ETCDInstanceKind)
	object.SetNamespace(w.Namespace)
	object.SetName(name)
	return object
}

func TestWhatTheSchemaRefuses(t *testing.T) {
	w := newWorld(t)
	for sentence, c := range map[string]struct{ name, spec, says string }{
		"a name that is too long for its Pods": {strings.Repeat("a", 53), `{}`, "at most 52"},
		"no members":                           {"a", `{replicas: 0}`, "greater than or equal to 1"},
		"more members than nine":               {"a", `{replicas: 10}`, "less than or equal to 9"},
		"an image without a version":           {"a", `{image: "etcd:latest"}`, "whose tag is the version of etcd"},
		"a size that is no quantity":           {"a", `{storage: {size: big}}`, "size must be a quantity"},
		"two origins of the data":              {"a", `{storage: {size: 1Gi}, restore: {fromInstance: b, upload: true}}`, "exactly one of fromInstance and upload"},
		"an origin of nothing":                 {"a", `{storage: {size: 1Gi}, restore: {}}`, "exactly one of fromInstance and upload"},
		"a restore that has no volume":         {"a", `{restore: {upload: true}}`, "restore needs storage"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			err := w.Cluster.Client.Create(t.Context(), w.parsed(c.name, c.spec))
			g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

func TestWhatMayNotBeChanged(t *testing.T) {
	w := newWorld(t)
	w.Create(w.parsed("with", `{with_tls_bundle: true, storage: {size: 2Gi}, restore: {fromInstance: other}}`))
	w.Create(w.parsed("without", `{}`))
	for sentence, c := range map[string]struct{ name, change, says string }{
		"TLS that is taken away":     {"with", `{"with_tls_bundle":false}`, "with_tls_bundle must not be changed"},
		"TLS that is added":          {"without", `{"with_tls_bundle":true}`, "with_tls_bundle must not be changed"},
		"storage that is taken away": {"with", `{"storage":null,"restore":null}`, "storage must not be added or removed"},
		"storage that is added":      {"without", `{"storage":{"size":"1Gi"}}`, "storage must not be added or removed"},
		"another size":               {"with", `{"storage":{"size":"3Gi"}}`, "storage.size must not be changed"},
		"another origin":             {"with", `{"restore":{"fromInstance":"third"}}`, "restore must not be changed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := w.Cluster.Client.Patch(t.Context(), w.parsed(c.name, `{}`), client.RawPatch(types.MergePatchType, []byte(`{"spec":`+c.change+`}`)))
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

// ends ends a Pod of the operator as a kubelet would, with what its program reports.
func (w *world) ends(name, report string) {
	w.T.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	w.Eventually(func() bool { return w.Exists(pod) }).Should(BeTrue())
	uid := pod.UID
	w.PodStatus(pod, func(status *corev1.PodStatus) {
		status.Phase = corev1.PodSucceeded
		status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: report}},
		}}
	})
	w.Eventually(func(g Gomega) {
		g.Expect(w.Exists(pod) && pod.UID == uid && pod.DeletionTimestamp == nil).To(BeFalse(), "it goes when its result is noted")
	}).Should(Succeed())
}

const stored = `{"file":"my-super-etcd-42.db","revision":42,"sizeBytes":20480}`

func TestASnapshotIsStoredOnDemandAndBeforeADeletion(t *testing.T) {
	w := newWorld(t)
	w.start()
	e := w.instance(func(e *workloadsv1alpha1.ETCDInstance) { e.Spec.Backup.BeforeDeletion = true })
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 1)
	testenv.Update(w.World, e, func(e *workloadsv1alpha1.ETCDInstance) {
		e.Annotations = map[string]string{workloadsv1alpha1.AnnotationBackup: "first"}
	})
	w.ends(e.BackupPodName(), stored)
	w.Expect(w.Exists(e)).To(BeTrue())
	w.Expect(e.Status.Backup).To(HaveValue(And(
		HaveField("Request", "first"), HaveField("State", workloadsv1alpha1.ETCDBackupStored), HaveField("File", "my-super-etcd-42.db"), HaveField("Revision", BeEquivalentTo(42)),
	)))
	w.Eventually(w.EventsOf(e, "SnapshotStored")).ShouldNot(BeEmpty())
	w.Expect(e.Finalizers).To(ConsistOf(workloadsv1alpha1.Finalizer))

	w.Expect(w.Cluster.Client.Delete(t.Context(), e)).To(Succeed())
	w.ends(e.BackupPodName(), stored)
	w.Eventually(func() bool { return w.Exists(e) }).Should(BeFalse())
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: e.BackupClaimName()}}
	w.Expect(w.Exists(claim)).To(BeTrue())
	w.Expect(claim.OwnerReferences).To(BeEmpty(), "snapshots outlive the ETCDInstance")
}

func TestNoMemberBeginsBeforeItsDataIsRestored(t *testing.T) {
	w := newWorld(t)
	w.start()
	e := w.instance(func(e *workloadsv1alpha1.ETCDInstance) {
		e.Spec.Storage, e.Spec.Restore = &workloadsv1alpha1.ETCDStorage{Size: "1Gi"}, &workloadsv1alpha1.ETCDRestore{Upload: true}
	})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: e.RestorePodName()}}
	w.Eventually(func() bool { return w.Exists(pod) }).Should(BeTrue())
	w.PodStatus(pod, func(status *corev1.PodStatus) {
		status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "snapshot", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}}
	})
	w.Eventually(func(g Gomega) {
		g.Expect(w.Exists(e)).To(BeTrue())
		g.Expect(e.Status.Conditions).To(ContainElement(And(HaveField("Type", workloadsv1alpha1.ConditionRestored), HaveField("Reason", workloadsv1alpha1.ReasonWaitingForUpload))))
	}).Should(Succeed())
	w.Expect(w.Exists(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: e.Name}})).To(BeFalse())
	w.ends(e.RestorePodName(), stored)
	w.becomes(e, workloadsv1alpha1.ETCDRunning, 1)
	w.Expect(e.Status.Conditions).To(ContainElement(And(HaveField("Type", workloadsv1alpha1.ConditionRestored), HaveField("Status", metav1.ConditionTrue), HaveField("Message", ContainSubstring("revision 42")))))
}
