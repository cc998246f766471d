package decide_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

func TestWhatIsDoneWithThePod(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*decide.Snapshot)
		want   func(g Gomega, plan *decide.Plan)
	}{
		"another image replaces it, once that was tried out and the API server accepts the next": {
			func(s *decide.Snapshot) { s.Database.Spec.Image = nextImage; tried(passed())(s) },
			func(g Gomega, plan *decide.Plan) {
				g.Expect(plan.RemovePod.Successor.Spec.Containers[0].Image).To(Equal(nextImage))
				g.Expect(plan.RemovePod.Force).To(BeFalse())
			},
		},
		"other nodes replace it, once they were tried out": {
			func(s *decide.Snapshot) { s.Database.Spec.Pod.NodeSelector = map[string]string{"disk": "fast"} },
			func(g Gomega, plan *decide.Plan) {
				g.Expect(plan.CreateTrial.Pod.Spec.NodeSelector).To(HaveKeyWithValue("disk", "fast"))
				g.Expect(plan.CreateTrial.Successor.Spec.NodeSelector).To(HaveKeyWithValue("disk", "fast"))
			},
		},
		"another setting of the operator does not": {
			func(s *decide.Snapshot) { s.Image = "mongo:8.0" }, nothing,
		},
		"an image that an admission webhook has put there does not": {
			func(s *decide.Snapshot) { s.Pod.Spec.Containers[0].Image = "mirror.example.com/mongo:4.0" }, nothing,
		},
		"another type of the Service does not": {
			func(s *decide.Snapshot) { s.Database.Spec.Service.Type = workloadsv1.DatabaseServiceClusterIP },
			func(g Gomega, plan *decide.Plan) {
				g.Expect(plan.RemovePod).To(BeNil())
				g.Expect(plan.Service.Spec.Type).To(Equal(corev1.ServiceTypeClusterIP))
			},
		},
		"labels that a user took off are put back": {
			func(s *decide.Snapshot) { delete(s.Pod.Labels, workloadsv1.LabelDatabase) },
			func(g Gomega, plan *decide.Plan) {
				g.Expect(plan.ChangePod.To.Labels).To(HaveKeyWithValue(workloadsv1.LabelDatabase, "orders"))
				g.Expect(plan.RemovePod).To(BeNil())
			},
		},
		"one that was orphaned is taken back": {
			func(s *decide.Snapshot) { s.Pod.OwnerReferences = nil },
			func(g Gomega, plan *decide.Plan) {
				g.Expect(metav1.GetControllerOf(plan.ChangePod.To).UID).To(Equal(database().UID))
			},
		},
		"one that was evicted is replaced": {
			func(s *decide.Snapshot) {
				s.Pod.Status.Phase, s.Pod.CreationTimestamp = corev1.PodFailed, metav1.NewTime(now.Add(-time.Minute))
			},
			func(g Gomega, plan *decide.Plan) { g.Expect(plan.RemovePod).NotTo(BeNil()) },
		},
		"one that a node rejects at once is replaced a while later": {
			func(s *decide.Snapshot) {
				s.Pod.Status.Phase, s.Pod.CreationTimestamp = corev1.PodFailed, metav1.NewTime(now.Add(-time.Second))
			},
			func(g Gomega, plan *decide.Plan) {
				g.Expect(plan.RemovePod).To(BeNil())
				g.Expect(plan.RecheckAfter).To(Equal(9 * time.Second))
			},
		},
		"one without a volume on a lost node is forced": {
			func(s *decide.Snapshot) {
				withoutStorage(s.Database)
				s.Pod, s.Claim = podOf(s.Database), nil
				ending(s.Pod, time.Minute)
			},
			func(g Gomega, plan *decide.Plan) { g.Expect(plan.RemovePod.Force).To(BeTrue()) },
		},
		"one with a volume on a lost node is waited for": {
			func(s *decide.Snapshot) { ending(s.Pod, time.Hour) }, nothing,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			plan := decide.Decide(running(c.change))
			c.want(NewWithT(t), &plan)
		})
	}
}

func nothing(g Gomega, plan *decide.Plan) { g.Expect(plan.IsEmpty()).To(BeTrue(), "%+v", plan) }

// With storage, the setting of the operator is for the first Pod only.
func TestWhichImageTheNextPodHas(t *testing.T) {
	const newer = "mongo:8.0"
	for sentence, c := range map[string]struct {
		change func(*decide.Snapshot)
		want   string
	}{
		"that of the last, after it was deleted": {func(*decide.Snapshot) {}, image},
		"that of the last, with other nodes":     {func(s *decide.Snapshot) { s.Database.Spec.Pod.NodeSelector = map[string]string{"disk": "fast"} }, image},
		"that of an earlier Database, whose data it is": {func(s *decide.Snapshot) {
			s.Database.UID, s.Service, s.Fallback.Object = "of-the-next", nil, nil
		}, image},
		"that of the spec":          {func(s *decide.Snapshot) { s.Database.Spec.Image = "mongo:7.0" }, "mongo:7.0"},
		"the setting, without data": {func(s *decide.Snapshot) { s.Claim = nil }, newer},
		"the setting, where no engine has come up with the data so far": {func(s *decide.Snapshot) { delete(s.Claim.Annotations, workloadsv1.AnnotationImage) }, newer},
		"the setting, without storage":                                  {func(s *decide.Snapshot) { withoutStorage(s.Database); s.Claim = nil }, newer},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := running(func(s *decide.Snapshot) { s.Pod, s.Image = nil, newer }, c.change)
			NewWithT(t).Expect(decide.Decide(s).CreatePod.Spec.Containers[0].Image).To(Equal(c.want))
		})
	}
}

