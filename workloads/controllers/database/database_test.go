package database_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// The document's YAML, but for the group.
func TestTheDatabaseOfTheDocument(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running()
	pod, service := w.pod(d), w.service(d)
	w.Expect(w.Exists(pod)).To(BeTrue())
	w.Expect(pod.Spec.Containers[0].Image).To(Equal("mongo:4.0"))
	w.Expect(pod.Spec.Containers[0].Name).To(Equal("mongo"))
	w.Expect(pod.Labels).To(HaveKeyWithValue("app", "db"))
	w.Expect(metav1.IsControlledBy(pod, d)).To(BeTrue())
	w.Expect(w.Exists(service)).To(BeTrue())
	w.Expect(service.Spec.Type).To(Equal(corev1.ServiceTypeNodePort))
	w.Expect(service.Spec.Ports[0].Port).To(Equal(int32(27017)))
	w.Expect(metav1.IsControlledBy(service, d)).To(BeTrue())
	w.Expect(d.Status.Message).To(Equal("Pod and Service created by Database mongo-db"))
	w.Expect(d.Status.NodePort).To(Equal(service.Spec.Ports[0].NodePort))
	w.Expect(d.Status.Address).To(Equal("mongo-db." + w.Namespace + ".svc:27017"))
	secret := w.secret(d.Status.SecretName)
	w.Expect(w.Exists(secret)).To(BeTrue())
	w.Expect(secret.Data).To(And(HaveKeyWithValue("username", []byte("root")), HaveKey("password"), HaveKey("uri")))
	w.Eventually(w.EventsOf(d, "PodCreated")).Should(HaveLen(1))
	w.Eventually(w.EventsOf(d, "Running")).Should(HaveLen(1))
	w.Eventually(w.EventsOf(d, "PasswordGenerated")).Should(HaveLen(1))
}

// The next Pod has the volume and the password of the last.
func TestAPodThatIsKilledIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(withStorage)
	pod, claim, secret := w.uid(w.pod(d))(), w.uid(w.claim(d))(), w.uid(w.secret(d.SecretName()))()
	w.Expect(claim).NotTo(BeEmpty())
	w.Delete(w.pod(d))
	w.Eventually(w.uid(w.pod(d))).ShouldNot(Or(BeEmpty(), Equal(pod)))
	w.Expect(w.uid(w.claim(d))()).To(Equal(claim))
	w.Expect(w.uid(w.secret(d.SecretName()))()).To(Equal(secret))
}

// What is deleted with the Database is what belongs to it: no controller does that here.
func TestADatabaseThatIsDeletedLeavesItsData(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(withStorage)
	password := w.secret(d.SecretName())
	w.Expect(w.Exists(password)).To(BeTrue())
	for _, object := range []client.Object{w.pod(d), w.service(d), w.fallback(d)} {
		w.Expect(w.Exists(object)).To(BeTrue())
		w.Expect(metav1.IsControlledBy(object, d)).To(BeTrue(), "%T goes with it", object)
	}
	for _, object := range []client.Object{w.claim(d), w.secret(d.SecretName())} {
		w.Expect(w.Exists(object)).To(BeTrue())
		w.Expect(object.GetOwnerReferences()).To(BeEmpty(), "%T stays", object)
	}
	w.Delete(d)
	w.Delete(w.pod(d))
	w.Delete(w.service(d))
	w.Delete(w.fallback(d))
	w.operator.Settled(w.World)
	w.Expect(w.Exists(w.pod(d))).To(BeFalse(), "nothing of it is made again")
	w.Expect(w.Exists(w.claim(d))).To(BeTrue())

	next := w.running(withStorage)
	again := w.secret(next.SecretName())
	w.Expect(w.Exists(again)).To(BeTrue())
	w.Expect(again.Data).To(Equal(password.Data), "the data can be opened")
}

// Its Pod takes a while to end, and is not another user's.
func TestADatabaseThatIsMadeAgainWaitsForThePodOfTheLast(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running()
	pod := w.pod(d)
	w.Expect(w.Exists(pod)).To(BeTrue())
	w.Schedule(pod)
	w.Delete(d)
	w.Expect(w.Cluster.Client.Delete(t.Context(), pod)).To(Succeed(), "as the garbage collector does")
	next := w.database()
	w.Eventually(w.ready(next)).Should(Equal(workloadsv1.ReasonReplacing))
	w.Expect(w.condition(next, workloadsv1.ConditionReady).Message).To(ContainSubstring("of an earlier Database"))
	for _, gone := range []client.Object{pod, w.service(d), w.fallback(d), w.secret(d.SecretName())} {
		w.Delete(gone)
	}
	w.Eventually(w.uid(w.pod(next))).ShouldNot(Or(BeEmpty(), Equal(string(pod.UID))))
	w.Expect(w.Events(next, "NameTaken")).To(BeEmpty())
}

