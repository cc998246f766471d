package decide_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/controllers/responder/internal/render"
)

const nextImage = "quay.io/operator:2"

// present is when the operator looks.
var present = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

// next is the version of the Pods of the operator that comes.
func next() string {
	r := render.Responder{Image: nextImage}
	return r.Version()
}

// beside adds namespaces that have the next version.
func beside(progress decide.Progress, count int) func(*decide.Snapshot) {
	return func(s *decide.Snapshot) {
		for range count {
			s.Neighbours = append(s.Neighbours, decide.Neighbour{
				Namespace: fmt.Sprint("team-", len(s.Neighbours)), Version: next(), Progress: progress,
			})
		}
	}
}

func TestANewVersionComesNamespaceByNamespace(t *testing.T) {
	ofLast := func(s *decide.Snapshot) {
		s.Neighbours = append(s.Neighbours, decide.Neighbour{Namespace: "last", Version: "last", Progress: decide.Underway})
	}
	tests := map[string]struct {
		world []func(*decide.Snapshot)
		// want is for whom it waits; empty if it goes.
		want    []string
		stopped bool
	}{
		"the first goes":                           {},
		"the second waits for it":                  {world: []func(*decide.Snapshot){beside(decide.Underway, 1)}, want: []string{"team-0"}},
		"once that has come up the second goes":    {world: []func(*decide.Snapshot){beside(decide.Complete, 1)}},
		"then one at once":                         {world: []func(*decide.Snapshot){beside(decide.Complete, 1), beside(decide.Underway, 1)}, want: []string{"team-1"}},
		"then as many at once as have come up":     {world: []func(*decide.Snapshot){beside(decide.Complete, 3), beside(decide.Underway, 2)}},
		"but no more":                              {world: []func(*decide.Snapshot){beside(decide.Complete, 3), beside(decide.Underway, 3)}, want: []string{"team-3", "team-4", "team-5"}},
		"and no more than ten":                     {world: []func(*decide.Snapshot){beside(decide.Complete, 90), beside(decide.Underway, 10)}, want: []string{"team-90", "team-91", "team-92", "team-93", "team-94", "team-95", "team-96", "team-97", "team-98", "team-99"}},
		"one that fails alone does not stop it":    {world: []func(*decide.Snapshot){beside(decide.Failed, 1)}},
		"a second is tried alone":                  {world: []func(*decide.Snapshot){beside(decide.Failed, 1), beside(decide.Underway, 1)}, want: []string{"team-1"}},
		"two that fail stop it":                    {world: []func(*decide.Snapshot){beside(decide.Failed, 2)}, want: []string{"team-0", "team-1"}, stopped: true},
		"two that fail do not stop it after two":   {world: []func(*decide.Snapshot){beside(decide.Complete, 2), beside(decide.Failed, 2)}},
		"more that fail than come up stop it":      {world: []func(*decide.Snapshot){beside(decide.Complete, 2), beside(decide.Failed, 3)}, want: []string{"team-2", "team-3", "team-4"}, stopped: true},
		"what others do with another does not say": {world: []func(*decide.Snapshot){ofLast}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := settled(g, snapshot(critical("web", port("http", 80))))
			s.Settings.Image, s.Now = nextImage, present
			g.Expect(decide.Decide(s).AsksNeighbours).To(BeTrue())
			for _, change := range test.world {
				change(&s)
			}
			plan := decide.Decide(s)
			if test.want == nil {
				g.Expect(plan.Wait).To(BeNil())
				g.Expect(plan.Deployment.Spec.Template.Spec.Containers[0].Image).To(Equal(nextImage))
				return
			}
			g.Expect(plan.Wait).To(Equal(&decide.Wait{For: test.want, Stopped: test.stopped}))
			g.Expect(plan.Deployment).To(BeNil())
			g.Expect(plan.RecheckAfter).To(Equal(time.Minute))
		})
	}
}

