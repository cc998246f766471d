package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// waiting lets the container wait for a reason.
func waiting(reason string) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		s.Pod.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "mongo", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
		}}}
	}
}

// ended lets the container end again and again.
func ended(reason string, code int32) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		waiting("CrashLoopBackOff")(s)
		s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}
	}
}

// beside is a container that others have put before that of the engine, which runs.
func beside(other corev1.ContainerStatus) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		s.Pod.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{
			other, {Name: "mongo", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, Ready: true, Started: new(true)},
		}}
	}
}

func notScheduled(s *decide.Snapshot) {
	s.Pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient cpu.",
	}}}
}

func refused(reason string) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		s.Refusal = &decide.Refusal{Reason: reason, Message: "The API server refuses it: no."}
	}
}

// deleted marks the claim as being deleted.
func deleted(s *decide.Snapshot) {
	s.Claim.DeletionTimestamp, s.Claim.Spec.VolumeName = new(metav1.NewTime(now)), "pv-7"
}

func TestHowADatabaseStands(t *testing.T) {
	const goesOn = "Until then, the database answers as it did."
	for sentence, c := range map[string]struct {
		change func(*decide.Snapshot)
		reason string
		says   []string
	}{
		"one that answers": {
			func(*decide.Snapshot) {}, workloadsv1.ReasonRunning, []string{"orders.shop.svc:27017"},
		},
		"one whose Pod does not exist yet": {
			func(s *decide.Snapshot) { s.Pod = nil }, workloadsv1.ReasonStarting, []string{"is being made"},
		},
		"one whose container is being created": {
			waiting("ContainerCreating"), workloadsv1.ReasonStarting, []string{"is starting"},
		},
		"an image that cannot be pulled": {
			func(s *decide.Snapshot) {
				s.Database.Spec.Image = image
				waiting("ImagePullBackOff")(s)
			},
			workloadsv1.ReasonImagePullFailing, []string{`"mongo:4.0"`, "correct spec.image, or name the registry's Secret in spec.pod.imagePullSecrets"},
		},
		"an image that cannot be pulled, a moment before": {
			waiting("ErrImagePull"), workloadsv1.ReasonImagePullFailing, []string{"`kubectl describe pod orders` has the answer of the registry"},
		},
		"an image that cannot be pulled, and is the operator's setting": {
			func(s *decide.Snapshot) {
				delete(s.Claim.Annotations, workloadsv1.AnnotationImage)
				neverUp(s)
				waiting("ErrImagePull")(s)
			},
			workloadsv1.ReasonImagePullFailing, []string{"set spec.image, or", "It is empty, so that the image is the operator's setting DATABASE_IMAGE_MONGO."},
		},
		"an image that cannot be pulled, and had the data": {
			waiting("ErrImagePull"), workloadsv1.ReasonImagePullFailing, []string{"set spec.image, or", "It is empty, so that the image is the one that last had the data."},
		},
		"a container that cannot be created": {
			func(s *decide.Snapshot) {
				waiting("CreateContainerConfigError")(s)
				s.Pod.Status.ContainerStatuses[0].State.Waiting.Message = "couldn't find key password in Secret shop/own"
			},
			workloadsv1.ReasonPodFailing,
			[]string{`Container "mongo" cannot be created (couldn't find key password in Secret shop/own): put that right; ` + "`kubectl describe pod orders` says more"},
		},
		"a container that waits for what is not known": {
			waiting("SomethingNew"), workloadsv1.ReasonPodFailing, []string{`Container "mongo" waits in SomethingNew`},
		},
		"an image whose signature is not valid": {
			waiting("SignatureValidationFailed"), workloadsv1.ReasonImagePullFailing, []string{`"mongo:4.0"`},
		},
		"an engine that needs more memory than its limit": {
			func(s *decide.Snapshot) {
				ended("OOMKilled", 137)(s)
				s.Database.Spec.Pod.Resources.Limits = workloadsv1.Quantities{corev1.ResourceMemory: "32Mi"}
				s.Pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}
				s.Pod.Annotations[workloadsv1.AnnotationSpec] = render.SpecHash(s.Database, image)
			},
			workloadsv1.ReasonPodFailing, []string{`needs more memory than its limit of 32Mi: raise spec.pod.resources.limits.memory.`},
		},
		"an engine that needs more memory than the limit that the namespace gives it": {
			ended("OOMKilled", 137), workloadsv1.ReasonPodFailing, []string{"set spec.pod.resources.limits.memory, which is empty."},
		},
		"a container of others whose image cannot be pulled": {
			beside(corev1.ContainerStatus{Name: "istio-proxy", State: waits("ImagePullBackOff", "")}),
			workloadsv1.ReasonPodFailing, []string{`Container "istio-proxy", which is not of this operator, cannot get its image: ` + "`kubectl describe pod orders` says more."},
		},
		"a container of others, beside an engine whose image cannot be pulled": {
			func(s *decide.Snapshot) {
				beside(corev1.ContainerStatus{Name: "istio-proxy", State: waits("CrashLoopBackOff", "")})(s)
				s.Pod.Status.ContainerStatuses[1].State = waits("ErrImagePull", "not found")
			},
			workloadsv1.ReasonImagePullFailing, []string{`Image "mongo:4.0" cannot be pulled (not found)`},
		},
		"a container that ends again and again": {
			ended("Error", 14), workloadsv1.ReasonPodFailing, []string{`Container "mongo" ended with exit code 14 (Error)`, "`kubectl logs orders -c mongo` says more"},
		},
		"a Pod that no node takes": {
			notScheduled, workloadsv1.ReasonUnschedulable, []string{"Insufficient cpu", "spec.pod"},
		},
		"a Pod that waits for its volume": {
			func(s *decide.Snapshot) { notScheduled(s); s.Claim.Status.Phase = corev1.ClaimPending },
			workloadsv1.ReasonStoragePending, []string{"kubectl describe pvc orders-data", "storageClassName"},
		},
		"one that is suspended": {
			func(s *decide.Snapshot) { s.Database.Spec.Suspend, s.Pod = true, nil }, workloadsv1.ReasonSuspended, []string{"spec.suspend to false"},
		},
		"one that is about to be suspended": {
			func(s *decide.Snapshot) { s.Database.Spec.Suspend = true }, workloadsv1.ReasonReplacing, nil,
		},
		"a Pod that is ending": {
			func(s *decide.Snapshot) { ending(s.Pod, -time.Minute) }, workloadsv1.ReasonReplacing, []string{"is ending"},
		},
		"a Pod with a volume on a lost node": {
			func(s *decide.Snapshot) { ending(s.Pod, time.Minute); s.Pod.Spec.NodeName = "node-2" },
			workloadsv1.ReasonNodeLost, []string{`node "node-2" does not answer`, "kubectl taint nodes node-2 node.kubernetes.io/out-of-service"},
		},
		"a Pod that a finalizer keeps": {
			func(s *decide.Snapshot) { ending(s.Pod, time.Minute); s.Pod.Finalizers = []string{"example.com/wait"} },
			workloadsv1.ReasonReplacing, []string{"finalizers example.com/wait"},
		},
		"a Pod that was evicted": {
			func(s *decide.Snapshot) { s.Pod.Status = corev1.PodStatus{Phase: corev1.PodFailed} }, workloadsv1.ReasonReplacing, nil,
		},
		"a Service of another": {
			func(s *decide.Snapshot) { s.Service.ObjectMeta = foreign("orders") },
			workloadsv1.ReasonNameTaken, []string{`Service "orders" exists`, "left alone", "create a Database of another name", goesOn},
		},
		"a Pod of an earlier Database of the name": {
			func(s *decide.Snapshot) { s.Pod.OwnerReferences[0].UID = "of-an-earlier-one" },
			workloadsv1.ReasonReplacing, []string{`Pod "orders" of an earlier Database`, "goes first"},
		},
		"a claim that goes with an earlier Database of the name": {
			func(s *decide.Snapshot) {
				s.Pod, s.Claim.OwnerReferences = nil, []metav1.OwnerReference{{APIVersion: "mycrd.com/v1", Kind: "Database", Name: "orders", UID: "of-an-earlier-one"}}
			},
			workloadsv1.ReasonReplacing, []string{`PersistentVolumeClaim "orders-data" of an earlier Database`, "goes first"},
		},
		"a claim that is being deleted, while it is used": {
			func(s *decide.Snapshot) { deleted(s); s.Database.Spec.Suspend = true },
			workloadsv1.ReasonStorageTerminating, []string{`goes once Pod "orders" does`, "kubectl patch pv pv-7 ", "copy it to another Database", goesOn},
		},
		"a claim that is being deleted, before it has a volume": {
			func(s *decide.Snapshot) { deleted(s); s.Claim.Spec.VolumeName = "" }, workloadsv1.ReasonStorageTerminating, []string{"left alone. To keep the data only"},
		},
		"a claim that is being deleted, and no Pod has": {
			func(s *decide.Snapshot) { deleted(s); s.Pod = nil }, workloadsv1.ReasonStorageTerminating, []string{"kubectl patch pv pv-7 ", "kubectl describe pvc orders-data"},
		},
		"a claim that is being deleted with an earlier Database of the name": {
			func(s *decide.Snapshot) {
				deleted(s)
				s.Pod, s.Claim.OwnerReferences = nil, []metav1.OwnerReference{{APIVersion: "mycrd.com/v1", Kind: "Database", Name: "orders", UID: "of-an-earlier-one"}}
			},
			workloadsv1.ReasonReplacing, []string{"goes first"},
		},
		"a Secret of an earlier Database of the name": {
			func(s *decide.Snapshot) { s.Secret = decide.Secret{Found: true, Earlier: true} }, workloadsv1.ReasonReplacing, []string{"goes first"},
		},
		"a Pod of another": {
			func(s *decide.Snapshot) { s.Pod.ObjectMeta = foreign("orders") }, workloadsv1.ReasonNameTaken, []string{`Pod "orders" exists`},
		},
		"a claim of another": {
			func(s *decide.Snapshot) { s.Claim.ObjectMeta = foreign("orders-data") },
			workloadsv1.ReasonNameTaken, []string{`PersistentVolumeClaim "orders-data" exists`},
		},
		"a claim with the data of another engine": {
			func(s *decide.Snapshot) { s.Claim.Annotations[workloadsv1.AnnotationEngine] = "mysql" },
			workloadsv1.ReasonNameTaken, []string{`an earlier Database of type "mysql"`},
		},
		"a Secret of another": {
			func(s *decide.Snapshot) { s.Secret.Ours = false },
			workloadsv1.ReasonNameTaken, []string{`Secret "orders-credentials" exists`, "spec.credentials.secretName"},
		},
		"a Secret that was generated for another engine": {
			func(s *decide.Snapshot) { s.Secret.Engine = "mysql" },
			workloadsv1.ReasonNameTaken, []string{`Secret "orders-credentials" has the credentials of an earlier Database of type "mysql"`, "delete the Secret"},
		},
		"a Secret of a user's own that was generated for another engine": {
			func(s *decide.Snapshot) {
				s.Database.Spec.Credentials.SecretName, s.Secret.Engine = "carts-credentials", "mysql"
				s.Pod.Annotations[workloadsv1.AnnotationSpec] = render.SpecHash(s.Database, image)
			},
			workloadsv1.ReasonRunning, nil,
		},
		"a Secret of a user's own that does not exist": {
			func(s *decide.Snapshot) { s.Database.Spec.Credentials.SecretName, s.Secret = "mine", decide.Secret{} },
			workloadsv1.ReasonSecretInvalid, []string{`Secret "mine" does not exist: create it`, goesOn},
		},
		"a Secret without a key": {
			func(s *decide.Snapshot) { s.Secret.Missing = []string{"username", "password"} },
			workloadsv1.ReasonSecretInvalid, []string{"lacks the key username, password"},
		},
		"a generated Secret that is gone, with data that needs it": {
			func(s *decide.Snapshot) { s.Secret = decide.Secret{} },
			workloadsv1.ReasonSecretInvalid, []string{`only its password opens the data in PersistentVolumeClaim "orders-data"`, "restore the Secret"},
		},
		"a generated Secret that is gone, while a Pod has its password": {
			func(s *decide.Snapshot) { s.Secret = decide.Secret{}; withoutStorage(s.Database) },
			workloadsv1.ReasonSecretInvalid, []string{"delete the Pod to begin without data", goesOn},
		},
		"a Pod that the API server refuses": {
			func(s *decide.Snapshot) { s.Pod = nil; refused(workloadsv1.ReasonCreateDenied)(s) }, workloadsv1.ReasonCreateDenied, []string{"refuses it: no."},
		},
		"the next Pod is refused, and this one runs": {
			refused(workloadsv1.ReasonCreateDenied), workloadsv1.ReasonCreateDenied, []string{goesOn},
		},
		"a claim that may not grow, of one that runs": {
			refused(workloadsv1.ReasonStorageDenied), workloadsv1.ReasonStorageDenied, []string{"refuses it: no."},
		},
		"a claim that may not grow, of one that starts": {
			func(s *decide.Snapshot) { refused(workloadsv1.ReasonStorageDenied)(s); waiting("ContainerCreating")(s) }, workloadsv1.ReasonStarting, nil,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			got := ready(t, running(c.change))
			g.Expect(got.Reason).To(Equal(c.reason), got.Message)
			want := metav1.ConditionFalse
			if c.reason == workloadsv1.ReasonRunning || c.reason == workloadsv1.ReasonStorageDenied {
				want = metav1.ConditionTrue
			}
			g.Expect(got.Status).To(Equal(want))
			for _, text := range c.says {
				g.Expect(got.Message).To(ContainSubstring(text))
			}
		})
	}
}