// With the document's selector, app: db, each Service leads to both.
func TestTwoDatabasesOfANamespaceDoNotMix(t *testing.T) {
	w := newWorld(t)
	w.start()
	orders, carts := w.running(named("orders")), w.running(named("carts"))
	addresses := func(service *corev1.Service) []string {
		w.PublishEndpoints(service)
		var slices discoveryv1.EndpointSliceList
		w.Expect(w.Cluster.Client.List(t.Context(), &slices, client.InNamespace(w.Namespace),
			client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})).To(Succeed())
		var found []string
		for i := range slices.Items {
			for _, endpoint := range slices.Items[i].Endpoints {
				found = append(found, endpoint.TargetRef.Name)
			}
		}
		return found
	}
	w.Expect(addresses(w.service(orders))).To(Equal([]string{"orders"}))
	w.Expect(addresses(w.service(carts))).To(Equal([]string{"carts"}))
	asInTheDocument := w.Service("as-in-the-document", func(s *corev1.Service) {
		s.Spec.Selector = map[string]string{workloadsv1.LabelApp: workloadsv1.AppDatabase}
	})
	w.Expect(addresses(asInTheDocument)).To(ConsistOf("orders", "carts"))
}

func TestAServiceThatAUserChangedIsPutRight(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running()
	testenv.Update(w.World, w.service(d), func(s *corev1.Service) {
		s.Spec.Selector = map[string]string{workloadsv1.LabelApp: workloadsv1.AppDatabase}
	})
	w.Eventually(func() map[string]string {
		service := w.service(d)
		w.Expect(w.Exists(service)).To(BeTrue())
		return service.Spec.Selector
	}).Should(Equal(map[string]string{workloadsv1.LabelDatabase: d.Name}))
}

func TestLabelsThatAUserTookOffArePutBack(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running()
	before := w.uid(w.pod(d))()
	testenv.Update(w.World, w.pod(d), func(p *corev1.Pod) { p.Labels = nil })
	w.Eventually(func() map[string]string {
		pod := w.pod(d)
		w.Expect(w.Exists(pod)).To(BeTrue())
		return pod.Labels
	}).Should(HaveKeyWithValue(workloadsv1.LabelDatabase, d.Name))
	w.Expect(w.uid(w.pod(d))()).To(Equal(before))
}

func TestAnObjectOfAnotherIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	service := w.Service("mongo-db")
	w.start()
	d := w.database()
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonNameTaken))
	w.Eventually(w.EventsOf(d, "NameTaken")).Should(HaveLen(1))
	w.Expect(w.Exists(w.pod(d))).To(BeFalse())
	w.Expect(w.Exists(w.fallback(d))).To(BeFalse(), "its owner chooses what answers for it")
	kept := w.service(d)
	w.Expect(w.Exists(kept)).To(BeTrue())
	w.Expect(kept.ResourceVersion).To(Equal(service.ResourceVersion))
	w.Delete(service)
	w.Eventually(w.Exists).WithArguments(w.pod(d)).Should(BeTrue(), "no watch reports that it is gone")
}

func TestADatabaseWaitsForItsSecret(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.database(withSecret("mine"), withStorage)
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonSecretInvalid))
	w.Expect(w.condition(d, workloadsv1.ConditionReady).Message).To(ContainSubstring("does not exist: create it"))
	secret := w.secret("mine")
	secret.StringData = map[string]string{"username": "admin"}
	w.Create(secret)
	w.Eventually(func() string { return w.condition(d, workloadsv1.ConditionReady).Message }).Should(ContainSubstring("lacks the key password"))
	w.Expect(w.Exists(w.pod(d))).To(BeFalse())
	w.Expect(w.Exists(w.claim(d))).To(BeFalse())
	testenv.Update(w.World, secret, func(s *corev1.Secret) { s.StringData = map[string]string{"password": "secret"} })
	w.Eventually(w.Exists).WithArguments(w.pod(d)).Should(BeTrue())
	for _, r := range w.operator.Traffic.Requests(func(r testenv.Request) bool { return r.Resource() == "secrets" }) {
		w.Expect(r.Method).To(Equal(http.MethodGet))
		w.Expect(r.Path).To(HaveSuffix("/secrets/mine"), "Secrets are read by name")
	}
}

