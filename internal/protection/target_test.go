package protection_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// withPorts replaces the ports of a Service.
func withPorts(ports ...corev1.ServicePort) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Ports = ports }
}

func TestAStandbyIsAskedAsItsClientsAskAndDisturbsNoOther(t *testing.T) {
	port := func(name string, number int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: number}
	}
	declared := port("x", 9000)
	declared.AppProtocol = new("kubernetes.io/h2c")
	for sentence, test := range map[string]struct {
		port                corev1.ServicePort
		page, pod, backends string
	}{
		"by its name":                     {port("http", 9000), "http", "http", "http"},
		"by its appProtocol":              {declared, "h2c", "h2c", "h2c"},
		"in gRPC":                         {port("grpc-api", 9000), "grpc", "grpc", "grpc"},
		"an unknown one of a page, HTTP":  {port("x", 9000), "http", "tcp", "tcp"},
		"one of another's Pod, no number": {port("x", 80), "http", "tcp", "tcp"},
		"a database of a page":            {port("x", 5432), "postgresql", "tcp", "tcp"},
		"a database is not disturbed":     {port("mysql", 9000), "mysql", "tcp", "tcp"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			for kind, want := range map[string]string{
				criticalv2.FallbackKindPage: test.page, criticalv2.FallbackKindPodTemplate: test.pod, criticalv2.FallbackKindService: test.backends,
			} {
				targets := protection.Targets(shop(withPorts(test.port)), []discoveryv1.EndpointSlice{slice(standby(kind), onPort(test.port.Name))})
				g.Expect(targets).To(HaveLen(1))
				g.Expect(string(targets[0].Protocol)).To(Equal(want), kind)
			}
		})
	}
}

func TestTheTargetsAreThePortsOfTheStandby(t *testing.T) {
	page := standby(criticalv2.FallbackKindPage)
	ofOther := func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "cart" }
	without := func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = nil }
	noPod := func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef = nil }
	at := func(address string) func(*discoveryv1.EndpointSlice) {
		return func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{address} }
	}
	dns := corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}
	for sentence, test := range map[string]struct {
		service *corev1.Service
		slices  []discoveryv1.EndpointSlice
		want    []string
	}{
		"its endpoints":                            {shop(), []discoveryv1.EndpointSlice{slice(page)}, []string{"http shop-1 10.0.0.1:8080"}},
		"by Pod and address":                       {shop(), []discoveryv1.EndpointSlice{slice(page, listing("b", "b")), slice(page, listing("a", "a"), at("fd00::1"))}, []string{"http a [fd00::1]:8080", "http b 10.0.0.1:8080"}},
		"by the order of the Service's ports":      {shop(), []discoveryv1.EndpointSlice{slice(page, onPort("metrics")), slice(page)}, []string{"http shop-1 10.0.0.1:8080", "metrics shop-1 10.0.0.1:8080"}},
		"also an address that names no Pod":        {shop(), []discoveryv1.EndpointSlice{slice(page, noPod)}, []string{"http  10.0.0.1:8080"}},
		"not those of the application":             {shop(), []discoveryv1.EndpointSlice{slice()}, nil},
		"not those of another Service":             {shop(), []discoveryv1.EndpointSlice{slice(page, ofOther)}, nil},
		"not ports that the Service does not have": {shop(), []discoveryv1.EndpointSlice{slice(page, onPort("admin"))}, nil},
		"not UDP":                         {shop(withPorts(dns)), []discoveryv1.EndpointSlice{slice(page, onPort("dns"))}, nil},
		"not an endpoint without address": {shop(), []discoveryv1.EndpointSlice{slice(page, without)}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			for _, target := range protection.Targets(test.service, test.slices) {
				got = append(got, fmt.Sprintf("%s %s %s", target.Port.Name, target.Pod(), target.Address()))
			}
			NewWithT(t).Expect(got).To(Equal(test.want))
		})
	}
}

// A Service may select the fallback Pods that were made for it and for others.
func TestInAnOutageTheSelectedFallbackPodsAreAsked(t *testing.T) {
	ours := protection.OursOf("fallback-shop", "", "ours", "of-another")
	own, fallback, other := slice(), slice(listing("fallback-shop", "ours")), slice(listing("fallback-cart", "of-another"))
	notReady := func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = new(false) }
	forged := func(s *discoveryv1.EndpointSlice) {
		s.Labels[criticalv2.LabelFallbackKind] = criticalv2.FallbackKindPage
	}
	numbered := corev1.ServicePort{Name: "x", Port: 80}
	for sentence, test := range map[string]struct {
		service *corev1.Service
		slices  []discoveryv1.EndpointSlice
		want    []string
	}{
		"the Pod that was made for it":          {shop(), []discoveryv1.EndpointSlice{fallback}, []string{"http fallback-shop 10.0.0.1:8080 http"}},
		"and those of others":                   {shop(), []discoveryv1.EndpointSlice{fallback, other}, []string{"http fallback-cart 10.0.0.1:8080 http", "http fallback-shop 10.0.0.1:8080 http"}},
		"only whether they listen":              {shop(withPorts(numbered)), []discoveryv1.EndpointSlice{slice(listing("fallback-shop", "ours"), onPort("x"), forged)}, []string{"x fallback-shop 10.0.0.1:8080 tcp"}},
		"on each port that is published":        {shop(), []discoveryv1.EndpointSlice{fallback, slice(listing("fallback-shop", "ours"), onPort("metrics"))}, []string{"http fallback-shop 10.0.0.1:8080 http", "metrics fallback-shop 10.0.0.1:8080 tcp"}},
		"not while the application answers":     {shop(), []discoveryv1.EndpointSlice{fallback, own}, nil},
		"also while the application is unready": {shop(), []discoveryv1.EndpointSlice{fallback, slice(notReady)}, []string{"http fallback-shop 10.0.0.1:8080 http"}},
		"not one that is unready itself":        {shop(), []discoveryv1.EndpointSlice{slice(listing("fallback-shop", "ours"), notReady)}, nil},
		"not one that is only named like ours":  {shop(), []discoveryv1.EndpointSlice{slice(listing("fallback-shop", "gone"))}, nil},
		"not what stands by, which is asked anyway": {
			shop(), []discoveryv1.EndpointSlice{slice(standby(criticalv2.FallbackKindPodTemplate), listing("fallback-shop", "ours"))}, nil,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			var got []string
			for _, target := range protection.SelectedTargets(test.service, test.slices, ours) {
				g.Expect(target.Selected).To(BeTrue())
				got = append(got, fmt.Sprintf("%s %s %s %s", target.Port.Name, target.Pod(), target.Address(), target.Protocol))
			}
			g.Expect(got).To(Equal(test.want))
		})
	}
}

func TestAPageNeedsATCPPortAndAClusterIP(t *testing.T) {
	headless := func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }
	udp := corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP}
	for sentence, test := range map[string]struct {
		service *corev1.Service
		want    bool
	}{
		"TCP is the default":               {shop(), true},
		"one TCP port is enough":           {shop(withPorts(udp, corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolTCP})), true},
		"UDP alone has none":               {shop(withPorts(udp)), false},
		"a headless Service has none":      {shop(headless), false},
		"a Service without ports has none": {shop(withPorts()), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(protection.CanHavePage(test.service)).To(Equal(test.want))
		})
	}
}
