package maintenance

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // A machine may have no time zones.

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/golden"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/contract/listener"
)

// zone has summer time: clocks are turned on 28 March 2027 at 2, and back on 31 October at 3.
func zone(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Paris")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return zone
}

func TestHowAPersonNamesAnEnd(t *testing.T) {
	paris := zone(t)
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, paris)
	for sentence, c := range map[string]struct {
		text string
		now  time.Time
		want time.Time
	}{
		"a date with zone":                    {"2026-11-20T18:30:00Z", noon, time.Date(2026, 11, 20, 18, 30, 0, 0, time.UTC)},
		"a duration":                          {"2h", noon, noon.Add(2 * time.Hour)},
		"a duration of several units":         {"1h30m", noon, noon.Add(90 * time.Minute)},
		"a time of today":                     {"18:00", noon, time.Date(2026, 11, 20, 18, 0, 0, 0, paris)},
		"a time that has passed, tomorrow":    {"11:59", noon, time.Date(2026, 11, 21, 11, 59, 0, 0, paris)},
		"now is tomorrow":                     {"12:00", noon, time.Date(2026, 11, 21, 12, 0, 0, 0, paris)},
		"on the day before clocks are turned": {"12:00", time.Date(2027, 3, 27, 12, 0, 0, 0, paris), time.Date(2027, 3, 28, 12, 0, 0, 0, paris)},
		"parts of a second do not matter":     {"2h", noon.Add(time.Millisecond), noon.Add(2 * time.Hour)},
		"spaces do not matter":                {" 2h ", noon, noon.Add(2 * time.Hour)},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			until, err := parseUntil(c.text, c.now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(until).To(BeTemporally("==", c.want))
		})
	}
	for sentence, text := range map[string]string{
		"a date that has passed":    "2026-11-20T10:59:59Z",
		"a duration into the past":  "-1h",
		"no time at all":            "0s",
		"a date without zone":       "2026-11-20T18:30:00",
		"a word":                    "tonight",
		"an hour that there is not": "25:00",
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := parseUntil(text, noon)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("--until")))
		})
	}
}

func TestOnlyAYesIsAYes(t *testing.T) {
	for text, want := range map[string]bool{"y\n": true, "Yes\n": true, "y": true, "n\n": false, "\n": false, "": false, "yesterday\n": false} {
		var asked bytes.Buffer
		to := access.New(genericiooptions.IOStreams{In: strings.NewReader(text), Out: &bytes.Buffer{}, ErrOut: &asked})
		got, err := confirm(to, "Really?")
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(want), "%q", text)
		g.Expect(asked.String()).To(HavePrefix("Really? [y/N]"))
	}
}

func TestWithoutATerminalScaleDownNeedsAYes(t *testing.T) {
	g := NewWithT(t)
	a := &announcement{to: access.New(genericiooptions.IOStreams{In: &bytes.Buffer{}}), scaleDown: true, given: flags("scale-down"), m: &criticalv2.Maintenance{}}
	g.Expect(a.find(t.Context())).To(MatchError(ContainSubstring("add --yes")))
	a.scaleDown, a.given = false, flags()
	g.Expect(a.find(t.Context())).To(Succeed(), "without a terminal nothing is offered")
	g.Expect(a.workload).To(BeNil())
}

// stage is a Service with the standby slices of one Pod, and the responder's table.
func stage(changes ...func(*corev1.Service, *discoveryv1.EndpointSlice, *listener.Listener)) (service *corev1.Service, objects []client.Object) {
	service = &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}},
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-standby-ipv4",
			Labels: map[string]string{
				discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: criticalv2.ManagedBy, criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage,
			},
			Annotations: map[string]string{criticalv2.AnnotationMaintenance: `{"message":"We move house."}`},
		},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}}},
	}
	known := &listener.Listener{Port: 20000, Service: "web", Maintenance: &criticalv2.Announcement{Message: "We move house."}}
	for _, change := range changes {
		change(service, slice, known)
	}
	data, _ := (&listener.Table{Listeners: []listener.Listener{*known}}).Encode()
	table := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: criticalv2.ResponderName}, Data: map[string]string{listener.Key: string(data)}}
	published := slice.DeepCopy()
	published.Name, published.Annotations = "web-standby-ipv4-pod", nil
	published.Labels[criticalv2.LabelStandbyPod] = "pod"
	slice.Endpoints = nil // One asks for the page, and the other publishes its Pod.
	return service, []client.Object{service, slice, published, table}
}