// What a namespace asks for itself does not wait for others, and takes no part of the
// operator's version along.
func TestWhatANamespaceAsksForDoesNotWait(t *testing.T) {
	tests := map[string]struct {
		change func(*decide.Snapshot)
		rolls  bool
		check  func(Gomega, *appsv1.Deployment)
	}{
		"more Pods": {
			change: func(s *decide.Snapshot) { page(criticalv2.PageFallback{Replicas: new(int32(5))})(&s.Slices[0]) },
			check:  func(g Gomega, d *appsv1.Deployment) { g.Expect(d.Spec.Replicas).To(HaveValue(BeEquivalentTo(5))) },
		},
		"another owner": {
			change: slice("other", "ipv4", ownedBy("other")),
			check:  func(g Gomega, d *appsv1.Deployment) { g.Expect(d.OwnerReferences).To(HaveLen(2)) },
		},
		"more ports": {
			change: many(100, "a"), rolls: true,
			check: func(g Gomega, d *appsv1.Deployment) {
				container := d.Spec.Template.Spec.Containers[0]
				g.Expect(d.Spec.Template.Annotations[criticalv2.AnnotationListeners]).To(Equal("20000-20255"))
				g.Expect(container.Args).To(ContainElement("--listeners=20000-20255"))
				g.Expect(container.Resources.Limits.Memory().String()).To(Equal("134Mi"))
			},
		},
		"content": {
			change: func(s *decide.Snapshot) {
				page(criticalv2.PageFallback{ConfigMapName: "mine"})(&s.Slices[0])
				content("mine")(s)
			},
			rolls: true,
			check: func(g Gomega, d *appsv1.Deployment) {
				g.Expect(d.Spec.Template.Spec.Volumes).To(HaveLen(2))
				g.Expect(d.Spec.Template.Spec.Containers[0].VolumeMounts).To(HaveLen(2))
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := settled(g, snapshot(critical("web", port("http", 80))))
			s.Deployment.Spec.Template.Spec.ReadinessGates = nil // As an older operator made it.
			before := s.Deployment.DeepCopy()
			s.Settings.Image, s.Now = nextImage, present
			beside(decide.Underway, 1)(&s)
			g.Expect(decide.Decide(s)).To(Satisfy(idle))

			test.change(&s)
			plan := decide.Decide(s)
			g.Expect(plan.Wait).NotTo(BeNil())
			s = apply(s, plan)
			g.Expect(decide.Decide(apply(s, decide.Decide(s)))).To(Satisfy(idle))
			test.check(g, s.Deployment)
			template := s.Deployment.Spec.Template
			g.Expect(template.Spec.Containers[0].Image).To(Equal("quay.io/operator:1"))
			g.Expect(template.Spec.ReadinessGates).To(BeNil())
			g.Expect(s.Deployment.Annotations[render.AnnotationVersion]).To(Equal(before.Annotations[render.AnnotationVersion]))
			if !test.rolls {
				g.Expect(template).To(Equal(before.Spec.Template), "no Pod is replaced for it")
			}

			s.Neighbours = nil
			g.Expect(decide.Decide(s).Deployment.Spec.Template.Spec.Containers[0].Image).To(Equal(nextImage))
		})
	}
}

func TestAVersionIsTheOperators(t *testing.T) {
	g := NewWithT(t)
	s := snapshot(critical("web", port("http", 80)), func(s *decide.Snapshot) { s.Now = present })
	s = settled(g, s)
	since := s.Deployment.Annotations[render.AnnotationVersionSince]
	g.Expect(since).To(Equal("2030-01-31T12:00:00Z"))

	s.Now = present.Add(time.Hour)
	many(100, "a")(&s)
	s = settled(g, s)
	g.Expect(s.Deployment.Annotations[render.AnnotationVersionSince]).To(Equal(since), "more ports are no other version")
	s.Settings.ImagePullSecrets = []string{"registry"}
	s = settled(g, s)
	g.Expect(s.Deployment.Annotations[render.AnnotationVersionSince]).To(Equal("2030-01-31T13:00:00Z"))
}

func TestProgress(t *testing.T) {
	running := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Generation: 2, Annotations: map[string]string{render.AnnotationVersionSince: "2030-01-31T11:59:00Z"}},
			Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
			Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2},
		}
		change(d)
		return d
	}
	since := func(text string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Status.AvailableReplicas = 1
			d.Annotations[render.AnnotationVersionSince] = text
		}
	}
	tests := map[string]struct {
		change func(*appsv1.Deployment)
		want   decide.Progress
	}{
		"all Pods are new and available":   {func(*appsv1.Deployment) {}, decide.Complete},
		"they are for longer":              {func(d *appsv1.Deployment) { d.Annotations = nil }, decide.Complete},
		"the last change is not seen yet":  {func(d *appsv1.Deployment) { d.Status.ObservedGeneration = 1 }, decide.Underway},
		"old Pods are left":                {func(d *appsv1.Deployment) { d.Status.Replicas = 4 }, decide.Underway},
		"new Pods are not available yet":   {func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }, decide.Underway},
		"not all Pods are new":             {func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }, decide.Underway},
		"it has taken too long":            {since("2030-01-31T11:54:59Z"), decide.Failed},
		"an editor says that it has begun": {since("2031-01-31T11:00:00Z"), decide.Failed},
		"an editor wrote something else":   {since("soon"), decide.Failed},
		"an editor paused it": {func(d *appsv1.Deployment) {
			d.Status.AvailableReplicas, d.Spec.Paused = 1, true
		}, decide.Failed},
		"its deadline has passed": {func(d *appsv1.Deployment) {
			d.Status.AvailableReplicas = 1
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse}}
		}, decide.Failed},
		"the deadline of the version before has passed": {func(d *appsv1.Deployment) {
			d.Status.ObservedGeneration = 1
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse}}
		}, decide.Underway},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(decide.ProgressOf(running(test.change), present)).To(Equal(test.want))
		})
	}
}
