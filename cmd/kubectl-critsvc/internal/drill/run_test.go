package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/installation"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/outage/outagetest"
)

// drillWith is a drill in a cluster with some objects, with an input.
func drillWith(t *testing.T, typed string, objects ...client.Object) (s *drill, said *bytes.Buffer) {
	t.Helper()
	scheme, err := access.Scheme()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	said = &bytes.Buffer{}
	to := access.New(genericiooptions.IOStreams{In: strings.NewReader(typed), Out: said, ErrOut: said})
	c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).WithObjects(objects...).Build()
	return &drill{
		prober: &prober{Client: c, namespace: "shop"}, to: to, options: &options{length: time.Minute}, name: types.NamespacedName{Namespace: "shop", Name: "front"},
		workload: &outage.Workload{},
	}, said
}

func policyWith(name string, state criticalv2.ServiceState) *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: criticalv2.ProtectionStatus{Details: []criticalv2.ServiceStatus{
			{Namespace: "shop", Name: "other", State: criticalv2.StateExposed},
			{Namespace: "shop", Name: "front", State: state, Reason: "Because", Message: "of " + name},
		}},
	}
}

func announced(service string) *criticalv2.Maintenance {
	return &criticalv2.Maintenance{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "night"}, Spec: criticalv2.MaintenanceSpec{Services: []string{"other", service}},
	}
}

func TestALiveDrillIsRefusedUnlessAllIsWell(t *testing.T) {
	web := corev1.ServicePort{Name: "http", Port: 80}
	headless := service(web)
	headless.Spec.ClusterIP = corev1.ClusterIPNone
	slice := standbySlice("http")
	slice.Namespace, slice.Name = "shop", "front-standby-ipv4"
	for sentence, test := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"all is well":                           {[]client.Object{service(web), &slice, policyWith("a", criticalv2.StateArmed)}, ""},
		"another one matches, too":              {[]client.Object{service(web), &slice, policyWith("b", criticalv2.StateIgnored), policyWith("a", criticalv2.StateArmed), policyWith("c", criticalv2.StateIgnored)}, ""},
		"a maintenance of another Service":      {[]client.Object{service(web), &slice, policyWith("a", criticalv2.StateArmed), announced("back")}, ""},
		"it is not protected":                   {[]client.Object{service(web), &slice}, "the status of no CriticalService or ServiceFallback lists"},
		"it is in outage already":               {[]client.Object{service(web), &slice, policyWith("a", criticalv2.StateCovered)}, "is Covered (Because), and not Armed: of a"},
		"its fallback is not prepared":          {[]client.Object{service(web), policyWith("a", criticalv2.StateArming)}, "is Arming"},
		"its fallback would be made on demand":  {[]client.Object{service(web), policyWith("a", criticalv2.StateArmed)}, "nothing stands by"},
		"a maintenance is on":                   {[]client.Object{service(web), &slice, policyWith("a", criticalv2.StateArmed), announced("front")}, "a maintenance or a drill of svc/front in namespace shop is on (Maintenance night)"},
		"clients do not go through a ClusterIP": {[]client.Object{headless, &slice, policyWith("a", criticalv2.StateArmed)}, "is headless"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s, _ := drillWith(t, "", test.objects...)
			found, err := newSurvey(t.Context(), s, s.name, "operator:v1")
			g.Expect(err).NotTo(HaveOccurred())
			if err = s.refuse(t.Context(), found); test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(And(HavePrefix("refused: "), ContainSubstring(test.want))))
		})
	}
}

func TestAPersonConfirmsByTheNameOfTheService(t *testing.T) {
	for sentence, test := range map[string]struct {
		typed     string
		yes       bool
		confirmed bool
	}{
		"the name":                     {typed: "front\n", confirmed: true},
		"the name, without a line end": {typed: "front", confirmed: true},
		"another name":                 {typed: "back\n"},
		"a yes is not enough":          {typed: "y\n"},
		"no input":                     {},
		"without asking":               {yes: true, confirmed: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s, said := drillWith(t, test.typed)
			s.options.yes = test.yes
			err := s.confirm(t.Context())
			if test.yes {
				g.Expect(said.String()).To(BeEmpty())
			} else {
				g.Expect(said.String()).To(ContainSubstring("away for 1m0s"))
			}
			if test.confirmed {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring("nothing was done")))
		})
	}
}