func TestWhenThePageIsPrepared(t *testing.T) {
	type change = func(*corev1.Service, *discoveryv1.EndpointSlice, *listener.Listener)
	for sentence, c := range map[string]struct {
		change change
		want   bool
	}{
		"slice and responder know of it": {func(*corev1.Service, *discoveryv1.EndpointSlice, *listener.Listener) {}, true},
		"the slice is of another fallback": {func(_ *corev1.Service, s *discoveryv1.EndpointSlice, _ *listener.Listener) {
			s.Labels[criticalv2.LabelFallbackKind] = criticalv2.FallbackKindService
		}, false},
		"the slice announces something else": {func(_ *corev1.Service, s *discoveryv1.EndpointSlice, _ *listener.Listener) {
			s.Annotations[criticalv2.AnnotationMaintenance] = `{"message":"Earlier."}`
		}, false},
		"the slice announces another end": {func(_ *corev1.Service, s *discoveryv1.EndpointSlice, _ *listener.Listener) {
			s.Annotations[criticalv2.AnnotationMaintenance] = `{"message":"We move house.","until":"2030-01-31T18:30:00Z"}`
		}, false},
		"the slice announces another wait": {func(_ *corev1.Service, s *discoveryv1.EndpointSlice, _ *listener.Listener) {
			s.Annotations[criticalv2.AnnotationMaintenance] = `{"message":"We move house.","retryAfterSeconds":60}`
		}, false},
		"the slice has no endpoint": {func(_ *corev1.Service, s *discoveryv1.EndpointSlice, _ *listener.Listener) { s.Endpoints = nil }, false},
		"the slice is another controller's": {func(_ *corev1.Service, s *discoveryv1.EndpointSlice, _ *listener.Listener) {
			s.Labels[discoveryv1.LabelManagedBy] = "endpointslice-controller.k8s.io"
		}, false},
		"the responder does not know yet":             {func(_ *corev1.Service, _ *discoveryv1.EndpointSlice, l *listener.Listener) { l.Maintenance = nil }, false},
		"the responder knows of another Service only": {func(_ *corev1.Service, _ *discoveryv1.EndpointSlice, l *listener.Listener) { l.Service = "shop" }, false},
		"a headless Service has no page to prepare": {func(s *corev1.Service, slice *discoveryv1.EndpointSlice, _ *listener.Listener) {
			s.Spec.ClusterIP = corev1.ClusterIPNone
			slice.Labels[criticalv2.LabelFallbackKind] = criticalv2.FallbackKindPodTemplate
		}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			scheme, err := access.Scheme()
			g.Expect(err).NotTo(HaveOccurred())
			service, objects := stage(c.change)
			from := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
			g.Expect(prepared(t.Context(), from, service, &criticalv2.Announcement{Message: "We move house."})).To(Equal(c.want))
		})
	}
}

func TestTheListReadsWell(t *testing.T) {
	g := NewWithT(t)
	night := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	policies := []criticalv2.Policy{&criticalv2.CriticalService{Status: criticalv2.ProtectionStatus{Details: []criticalv2.ServiceStatus{
		{Namespace: "shop", Name: "storefront", State: criticalv2.StateCovered}, {Namespace: "shop", Name: "cart", State: criticalv2.StateArmed},
	}}}}
	view := viewOf(golden.Of[criticalv2.Maintenance](golden.Objects(t, "list.input.yaml")), policies)

	l := &listing{allNamespaces: true, zone: time.UTC}
	var text bytes.Buffer
	g.Expect(l.print(output.NewTable(&text, false, true, l.columns()...), view, night)).To(Succeed())
	golden.Compare(t, "list.golden.txt", text.String())
	document, err := json.MarshalIndent(view, "", "  ")
	g.Expect(err).NotTo(HaveOccurred())
	golden.Compare(t, "list.golden.json", string(document)+"\n")

	empty, err := json.Marshal(viewOf(nil, nil))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(empty)).To(Equal(`{"maintenances":[]}`))
}
