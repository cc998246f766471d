package evidence_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/diagnosis"
	"github.com/critical-service/operator/internal/diagnosis/evidence"
)

// reader answers from a list of objects, as an API server does, and keeps what it
// was asked.
type reader struct {
	objects []client.Object
	// forbidden are the kinds that may not be read.
	forbidden []string
	// fails is the error of every read of a kind.
	fails map[string]error
	asked []string
}

func kindOf(object runtime.Object) string {
	kind, err := apiutil.GVKForObject(object, clientgoscheme.Scheme)
	if err != nil {
		panic(err)
	}
	return strings.TrimSuffix(kind.Kind, "List")
}

func (r *reader) may(verb, kind string) error {
	r.asked = append(r.asked, verb+" "+kind)
	if slices.Contains(r.forbidden, kind) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", errors.New("not you"))
	}
	return r.fails[kind]
}

// Get implements client.Reader.
func (r *reader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := kindOf(into)
	if err := r.may("get", kind); err != nil {
		return err
	}
	for _, object := range r.objects {
		if node, isNode := object.(*corev1.Node); isNode && kind == "Node" && node.Name == key.Name {
			node.DeepCopyInto(into.(*corev1.Node))
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, key.Name)
}

// List implements client.Reader.
func (r *reader) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	kind := kindOf(into)
	if err := r.may("list", kind); err != nil {
		return err
	}
	var options client.ListOptions
	options.ApplyOptions(opts)
	if options.Limit == 0 {
		return fmt.Errorf("a list of %ss has no limit", kind)
	}
	if options.Namespace == "" {
		return fmt.Errorf("a list of %ss is not of one namespace", kind)
	}
	var chosen []runtime.Object
	for _, object := range r.objects {
		if kindOf(object) != kind || object.GetNamespace() != options.Namespace ||
			options.LabelSelector != nil && !options.LabelSelector.Matches(labelsOf(object)) ||
			options.FieldSelector != nil && !options.FieldSelector.Matches(fieldsOf(object)) {
			continue
		}
		if int64(len(chosen)) == options.Limit {
			into.SetContinue("there are more")
			break
		}
		chosen = append(chosen, object)
	}
	return meta.SetList(into, chosen)
}

type labelsOfObject struct{ client.Object }

func labelsOf(object client.Object) labelsOfObject { return labelsOfObject{object} }

// Has and the others implement labels.Labels.
func (l labelsOfObject) Has(key string) bool   { _, found := l.GetLabels()[key]; return found }
func (l labelsOfObject) Get(key string) string { return l.GetLabels()[key] }
func (l labelsOfObject) Lookup(key string) (string, bool) {
	value, found := l.GetLabels()[key]
	return value, found
}

func fieldsOf(object client.Object) fields.Set {
	switch object := object.(type) {
	case *corev1.Pod:
		return fields.Set{"status.phase": string(object.Status.Phase)}
	case *eventsv1.Event:
		return fields.Set{"regarding.uid": string(object.Regarding.UID)}
	default:
		return nil
	}
}

// scenario is one of the diagnosis' own.
type scenario struct {
	Story   string                 `json:"story"`
	Now     time.Time              `json:"now"`
	Want    criticalv2.OutageCause `json:"want"`
	Objects []runtime.RawExtension `json:"objects"`
}

// open reads a scenario.
func open(t *testing.T, file string) (*reader, *corev1.Service, scenario) {
	t.Helper()
	g := NewWithT(t)
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var s scenario
	g.Expect(yaml.UnmarshalStrict(data, &s)).To(Succeed())
	r := &reader{fails: map[string]error{}}
	var service *corev1.Service
	for _, raw := range s.Objects {
		object, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(raw.Raw, nil, nil)
		g.Expect(err).NotTo(HaveOccurred())
		if found, isService := object.(*corev1.Service); isService {
			service = found
			continue
		}
		r.objects = append(r.objects, object.(client.Object))
	}
	return r, service, s
}

func eachScenario(t *testing.T, f func(t *testing.T, file string)) {
	t.Helper()
	files, err := filepath.Glob("../testdata/*.yaml")
	NewWithT(t).Expect(files, err).NotTo(BeEmpty())
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) { f(t, file) })
	}
}

// What is read suffices, although it is little.
func TestWhatIsReadExplainsEachScenario(t *testing.T) {
	eachScenario(t, func(t *testing.T, file string) {
		g := NewWithT(t)
		r, service, s := open(t, file)
		e, err := evidence.CollectAt(t.Context(), r, service, evidence.Usual, s.Now)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(diagnosis.Diagnose(e).OutageCause).To(Equal(s.Want))
		g.Expect(len(r.asked)).To(BeNumerically("<=", 10), "%v", r.asked)
	})
}

// Fewer permissions give a less specific cause, and never a wrong one.
func TestWhatMayNotBeReadIsLeftOut(t *testing.T) {
	eachScenario(t, func(t *testing.T, file string) {
		for _, kind := range []string{
			"Pod", "Node", "Event", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "HorizontalPodAutoscaler",
		} {
			g := NewWithT(t)
			r, service, s := open(t, file)
			r.forbidden = []string{kind}
			e, err := evidence.CollectAt(t.Context(), r, service, evidence.Usual, s.Now)
			g.Expect(err).NotTo(HaveOccurred(), kind)
			g.Expect(diagnosis.Diagnose(e).Reason).To(BeElementOf(s.Want.Reason,
				criticalv2.CauseNotFound, criticalv2.CausePodsStarting, criticalv2.CauseCrashLoop), kind)
		}
	})
}