func TestWhatElseGoesDownIsSaidBeforeTheOutage(t *testing.T) {
	g := NewWithT(t)
	labels := map[string]string{"app": "front"}
	front, back := service(corev1.ServicePort{Name: "http", Port: 80}), service()
	front.Spec.Selector, back.Spec.Selector, back.Name, back.Labels = labels, labels, "back", map[string]string{"role": "critical"}
	policy := policyWith("a", criticalv2.StateArmed)
	policy.Spec.ServiceSelector.MatchLabels = back.Labels
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "front-1", Labels: labels,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "front", Controller: new(true)}},
	}}
	workload := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front"}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1))}}
	s, said := drillWith(t, "")
	s.Client, s.options.yes = outagetest.NewWorld(t, front, back, policy, pod, workload), true
	g.Expect(s.find(t.Context(), &survey{service: *front})).To(Succeed())
	g.Expect(said.String()).To(BeEmpty())
	g.Expect(s.confirm(t.Context())).To(Succeed())
	g.Expect(said.String()).To(Equal("warning: Other critical Services go down with StatefulSet \"front\", because no other Pod behind them is ready: back.\n"))

	ended := make(chan error, 1)
	ended <- nil
	live, err := s.takeAway(t.Context(), &watching{}, ended)
	g.Expect(err).To(MatchError(ContainSubstring("the drill was aborted, and the application given back: the prober Pod ended")))
	document, err := json.Marshal(live)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(document)).To(ContainSubstring(`"others":["back"]`), "programs read it, too")

	g.Expect(s.Delete(t.Context(), pod)).To(Succeed())
	g.Expect(s.find(t.Context(), &survey{service: *front})).To(MatchError(HavePrefix("no outage is made: no Pod of the application")))
}

func TestADrillThatTheOperatorCannotEndNeedsAFlag(t *testing.T) {
	front := service(corev1.ServicePort{Name: "http", Port: 80})
	front.Spec.Selector = map[string]string{"app": "front"}
	slice := standbySlice("http")
	slice.Namespace, slice.Name = "shop", "front-standby-ipv4"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "front-1", Labels: front.Spec.Selector,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "front", Controller: new(true)}},
	}}
	workload := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front"}}
	s, said := drillWith(t, "", front, &slice, policyWith("a", criticalv2.StateArmed), pod, workload)
	s.Client = interceptor.NewClient(s.Client.(client.WithWatch), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			g := NewWithT(t)
			g.Expect(object).To(BeAssignableToTypeOf(&rbacv1.Role{}), "nothing is made before that is known")
			return apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, object.GetName(), nil)
		},
		SubResourceGet: func(_ context.Context, _ client.Client, _ string, _, scale client.Object, _ ...client.SubResourceGetOption) error {
			return unstructured.SetNestedField(scale.(*unstructured.Unstructured).Object, int64(1), "spec", "replicas")
		},
	})
	g := NewWithT(t)
	s.options.live, s.options.image = true, "operator:v1"
	_, err := s.run(t.Context())
	g.Expect(err).To(MatchError(And(HavePrefix("refused: nothing would give the application back"), ContainSubstring("--without-operator"))))

	s.options.withoutOperator = true
	for range 2 {
		g.Expect(s.find(t.Context(), &survey{service: *front})).To(Succeed())
	}
	g.Expect(said.String()).To(HavePrefix("warning: should this program be killed"))
	g.Expect(strings.Count(said.String(), "warning")).To(Equal(1), "it is said once")
}

func TestTheImageOfTheProber(t *testing.T) {
	workload := func(namespace, name, container, image string) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: installation.Labels},
			Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: installation.Labels},
				Spec: corev1.PodSpec{
					Containers:       []corev1.Container{{Name: container, Image: image}},
					ImagePullSecrets: []corev1.LocalObjectReference{{Name: "of-" + name}},
				},
			}},
		}
	}
	responder := workload("shop", criticalv2.ResponderName, "responder", "responder:v1")
	operator := workload(installation.UsualNamespace, installation.Name, installation.Container, "operator:v1")
	imposter := workload("aaa-attacker", installation.Name, installation.Container, "evil:v1")
	for sentence, test := range map[string]struct {
		objects []client.Object
		image   string
		secrets int
	}{
		"the responder's, with its secrets":             {[]client.Object{responder, operator}, "responder:v1", 1},
		"or the operator's, whose secrets are not here": {[]client.Object{operator}, "operator:v1", 0},
		"and not that of an imposter":                   {[]client.Object{imposter, operator}, "operator:v1", 0},
		"not even where there is no operator":           {[]client.Object{imposter}, "", 0},
		"a responder elsewhere is not meant":            {[]client.Object{workload("back", criticalv2.ResponderName, "responder", "x"), operator}, "operator:v1", 0},
		"without either it is not known":                {nil, "", 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s, _ := drillWith(t, "", test.objects...)
			image, secrets, err := imageFor(t.Context(), s, "shop")
			g.Expect(image).To(Equal(test.image))
			g.Expect(secrets).To(HaveLen(test.secrets))
			if test.image == "" {
				g.Expect(err).To(MatchError(ContainSubstring("--image")))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
		})
	}
}

func TestWhatOthersSayIsReportedInOneLine(t *testing.T) {
	g := NewWithT(t)
	s, said := drillWith(t, "")
	s.progress("It says: %s", "a\nb \x1b[2J\u202e")
	g.Expect(said.String()).To(Equal("It says: a b ?[2J?\n"))
	w := &watching{ports: []*port{{name: "http", target: "t"}}}
	w.add(script(".")[0], start)
	w.seen["t"][0].Problem = "said\n\x1b[2J"
	g.Expect(w.lastProblem()).To(Equal(" (port http: it said ?[2J)"))
	waiting := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no\n\x1b[2J"}},
	}}}}
	g.Expect(waitsFor(waiting)).To(Equal("ErrImagePull no ?[2J"))
}