func TestAPasswordIsNeverGeneratedTwice(t *testing.T) {
	w := newWorld(t)
	var lost atomic.Bool
	w.start(func(r testenv.Request) testenv.Verdict {
		if r.Method == http.MethodPost && r.Resource() == "secrets" && lost.CompareAndSwap(false, true) {
			return testenv.LoseAnswer
		}
		return testenv.Pass
	})
	d := w.running(withStorage)
	w.Expect(lost.Load()).To(BeTrue())
	generated := w.secret(d.SecretName())
	w.Expect(w.Exists(generated)).To(BeTrue())
	w.stop()
	w.start()
	w.Delete(w.pod(d))
	w.Eventually(w.Exists).WithArguments(w.pod(d)).Should(BeTrue())
	kept := w.secret(d.SecretName())
	w.Expect(w.Exists(kept)).To(BeTrue())
	w.Expect(kept.ResourceVersion).To(Equal(generated.ResourceVersion))

	w.Delete(generated)
	w.Delete(w.pod(d))
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonSecretInvalid), "another one would not open the data")
	w.Expect(w.Exists(w.secret(d.SecretName()))).To(BeFalse())
}

func TestASpecThatTheAPIServerRefusesTakesNothingAway(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(withStorage)
	before := w.uid(w.pod(d))()
	testenv.Update(w.World, d, func(d *workloadsv1.Database) {
		d.Spec.Pod.Resources = workloadsv1.PodResources{Requests: workloadsv1.Quantities{"memory": "2Gi"}, Limits: workloadsv1.Quantities{"memory": "1Gi"}}
	})
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonCreateDenied))
	w.Expect(w.condition(d, workloadsv1.ConditionReady).Message).To(And(
		ContainSubstring("must be less than or equal to memory limit"), ContainSubstring("the database answers as it did")))
	w.Expect(w.uid(w.pod(d))()).To(Equal(before))
	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Pod.Resources = workloadsv1.PodResources{} })
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonRunning))
	w.Expect(w.uid(w.pod(d))()).To(Equal(before))
}

func TestAClaimThatMayNotGrowTakesNothingAway(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(withStorage)
	claim := w.claim(d)
	// The operator may write the claim meanwhile.
	w.Eventually(func(g Gomega) {
		g.Expect(w.Exists(claim)).To(BeTrue())
		claim.Status.Phase = corev1.ClaimBound
		g.Expect(w.Cluster.Client.Status().Update(t.Context(), claim)).To(Succeed())
	}).Should(Succeed())
	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Storage.Size = "2Gi" })
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonStorageDenied))
	w.Expect(w.condition(d, workloadsv1.ConditionReady).Message).To(And(ContainSubstring("growth to 2Gi"), ContainSubstring("Set allowVolumeExpansion of the StorageClass")))
	w.Delete(w.pod(d))
	w.Eventually(w.Exists).WithArguments(w.pod(d)).Should(BeTrue(), "nothing waits for it")
}

// OpenShift lets only those change owners who may delete: the API server of these tests does
// as well, and the operator may not.
func TestAPolicyThatMayNotBeAppliedIsReported(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(withStorage)
	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Storage.DeletionPolicy = workloadsv1.DeletionDelete })
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonStorageDenied))
	w.Expect(w.condition(d, workloadsv1.ConditionReady).Message).To(ContainSubstring("change metadata.ownerReferences of the claim yourself"))
	testenv.Update(w.World, w.claim(d), func(c *corev1.PersistentVolumeClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "mycrd.com/v1", Kind: "Database", Name: d.Name, UID: d.UID}}
	})
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonRunning))
}

func TestAClaimGoesWithTheDatabaseWhereItsPolicySaysSo(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(withStorage, func(d *workloadsv1.Database) { d.Spec.Storage.DeletionPolicy = workloadsv1.DeletionDelete })
	claim := w.claim(d)
	w.Expect(w.Exists(claim)).To(BeTrue())
	w.Expect(claim.OwnerReferences).To(HaveLen(1))
	w.Expect(claim.OwnerReferences[0].UID).To(Equal(d.UID))
}

