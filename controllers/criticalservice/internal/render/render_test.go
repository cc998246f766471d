package render_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/protection"
)

var update = flag.Bool("update", false, "write the golden files again")

type input struct {
	Service  corev1.Service
	Template corev1.PodTemplate
	Governor criticalv2.CriticalService
}

func read(g Gomega, file string) input {
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var in input
	g.Expect(yaml.UnmarshalStrict(data, &in)).To(Succeed())
	return in
}

func TestPodIsTheTemplateBoundToTheService(t *testing.T) {
	eachInput(t, "golden", func(in *input) any {
		return render.Pod(render.PodName("service-watcher", in.Service.Name), &in.Service, &in.Template, &in.Governor, criticalv2.PublishSelectorLabels)
	})
}

func TestPodThatIsPublishedCarriesNoLabelOfTheApplication(t *testing.T) {
	eachInput(t, "published", func(in *input) any {
		pod := render.Pod(render.PodName("service-watcher", in.Service.Name), &in.Service, &in.Template, &in.Governor, criticalv2.PublishEndpointSlice)
		for key, value := range in.Service.Spec.Selector {
			NewWithT(t).Expect(pod.Labels).NotTo(HaveKeyWithValue(key, value))
		}
		return pod
	})
}

func TestStandbySlices(t *testing.T) {
	standby := func(in *input) (render.Standby, *corev1.Pod, []discoveryv1.EndpointPort) {
		pod := render.Pod("service-watcher", &in.Service, &in.Template, &in.Governor, criticalv2.PublishEndpointSlice)
		pod.UID, pod.Spec.NodeName = "pod", "node1"
		pod.Status.PodIPs = []corev1.PodIP{{IP: "10.1.0.1"}, {IP: "fd00::1"}}
		ports, _ := render.PodPorts(&in.Service, &pod.Spec)
		return render.Standby{
			Service: &in.Service, Governor: &in.Governor, Family: "IPv6", Kind: criticalv2.FallbackKindPage, Page: criticalv2.DefaultPage(),
			Notes: render.Notes{OutageSince: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)},
		}, pod, ports
	}
	eachInput(t, "slice", func(in *input) any {
		s, _, _ := standby(in)
		return render.Slice(s)
	})
	eachInput(t, "podslice", func(in *input) any {
		s, pod, ports := standby(in)
		return render.PodSlice(s, pod, render.PodEndpoints(pod)["IPv6"], ports)
	})
}

// By them a fallback would count as what it is not.
func TestReservedLabelsOfATemplateAreNotCopied(t *testing.T) {
	g := NewWithT(t)
	in := read(g, "testdata/minimal.input.yaml")
	in.Template.Template.Labels = map[string]string{criticalv2.LabelResponder: criticalv2.ResponderServer, "team": "shop"}
	in.Template.Template.Annotations = map[string]string{criticalv2.AnnotationReleased: "2026-11-20T12:00:00Z", "note": "ours"}

	pod := render.Pod("service-watcher", &in.Service, &in.Template, &in.Governor, criticalv2.PublishEndpointSlice)

	g.Expect(pod.Labels).NotTo(HaveKey(criticalv2.LabelResponder))
	g.Expect(pod.Labels).To(HaveKeyWithValue("team", "shop"))
	g.Expect(pod.Annotations).NotTo(HaveKey(criticalv2.AnnotationReleased))
	g.Expect(pod.Annotations).To(HaveKeyWithValue("note", "ours"))
	g.Expect(in.Template.Template.Labels).To(HaveLen(2), "the template was changed")
}

// eachInput compares what is made of each input with a golden file.
func eachInput(t *testing.T, kind string, made func(*input) any) {
	files, err := filepath.Glob("testdata/*.input.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g := NewWithT(t)
			in := read(g, file)

			got, err := yaml.Marshal(made(&in))

			g.Expect(err).NotTo(HaveOccurred())
			golden := strings.Replace(file, ".input.", "."+kind+".", 1)
			if *update {
				g.Expect(os.WriteFile(golden, got, 0o600)).To(Succeed())
			}
			want, err := os.ReadFile(golden)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(got)).To(Equal(string(want)))
			g.Expect(read(g, file)).To(Equal(in), "the input was changed")
		})
	}
}