func TestANewDatabaseGetsAllAtOnce(t *testing.T) {
	g := NewWithT(t)
	plan := decide.Decide(decide.Snapshot{Now: now, Database: database(), Image: image, Fallback: fallback.Seen{Served: true}})
	g.Expect(plan.Fallback.Apply.Spec.Services).To(Equal([]string{"orders"}))
	g.Expect(plan.Fallback.Apply.Spec.Fallback.Page).NotTo(BeNil())
	g.Expect(plan.Service.Spec.Type).To(Equal(corev1.ServiceTypeNodePort))
	g.Expect(plan.Generate).To(BeTrue())
	g.Expect(plan.CreateClaim).NotTo(BeNil())
	g.Expect(plan.CreatePod.Spec.Containers[0].Image).To(Equal(image))
}

func TestTheStatusSaysWhatThereIs(t *testing.T) {
	g := NewWithT(t)
	s := running()
	status := decide.Decide(s).Status
	g.Expect(status.Message).To(Equal("Pod and Service created by Database orders"), "as the document has it")
	g.Expect(status.PodName).To(Equal("orders"))
	g.Expect(status.Address).To(Equal("orders.shop.svc:27017"))
	g.Expect(status.NodePort).To(Equal(int32(31480)))
	g.Expect(status.SecretName).To(Equal("orders-credentials"))
	g.Expect(status.ObservedGeneration).To(Equal(int64(1)))
}