// The finalizer of the API server's admission keeps the claim: no controller takes it off here.
func TestAPodIsKeptWhileItsClaimIsBeingDeleted(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(withStorage)
	pod := w.uid(w.pod(d))()
	claim := w.claim(d)
	w.Expect(w.Cluster.Client.Delete(t.Context(), claim)).To(Succeed())
	w.Expect(w.Exists(claim)).To(BeTrue())
	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Image = "mongo:7.0" })
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonStorageTerminating))
	w.Eventually(func() int64 { return w.condition(d, workloadsv1.ConditionReady).ObservedGeneration }).Should(Equal(d.Generation))
	w.operator.Settled(w.World)
	w.Expect(w.uid(w.pod(d))()).To(Equal(pod))
}

// Once a Pod is gone, only the claim knows which image the data had; one that never came up had
// none.
func TestAnImageIsNotedBeforeItsPodGoes(t *testing.T) {
	w := newWorld(t)
	var loses atomic.Bool
	var lost atomic.Int32
	w.start(func(r testenv.Request) testenv.Verdict {
		if loses.Load() && r.Method == http.MethodPatch && r.Resource() == "persistentvolumeclaims" {
			lost.Add(1)
			return testenv.Lose
		}
		return testenv.Pass
	})
	loses.Store(true)
	d := w.database(withStorage)
	w.Eventually(w.Exists).WithArguments(w.pod(d)).Should(BeTrue())
	noted := func() string {
		claim := w.claim(d)
		w.Expect(w.Exists(claim)).To(BeTrue())
		return claim.Annotations[workloadsv1.AnnotationImage]
	}
	w.Expect(noted()).To(BeEmpty())
	w.MakeReady(w.pod(d))
	w.Eventually(lost.Load).Should(BeNumerically(">", 0))
	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Suspend = true })
	before := lost.Load()
	w.Eventually(lost.Load).Should(BeNumerically(">", before+2))
	w.Expect(w.Exists(w.pod(d))).To(BeTrue())
	loses.Store(false)
	w.Eventually(w.Exists).WithArguments(w.pod(d)).Should(BeFalse())
	w.Expect(noted()).To(Equal("mongo:4.0"))

	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Suspend, d.Spec.Image = false, "mongo:none" })
	w.Eventually(w.Exists).WithArguments(w.pod(d)).Should(BeTrue())
	wrong := w.pod(d)
	w.Expect(w.Exists(wrong)).To(BeTrue())
	w.Expect(wrong.Spec.Containers[0].Image).To(Equal("mongo:none"))
	w.cannotPull(wrong)
	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Image = "" })
	w.becomes(d, string(wrong.UID), "mongo:4.0")
	w.Expect(noted()).To(Equal("mongo:4.0"))
}

func TestASuspendedDatabaseKeepsAllButItsPod(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(withStorage)
	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Suspend = true })
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonSuspended))
	w.Expect(w.Exists(w.pod(d))).To(BeFalse())
	for _, kept := range []client.Object{w.service(d), w.claim(d), w.fallback(d)} {
		w.Expect(w.Exists(kept)).To(BeTrue())
	}
	testenv.Update(w.World, d, func(d *workloadsv1.Database) { d.Spec.Suspend = false })
	w.Eventually(w.Exists).WithArguments(w.pod(d)).Should(BeTrue())
}

func TestInASettledWorldNothingIsWritten(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.running(withStorage)
	w.cores(d, "Armed", "StandbyReady")
	w.Eventually(w.protected(d)).Should(Equal("StandbyReady"))
	w.operator.Settled(w.World)
	w.WritesNothing(func() []testenv.Request {
		before, reconciles := len(w.writes()), w.operator.Reconciles("database", w.Namespace, d.Name)
		for range 3 {
			testenv.Update(w.World, w.pod(d), func(p *corev1.Pod) {
				metav1.SetMetaDataAnnotation(&p.ObjectMeta, "example.com/touched", w.Unique(p.ResourceVersion))
			})
		}
		w.Eventually(func() int { return w.operator.Reconciles("database", w.Namespace, d.Name) }).Should(BeNumerically(">", reconciles))
		w.operator.Settled(w.World)
		return w.writes()[before:]
	})
	w.stop()
	w.start()
	w.operator.Settled(w.World)
	w.Expect(w.writes()).To(BeEmpty(), "nor after a restart")
}
