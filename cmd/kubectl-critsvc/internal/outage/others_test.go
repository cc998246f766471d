package outage_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage/outagetest"
)

// critical is a Service that selects Pods and that the CriticalService of everything matches.
func critical(name, app string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: named(name), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": app}}}
	s.Labels = map[string]string{"role": "critical"}
	return s
}

func everything() *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: "everything"},
		Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "critical"}}},
	}
}

func TestWhichOtherServicesGoDownWithAWorkload(t *testing.T) {
	ready := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	labelled := func(key string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Labels[key] = "yes" } }
	selecting := func(s *corev1.Service, key string) *corev1.Service {
		s.Spec.Selector = map[string]string{key: "yes"}
		return s
	}
	other := func(changes ...func(*corev1.Pod)) []client.Object {
		return []client.Object{pod("blue-1", "ReplicaSet", "blue-abc", append(changes, func(p *corev1.Pod) { delete(p.Labels, "app") })...), replicaSet("blue-abc", "blue"), deployment("blue", 1)}
	}
	plain := critical("plain", "web")
	plain.Labels = nil
	for sentence, test := range map[string]struct {
		objects []client.Object
		want    []string
	}{
		"none, where there is no other":           {nil, nil},
		"one that selects the same Pods":          {[]client.Object{critical("admin", "web")}, []string{"admin"}},
		"not one that selects none of them":       {[]client.Object{critical("cart", "cart")}, nil},
		"not one that no CriticalService matches": {[]client.Object{plain}, nil},
		"several, by name":                        {[]client.Object{critical("b", "web"), critical("a", "web")}, []string{"a", "b"}},
		"not one with another Pod that is ready":  {append(other(labelled("all"), ready), selecting(critical("all", ""), "all"), pod("web-2", "ReplicaSet", "web-abc", labelled("all"))), nil},
		"one with another Pod that is not ready":  {append(other(labelled("all")), selecting(critical("all", ""), "all"), pod("web-2", "ReplicaSet", "web-abc", labelled("all"))), []string{"all"}},
		"one that selects a Pod of it that this one does not": {[]client.Object{
			selecting(critical("canary", ""), "canary"),
			pod("web-2", "ReplicaSet", "web-abc", labelled("canary"), func(p *corev1.Pod) { delete(p.Labels, "app") }),
		}, []string{"canary"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, append(append(application(), everything()), test.objects...)...)
			found, err := outage.Find(t.Context(), w, service())
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(found.Others).To(Equal(test.want))
			if test.want == nil {
				w.Expect(found.Notes).To(BeEmpty())
			} else {
				w.Expect(found.Notes).To(ConsistOf(HavePrefix(`Other critical Services go down with Deployment "web", because no other Pod behind them is ready: ` + test.want[0])))
			}
		})
	}
}

func TestWithoutTheRightToListServicesOthersAreNotKnown(t *testing.T) {
	w := newWorld(t, append(application(), everything(), critical("admin", "web"))...)
	w.Refuse = outagetest.Forbidden[*corev1.Service]("list")
	found, err := outage.Find(t.Context(), w, service())
	w.Expect(err).NotTo(HaveOccurred(), "it says less, and works")
	w.Expect(found.Others).To(BeEmpty())
	w.Expect(found.Notes).To(ConsistOf(HavePrefix(`Which other critical Services go down with Deployment "web" is not known: list the Services of namespace "shop"`)))
}

// A team that may not list CriticalServices is warned of what its ServiceFallbacks protect,
// and that there may be more.
func TestATeamKnowsWhichOfItsServicesGoDown(t *testing.T) {
	ours := &criticalv2.ServiceFallback{ObjectMeta: named("ours")}
	ours.Spec.Services = []string{"admin"}
	w := newWorld(t, append(application(), ours, everything(), critical("admin", "web"), critical("other", "web"))...)
	w.Refuse = outagetest.Forbidden[*criticalv2.CriticalService]("list")
	found, err := outage.Find(t.Context(), w, service())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(found.Others).To(Equal([]string{"admin"}))
	w.Expect(found.Notes).To(ConsistOf(
		HavePrefix(`Which other critical Services go down with Deployment "web" is known in part only: list CriticalServices`),
		HavePrefix("Other critical Services go down with"),
	))
}

// Each owner is read once, however many Pods it has.
func TestAnOwnerIsReadOnce(t *testing.T) {
	objects := append(application(), everything(), critical("admin", "web"))
	for _, name := range []string{"web-2", "web-3", "web-4"} {
		objects = append(objects, pod(name, "ReplicaSet", "web-abc"))
	}
	w := newWorld(t, objects...)
	reads := 0
	w.Refuse = func(verb string, object client.Object) error {
		if _, is := object.(*metav1.PartialObjectMetadata); is && verb == "get" {
			reads++
		}
		return nil
	}
	_, err := outage.Find(t.Context(), w, service())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(reads).To(Equal(2), "the ReplicaSet and the Deployment")
}