// What outlives a Database belongs to the next of its name: the data, and what opens it.
func TestTheNextDatabaseOfTheNameFindsItsData(t *testing.T) {
	g := NewWithT(t)
	earlier := running()
	next := database(func(d *workloadsv1.Database) { d.UID = "of-the-next" })
	secret := render.Secret(earlier.Database, "secret")
	g.Expect(secret.OwnerReferences).To(BeEmpty())
	g.Expect(earlier.Claim.OwnerReferences).To(BeEmpty())
	plan := decide.Decide(decide.Snapshot{
		Now: now, Database: next, Image: image, Claim: earlier.Claim, Secret: decide.Secret{Found: true, Ours: render.IsOurs(next, secret)},
	})
	g.Expect(plan.CreatePod).NotTo(BeNil())
	g.Expect(plan.Generate).To(BeFalse())
	g.Expect(plan.CreateClaim).To(BeNil())
	g.Expect(render.Secret(database(withoutStorage), "secret").OwnerReferences).NotTo(BeEmpty(), "without storage nothing outlives")
}

func TestADatabaseThatIsDeletedIsLeftAlone(t *testing.T) {
	g := NewWithT(t)
	s := running(func(s *decide.Snapshot) { s.Database.DeletionTimestamp, s.Pod = new(metav1.NewTime(now)), nil })
	plan := decide.Decide(s)
	g.Expect(plan.IsEmpty()).To(BeTrue())
	g.Expect(decide.Decide(decide.Snapshot{}).RecheckAfter).To(BeZero())
}