func TestPodName(t *testing.T) {
	long := strings.Repeat("a", 63)
	tests := map[string]struct {
		service, want string
	}{
		"a short name is prefix and Service":      {"frontend", "service-watcher-frontend"},
		"63 characters are kept as they are":      {strings.Repeat("b", 47), "service-watcher-" + strings.Repeat("b", 47)},
		"a longer name is cut and ends in a hash": {long, "service-watcher-" + strings.Repeat("a", 38) + "-5ab676b3"},
		"another long name gets another hash":     {long[:62] + "b", "service-watcher-" + strings.Repeat("a", 38) + "-fded482c"},
		"a cut name that is a prefix of no other": {strings.Repeat("b", 48), "service-watcher-" + strings.Repeat("b", 38) + "-7f5542af"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := render.PodName("service-watcher", test.service)
			g.Expect(got).To(Equal(test.want))
			g.Expect(len(got)).To(BeNumerically("<=", 63))
		})
	}
}

func TestRebound(t *testing.T) {
	governor := func(name string) *criticalv2.CriticalService {
		return &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	}
	service := func(selector map[string]string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "web"},
			Spec:       corev1.ServiceSpec{Selector: selector},
		}
	}
	template := &corev1.PodTemplate{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "platform"}}}}
	pod := func() *corev1.Pod {
		return render.Pod("service-watcher-shop", service(map[string]string{"app": "shop", "tier": "web"}), template, governor("a"), criticalv2.PublishSelectorLabels)
	}
	tests := map[string]struct {
		pod        func() *corev1.Pod
		service    *corev1.Service
		governor   *criticalv2.CriticalService
		wantLabels map[string]string
		wantOwners []string
	}{
		"the same Service and governor change nothing": {
			pod: pod, service: service(map[string]string{"app": "shop", "tier": "web"}), governor: governor("a"),
			wantLabels: map[string]string{"app": "shop", "tier": "web", "team": "platform", criticalv2.LabelFallbackFor: "shop"},
			wantOwners: []string{"a"},
		},
		"labels of the earlier selector go, those of the template stay": {
			pod: pod, service: service(map[string]string{"app": "store"}), governor: governor("a"),
			wantLabels: map[string]string{"app": "store", "team": "platform", criticalv2.LabelFallbackFor: "shop"},
			wantOwners: []string{"a"},
		},
		"a label that a user took off comes back": {
			pod: func() *corev1.Pod {
				p := pod()
				delete(p.Labels, "app")
				delete(p.Labels, criticalv2.LabelFallbackFor)
				return p
			},
			service: service(map[string]string{"app": "shop", "tier": "web"}), governor: governor("a"),
			wantLabels: map[string]string{"app": "shop", "tier": "web", "team": "platform", criticalv2.LabelFallbackFor: "shop"},
			wantOwners: []string{"a"},
		},
		"another governor becomes the controller, and other owners stay": {
			pod: func() *corev1.Pod {
				p := pod()
				p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{Name: "other", UID: "other"})
				return p
			},
			service: service(map[string]string{"app": "shop", "tier": "web"}), governor: governor("b"),
			wantLabels: map[string]string{"app": "shop", "tier": "web", "team": "platform", criticalv2.LabelFallbackFor: "shop"},
			wantOwners: []string{"b", "other"},
		},
		"an annotation that a user broke takes no label off": {
			pod: func() *corev1.Pod {
				p := pod()
				p.Annotations[criticalv2.AnnotationSelector] = "{"
				return p
			},
			service: service(map[string]string{"app": "store"}), governor: governor("a"),
			wantLabels: map[string]string{"app": "store", "tier": "web", "team": "platform", criticalv2.LabelFallbackFor: "shop"},
			wantOwners: []string{"a"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before := test.pod()

			rebound := render.Rebound(before, test.service, test.governor, criticalv2.PublishSelectorLabels)

			g.Expect(rebound.Labels).To(Equal(test.wantLabels))
			var owners []string
			for _, owner := range rebound.OwnerReferences {
				owners = append(owners, owner.Name)
			}
			g.Expect(owners).To(Equal(test.wantOwners))
			g.Expect(before).To(Equal(test.pod()), "the input was changed")
			g.Expect(render.Rebound(rebound, test.service, test.governor, criticalv2.PublishSelectorLabels)).To(Equal(rebound), "a second time changes nothing")
		})
	}
}