func TestAReadThatFailsIsAnError(t *testing.T) {
	for _, kind := range []string{"Pod", "Deployment", "ReplicaSet"} {
		g := NewWithT(t)
		r, service, s := open(t, "../testdata/scaled-by-kubectl.yaml")
		r.fails[kind] = context.DeadlineExceeded
		_, err := evidence.CollectAt(t.Context(), r, service, evidence.Usual, s.Now)
		g.Expect(err).To(MatchError(context.DeadlineExceeded), kind)
	}
}

func TestListsThatAreCutProveNothing(t *testing.T) {
	g := NewWithT(t)
	few := evidence.Usual
	few.Workloads = 1
	r, service, s := open(t, "../testdata/one-label-differs.yaml")
	e, err := evidence.CollectAt(t.Context(), r, service, few, s.Now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(diagnosis.Diagnose(e).Reason).To(Equal(criticalv2.CauseNotFound), "there are more Deployments than were read")

	few = evidence.Usual
	few.Pods = 1
	r, service, s = open(t, "../testdata/crash-loop.yaml")
	e, err = evidence.CollectAt(t.Context(), r, service, few, s.Now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(diagnosis.Diagnose(e).Message).To(ContainSubstring("(1 of the first 1 Pods)"))
}

func TestPodsThatExplainTheOutageAreAllThatIsRead(t *testing.T) {
	r, service, s := open(t, "../testdata/image-missing.yaml")
	_, err := evidence.CollectAt(t.Context(), r, service, evidence.Usual, s.Now)
	NewWithT(t).Expect(r.asked, err).To(Equal([]string{"list Pod", "get Node"}))
}

// A Pod of a Helm hook or one without a controller may have the labels of the
// application: neither ends the search, nor hides that a StatefulSet is refused.
func TestPodsBesideTheApplicationDoNotEndTheSearch(t *testing.T) {
	job := metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "migrate", Controller: new(true)}
	for name, owners := range map[string][]metav1.OwnerReference{"of a Job": {job}, "without a controller": nil} {
		for _, file := range []string{"scaled-by-kubectl", "quota", "quota-statefulset"} {
			t.Run(file+" and a Pod "+name, func(t *testing.T) {
				g := NewWithT(t)
				r, service, s := open(t, "../testdata/"+file+".yaml")
				r.objects = append(r.objects, &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: "beside", UID: "beside", Labels: service.Spec.Selector, OwnerReferences: owners},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "none"}}},
					Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
						Name: "x", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
					}}},
				})
				e, err := evidence.CollectAt(t.Context(), r, service, evidence.Usual, s.Now)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(diagnosis.Diagnose(e).OutageCause).To(Equal(s.Want))
			})
		}
	}
}

// Pods that ended long ago do not hide those that live, however many they are.
func TestPodsThatHaveEndedDoNotCrowdOutTheOthers(t *testing.T) {
	g := NewWithT(t)
	r, service, s := open(t, "../testdata/crash-loop.yaml")
	for i := range 100 {
		r.objects = slices.Insert(r.objects, 0, client.Object(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: fmt.Sprintf("evicted-%d", i), Labels: service.Spec.Selector},
			Status:     corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"},
		}))
	}
	e, err := evidence.CollectAt(t.Context(), r, service, evidence.Usual, s.Now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(diagnosis.Diagnose(e).OutageCause).To(Equal(s.Want))
}

// A fallback Pod may carry the labels of the selector; a Pod of the application does
// not become one by a copied label.
func TestAFallbackIsNoPodOfTheService(t *testing.T) {
	for sentence, test := range map[string]struct {
		owner    metav1.OwnerReference
		isOfTeam bool
	}{
		"made by the operator": {metav1.OwnerReference{APIVersion: "mycrd.com/v1", Kind: "CriticalService", Name: "front", Controller: new(true)}, false},
		"made by a ReplicaSet": {metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "shop-1", Controller: new(true)}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			r, service, s := open(t, "../testdata/scaled-by-kubectl.yaml")
			labels := map[string]string{criticalv2.LabelFallbackFor: service.Name}
			maps.Copy(labels, service.Spec.Selector)
			r.objects = append(r.objects, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: service.Namespace, Name: "service-watcher-shop", Labels: labels, OwnerReferences: []metav1.OwnerReference{test.owner},
				},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
			})
			e, err := evidence.CollectAt(t.Context(), r, service, evidence.Usual, s.Now)
			g.Expect(err).NotTo(HaveOccurred())
			if test.isOfTeam {
				g.Expect(e.Pods).To(HaveLen(1))
				return
			}
			g.Expect(e.Pods).To(BeEmpty())
			g.Expect(diagnosis.Diagnose(e).OutageCause).To(Equal(s.Want))
		})
	}
}

func TestAServiceWithoutASelectorNeedsNoReading(t *testing.T) {
	r := &reader{}
	e, err := evidence.Collect(t.Context(), r, &corev1.Service{}, evidence.Usual)
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(diagnosis.Diagnose(e).Reason).To(Equal(criticalv2.CauseNotFound))
	g.Expect(r.asked).To(BeEmpty())
}