// Thousands of Databases may wait for the same quota.
func TestWhatIsRefusedIsLookedForEverMoreSeldom(t *testing.T) {
	g := NewWithT(t)
	waits := map[time.Duration]time.Duration{}
	for _, age := range []time.Duration{0, time.Minute, 24 * time.Hour} {
		s := running(refused(workloadsv1.ReasonCreateDenied))
		s.Database.Status.Conditions = []metav1.Condition{{
			Type: workloadsv1.ConditionReady, Status: metav1.ConditionFalse, Reason: workloadsv1.ReasonCreateDenied, LastTransitionTime: metav1.NewTime(now.Add(-age)),
		}}
		s.Ages = new(recheck.Reasons).Observe(types.NamespacedName{}, s.Database.Status.Conditions, now)
		waits[age] = decide.Decide(s).RecheckAfter
	}
	g.Expect(waits[0]).To(BeNumerically("~", 2*time.Second, time.Second))
	g.Expect(waits[time.Minute]).To(BeNumerically("~", time.Minute, 31*time.Second))
	g.Expect(waits[24*time.Hour]).To(And(BeNumerically(">=", 5*time.Minute), BeNumerically("<=", 450*time.Second)))
	suspended := running(refused(workloadsv1.ReasonCreateDenied))
	suspended.Ages = new(recheck.Reasons).Observe(types.NamespacedName{}, []metav1.Condition{{
		Type: workloadsv1.ConditionReady, Status: metav1.ConditionFalse, Reason: workloadsv1.ReasonSuspended, LastTransitionTime: metav1.NewTime(now.Add(-24 * time.Hour)),
	}}, now)
	g.Expect(decide.Decide(suspended).RecheckAfter).To(Equal(waits[0]), "a new problem is new, however long the Database was not ready")
	other := running(refused(workloadsv1.ReasonCreateDenied))
	other.Database.UID = "of-a-database-elsewhere"
	g.Expect(decide.Decide(other).RecheckAfter).NotTo(Equal(waits[0]), "each at a time of its own")
}
