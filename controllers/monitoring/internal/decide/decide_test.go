package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/critical-service/operator/controllers/monitoring/internal/decide"
	"github.com/critical-service/operator/controllers/monitoring/internal/render"
)

// wanted are all objects, of which none is found yet.
func wanted(g Gomega) decide.Snapshot {
	objects, err := render.Objects(render.Options{Namespace: "operators"})
	g.Expect(err).NotTo(HaveOccurred())
	snap := decide.Snapshot{InUse: true, Available: true}
	for _, object := range objects {
		snap.Objects = append(snap.Objects, decide.Object{Wanted: object})
	}
	return snap
}

// applied is what the API server has after an apply.
func applied(object *unstructured.Unstructured) *unstructured.Unstructured {
	stored := object.DeepCopy()
	stored.SetUID("the-uid")
	stored.SetResourceVersion("7")
	stored.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: render.Manager, Operation: metav1.ManagedFieldsOperationApply}})
	return stored
}

// settled has all objects as they should be.
func settled(g Gomega) decide.Snapshot {
	snap := wanted(g)
	for i := range snap.Objects {
		snap.Objects[i].Found = applied(snap.Objects[i].Wanted)
	}
	return snap
}

// words are what a plan does, as "verb Kind".
func words(plan decide.Plan) []string {
	said := []string{}
	for _, one := range plan.Apply {
		verb := "create "
		if one.UID != "" {
			verb = "repair "
		}
		said = append(said, verb+one.Wanted.GetKind())
	}
	for _, object := range plan.Remove {
		said = append(said, "remove "+object.GetKind())
	}
	for _, object := range plan.LeftAlone {
		said = append(said, "leave "+object.GetKind())
	}
	return said
}

func TestWhatIsDone(t *testing.T) {
	all := []string{"create ServiceMonitor", "create PodMonitor", "create PrometheusRule", "create ConfigMap"}
	none := []string{"remove ConfigMap", "remove PrometheusRule", "remove PodMonitor", "remove ServiceMonitor"}
	label := func(object *unstructured.Unstructured, value string) {
		labels := object.GetLabels()
		labels[render.LabelManagedBy] = value
		object.SetLabels(labels)
	}
	for sentence, test := range map[string]struct {
		begin  func(Gomega) decide.Snapshot
		change func(*decide.Snapshot)
		want   []string
	}{
		"all objects are created with the first policy":         {wanted, func(*decide.Snapshot) {}, all},
		"nothing is created without a policy":                   {wanted, func(s *decide.Snapshot) { s.InUse = false }, nil},
		"nothing is created without the Prometheus operator":    {wanted, func(s *decide.Snapshot) { s.Available, s.Objects = false, s.Objects[3:] }, nil},
		"nothing is created where it is off":                    {wanted, func(s *decide.Snapshot) { s.Off = true }, nil},
		"what is served is created without what is not":         {wanted, func(s *decide.Snapshot) { s.Objects = s.Objects[1:] }, all[1:]},
		"nothing is done in a world that stands still":          {settled, func(*decide.Snapshot) {}, nil},
		"all is removed with the last policy":                   {settled, func(s *decide.Snapshot) { s.InUse = false }, none},
		"all is removed where it is off":                        {settled, func(s *decide.Snapshot) { s.Off = true }, none},
		"the dashboard is removed with the Prometheus operator": {settled, func(s *decide.Snapshot) { s.Available, s.Objects = false, s.Objects[3:] }, none[:1]},
		"an object that is deleted is created again":            {settled, func(s *decide.Snapshot) { s.Objects[2].Found = nil }, all[2:3]},
		"a label that others added stays": {settled, func(s *decide.Snapshot) {
			s.Objects[0].Found.SetLabels(with(s.Objects[0].Found.GetLabels(), "release", "prometheus"))
		}, nil},
		"a change is repaired": {settled, func(s *decide.Snapshot) { s.Objects[2].Found.Object["spec"] = map[string]any{} }, []string{"repair PrometheusRule"}},
		"what another version of the operator applied is, too": {settled, func(s *decide.Snapshot) {
			s.Objects[3].Found.SetAnnotations(map[string]string{render.AnnotationApplied: "other"})
		}, []string{"repair ConfigMap"}},
		"what Helm keeps is left alone":         {settled, func(s *decide.Snapshot) { label(s.Objects[1].Found, "Helm") }, []string{"leave PodMonitor"}},
		"what was copied from it is left alone": {settled, func(s *decide.Snapshot) { s.Objects[1].Found.SetManagedFields(nil) }, []string{"leave PodMonitor"}},
		"what Helm keeps is not removed":        {settled, func(s *decide.Snapshot) { label(s.Objects[3].Found, "Helm"); s.InUse = false }, none[1:]},
		"what is being deleted is waited for":   {settled, func(s *decide.Snapshot) { s.Objects[0].Found.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)}) }, nil},
		"what is being deleted is not deleted again": {settled, func(s *decide.Snapshot) {
			s.Objects[0].Found.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
			s.Off = true
		}, none[:3]},
		"nothing is done where the world could not be read": {settled, func(s *decide.Snapshot) { *s = decide.Snapshot{} }, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			snap, before := test.begin(g), test.begin(g)
			test.change(&snap)
			test.change(&before)
			plan := decide.Decide(snap)
			g.Expect(words(plan)).To(Equal(append([]string{}, test.want...)))
			g.Expect(snap).To(BeComparableTo(before), "the snapshot stays as it is")
		})
	}
}

func with(labels map[string]string, key, value string) map[string]string {
	labels[key] = value
	return labels
}

// After a plan was carried out, the next one is empty.
func TestAPlanIsCarriedOutOnce(t *testing.T) {
	g := NewWithT(t)
	snap := wanted(g)
	for _, one := range decide.Decide(snap).Apply {
		for i := range snap.Objects {
			if snap.Objects[i].Wanted == one.Wanted {
				snap.Objects[i].Found = applied(one.Wanted)
			}
		}
	}
	g.Expect(decide.Decide(snap)).To(Equal(decide.Plan{}))
}