// A user who takes an image out of the spec expects what was there before.
func TestAnImageThatNeverCameUpIsNotKept(t *testing.T) {
	const typo, mirror = "mogno:4.0", "mirror.example.com/mongo:4.0"
	named := func(image string) func(*decide.Snapshot) {
		return func(s *decide.Snapshot) { s.Database.Spec.Image = image }
	}
	setting := func(image string) func(*decide.Snapshot) { return func(s *decide.Snapshot) { s.Image = image } }
	lost := func(s *decide.Snapshot) { s.Pod = nil }
	runs := func(s *decide.Snapshot) {
		s.Pod.Status.Phase = corev1.PodRunning
		inState(s.Pod, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	}
	ready := func(s *decide.Snapshot) { makeReady(s.Pod) }
	for sentence, c := range map[string]struct {
		// steps are changes that others make. After each, the operator does what there is to do.
		steps []func(*decide.Snapshot)
		want  string
		// noted is the image that the data of a Database with storage had last.
		noted string
	}{
		"a typo in a new Database is taken out": {
			[]func(*decide.Snapshot){named(typo), waiting("ImagePullBackOff"), named("")}, image, "",
		},
		"a typo in a new Database is taken out after its Pod was deleted": {
			[]func(*decide.Snapshot){named(typo), waiting("ImagePullBackOff"), lost, named(""), lost}, image, "",
		},
		"an image of something else, which runs and does not come up, is taken out": {
			[]func(*decide.Snapshot){named("redis:7"), runs, named("")}, image, "",
		},
		"an image of something else, which ends again and again, is taken out": {
			[]func(*decide.Snapshot){named("redis:7"), waiting("CrashLoopBackOff"), named("")}, image, "",
		},
		"the setting becomes a mirror while the image cannot be pulled": {
			[]func(*decide.Snapshot){named(""), waiting("ImagePullBackOff"), setting(mirror)}, mirror, "",
		},
		"the setting changes while the container ends again and again": {
			[]func(*decide.Snapshot){named(""), waiting("CrashLoopBackOff"), setting(mirror)}, mirror, "",
		},
		"the setting changes while the engine prepares its data": {
			[]func(*decide.Snapshot){named(""), runs, setting(mirror)}, image, "",
		},
		"the setting changes while the database answers": {
			[]func(*decide.Snapshot){named(""), ready, setting(mirror)}, image, image,
		},
		"the setting changes while the engine starts again": {
			[]func(*decide.Snapshot){named(""), ready, waiting("CrashLoopBackOff"), setting(mirror)}, image, image,
		},
		"the image that runs is no longer named": {
			[]func(*decide.Snapshot){named(nextImage), ready, named("")}, nextImage, nextImage,
		},
		"the image that runs is named": {
			[]func(*decide.Snapshot){named(""), ready, named(image)}, image, image,
		},
	} {
		for _, storage := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, storage %t", sentence, storage), func(t *testing.T) {
				g := NewWithT(t)
				s := decide.Snapshot{Now: now, Database: database(), Image: image, Fallback: fallback.Seen{Served: true}}
				if !storage {
					withoutStorage(s.Database)
				}
				for _, step := range c.steps {
					step(&s)
					s = settle(s)
				}
				g.Expect(s.Pod.Spec.Containers[0].Image).To(Equal(c.want))
				if storage {
					g.Expect(s.Claim.Annotations[workloadsv1.AnnotationImage]).To(Equal(c.noted))
				}
			})
		}
	}
}

func TestTheOldSpecGivesTheDataItsImageAgain(t *testing.T) {
	for sentence, meanwhile := range map[string]func(*decide.Snapshot){
		"after an image that cannot read the data": waiting("CrashLoopBackOff"),
		"after a typo that came when the Pod was lost": func(s *decide.Snapshot) {
			s.Database.Spec.Image, s.Pod = "mogno:4.0", nil
			*s = settle(*s)
			waiting("ImagePullBackOff")(s)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := settle(outdated())
			g.Expect(s.Pod.Spec.Containers[0].Image).To(Equal(nextImage))
			meanwhile(&s)
			s.Image, s.Database.Spec.Image = "mongo:8.0", ""
			s = settle(s)
			g.Expect(s.Pod.Spec.Containers[0].Image).To(Equal(image))
			g.Expect(s.Claim.Annotations).To(HaveKeyWithValue(workloadsv1.AnnotationImage, image))
		})
	}
}

// Thousands of Databases may have a limit that their nodes evict them for.
func TestAPodThatAlwaysEndsIsMadeEverMoreSeldom(t *testing.T) {
	g := NewWithT(t)
	s := running()
	var lived []time.Duration
	for range 10 {
		s.Pod = s.Pod.DeepCopy()
		s.Pod.Status = corev1.PodStatus{Phase: corev1.PodFailed}
		plan := decide.Decide(s)
		for plan.RemovePod == nil {
			g.Expect(plan.RecheckAfter).To(BeNumerically(">", 0))
			s = carriedOut(s, &plan)
			s.Now = s.Now.Add(plan.RecheckAfter)
			plan = decide.Decide(s)
		}
		lived = append(lived, s.Now.Sub(s.Pod.CreationTimestamp.Time))
		s = settle(s)
	}
	g.Expect(lived).To(Equal([]time.Duration{
		10 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second,
		160 * time.Second, 300 * time.Second, 300 * time.Second, 300 * time.Second, 300 * time.Second,
	}))

	s.Pod = s.Pod.DeepCopy()
	makeReady(s.Pod)
	s.Database.Status = decide.Decide(s).Status
	s.Now = s.Now.Add(time.Hour)
	s.Pod.Status = corev1.PodStatus{Phase: corev1.PodFailed}
	g.Expect(decide.Decide(s).RemovePod).NotTo(BeNil(), "one that has run is replaced at once")
}