func TestReleased(t *testing.T) {
	g := NewWithT(t)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "shop"}},
	}
	template := &corev1.PodTemplate{Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "maintenance", "team": "platform"}},
	}}
	governor := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}}
	pod := render.Pod("service-watcher-shop", service, template, governor, criticalv2.PublishSelectorLabels)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

	left := render.Released(pod, service, at)

	g.Expect(left.Labels).To(Equal(map[string]string{"team": "platform", criticalv2.LabelFallbackFor: "shop"}),
		"it carries no label of the selector, not even one that the template has too")
	when, isReleased := render.ReleasedAt(left)
	g.Expect(isReleased).To(BeTrue())
	g.Expect(when).To(Equal(at))
	g.Expect(protection.IsFallback(left)).To(BeTrue())

	back := render.Rebound(left, service, governor, criticalv2.PublishSelectorLabels)
	g.Expect(back).To(Equal(pod), "a rebound Pod is as it was")

	pod.Annotations = nil
	g.Expect(render.Released(pod, service, at).Labels).To(Equal(left.Labels), "it leaves though a user took its annotations")
}

// The cache does not hold all of a Pod. What it lacks must stay on the Pod.
func TestRelabelledKeepsWhatTheCacheDoesNotHold(t *testing.T) {
	g := NewWithT(t)
	cached := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Labels:          map[string]string{"app": "shop"},
		Annotations:     map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned, criticalv2.AnnotationReleased: "then"},
		OwnerReferences: []metav1.OwnerReference{{Name: "a"}},
	}}
	pod := cached.DeepCopy()
	pod.Annotations["example.com/note"] = "theirs"
	pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx"}}
	want := pod.DeepCopy()
	want.Labels, want.OwnerReferences = map[string]string{"app": "store"}, nil
	want.Annotations = map[string]string{
		criticalv2.AnnotationOwned: criticalv2.Owned, criticalv2.AnnotationSelector: "{}", "example.com/note": "theirs",
	}

	written := cached.DeepCopy()
	written.Labels, written.OwnerReferences = want.Labels, nil
	written.Annotations = map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned, criticalv2.AnnotationSelector: "{}"}
	g.Expect(render.Relabelled(pod, written)).To(Equal(want))
}

func TestIsFallback(t *testing.T) {
	owned := func(kind, apiVersion string, controller *bool) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			OwnerReferences: []metav1.OwnerReference{{Kind: kind, APIVersion: apiVersion, Controller: controller}},
		}}
	}
	marked := func(owners ...metav1.OwnerReference) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Labels:          map[string]string{criticalv2.LabelFallbackFor: "shop"},
			Annotations:     map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned},
			OwnerReferences: owners,
		}}
	}
	tests := map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"a Pod controlled by a CriticalService is one":           {owned("CriticalService", "mycrd.com/v1", new(true)), true},
		"of whatever version of the API":                         {owned("CriticalService", "mycrd.com/v2", new(true)), true},
		"an owner that is not the controller does not count":     {owned("CriticalService", "mycrd.com/v1", nil), false},
		"a CriticalService of another group does not count":      {owned("CriticalService", "example.com/v1", new(true)), false},
		"a ReplicaSet's Pod is none":                             {owned("ReplicaSet", "apps/v1", new(true)), false},
		"a Pod whose owner was taken away is known by its marks": {marked(), true},
		"one mark alone does not make one": {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{criticalv2.LabelFallbackFor: "shop"},
		}}, false},
		"a Pod with the marks that another controller owns is none": {marked(metav1.OwnerReference{
			Kind: "ReplicaSet", APIVersion: "apps/v1", Controller: new(true),
		}), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(protection.IsFallback(test.pod)).To(Equal(test.want))
		})
	}
}
