package protection_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// shop is a Service with the ports http and metrics.
func shop(edits ...func(*corev1.Service)) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "shop", Labels: map[string]string{"tier": "front"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "metrics", Port: 9090}}},
	}
	for _, edit := range edits {
		edit(service)
	}
	return service
}

// slice lists one Pod on port http; its condition is not set.
func slice(edits ...func(*discoveryv1.EndpointSlice)) discoveryv1.EndpointSlice {
	made := discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: "shop"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.0.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "shop-1", UID: "shop-1"},
		}},
	}
	for _, edit := range edits {
		edit(&made)
	}
	return made
}

func ready(is bool) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = &is }
}

func listing(name string, uid types.UID) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[0].TargetRef.Name, s.Endpoints[0].TargetRef.UID = name, uid
	}
}

func onPort(name string) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) { s.Ports[0].Name = &name }
}

func standby(kind string) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) {
		s.Labels[discoveryv1.LabelManagedBy], s.Labels[criticalv2.LabelFallbackKind] = criticalv2.ManagedBy, kind
	}
}

// pod is the Pod that slice lists.
func pod(edits ...func(*corev1.Pod)) corev1.Pod {
	made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "shop-1", UID: "shop-1", Labels: map[string]string{}, Annotations: map[string]string{},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "shop-5d4f", Controller: new(true)}},
	}}
	for _, edit := range edits {
		edit(&made)
	}
	return made
}

func controlledBy(apiVersion, kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, Controller: new(true)}}
	}
}

func labeled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

func owned(p *corev1.Pod) { p.Annotations[criticalv2.AnnotationOwned] = criticalv2.Owned }

func orphaned(p *corev1.Pod) { p.OwnerReferences = nil }

func TestAnEndpointIsTheApplicationsOwn(t *testing.T) {
	fallbackFor := labeled(criticalv2.LabelFallbackFor, "shop")
	server := labeled(criticalv2.LabelResponder, criticalv2.ResponderServer)
	among := func(pods ...corev1.Pod) protection.Ours { return protection.OursAmong(pods) }
	withoutPorts := func(s *corev1.Service) { s.Spec.Ports, s.Spec.ClusterIP = nil, corev1.ClusterIPNone }
	noPorts := func(s *discoveryv1.EndpointSlice) { s.Ports = nil }
	fqdn := func(s *discoveryv1.EndpointSlice) {
		s.AddressType, s.Endpoints[0].Addresses = discoveryv1.AddressTypeFQDN, []string{"shop.example.com"}
	}
	for sentence, test := range map[string]struct {
		service *corev1.Service
		slices  []discoveryv1.EndpointSlice
		ours    protection.Ours
		own     int
	}{
		"a ready Pod of the application is":           {slices: []discoveryv1.EndpointSlice{slice(ready(true))}, ours: among(pod()), own: 1},
		"so it is if its condition is not set":        {slices: []discoveryv1.EndpointSlice{slice()}, ours: among(pod()), own: 1},
		"so it is if nothing is known of the Pods":    {slices: []discoveryv1.EndpointSlice{slice()}, own: 1},
		"so is an address that is no Pod":             {slices: []discoveryv1.EndpointSlice{slice(func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef = nil })}, own: 1},
		"so is what another controller publishes":     {slices: []discoveryv1.EndpointSlice{slice(func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = "mesh.example.com" })}, own: 1},
		"a Pod that is not ready is not":              {slices: []discoveryv1.EndpointSlice{slice(ready(false))}},
		"nor is one in a slice without ports":         {slices: []discoveryv1.EndpointSlice{slice(noPorts)}},
		"nor is one without any port of the Service":  {slices: []discoveryv1.EndpointSlice{slice(onPort("admin"))}},
		"nor is one on a port whose number is open":   {slices: []discoveryv1.EndpointSlice{slice(func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = nil })}},
		"one port of the Service is enough":           {slices: []discoveryv1.EndpointSlice{slice(onPort("metrics"))}, own: 1},
		"a headless Service without ports needs none": {service: shop(withoutPorts), slices: []discoveryv1.EndpointSlice{slice(noPorts)}, own: 1},
		"a host name is not, because nothing routes to it": {
			slices: []discoveryv1.EndpointSlice{slice(fqdn)},
		},
		"what the operator publishes is not, even if it is promoted": {
			slices: []discoveryv1.EndpointSlice{slice(ready(true), standby(criticalv2.FallbackKindPage))},
		},
		"a fallback Pod that the Service selects is not": {
			slices: []discoveryv1.EndpointSlice{slice()}, ours: among(pod(controlledBy("mycrd.com/v2", "CriticalService", "front"))),
		},
		"nor is the fallback of an operator of version 1": {
			slices: []discoveryv1.EndpointSlice{slice()}, ours: among(pod(controlledBy("mycrd.com/v1", "CriticalService", "front"))),
		},
		"nor is an orphaned fallback, which has the marks": {
			slices: []discoveryv1.EndpointSlice{slice()}, ours: among(pod(orphaned, fallbackFor, owned)),
		},
		"one mark alone makes no fallback": {
			slices: []discoveryv1.EndpointSlice{slice()}, ours: among(pod(orphaned, fallbackFor)), own: 1,
		},
		"a label that was copied onto the application's Pod changes nothing": {
			slices: []discoveryv1.EndpointSlice{slice()}, ours: among(pod(fallbackFor)), own: 1,
		},
		"nor do all the marks": {
			slices: []discoveryv1.EndpointSlice{slice()}, ours: among(pod(fallbackFor, owned)), own: 1,
		},
		"a responder Pod is not": {
			slices: []discoveryv1.EndpointSlice{slice()}, ours: among(pod(server, controlledBy("apps/v1", "ReplicaSet", "critical-service-responder-7c9"))),
		},
		"nor is one without a controller": {
			slices: []discoveryv1.EndpointSlice{slice()}, ours: among(pod(server, orphaned)),
		},
		"the responder's label on the application's Pod changes nothing": {
			slices: []discoveryv1.EndpointSlice{slice()}, ours: among(pod(server)), own: 1,
		},
		"a Pod with the fallback's name is not, as long as it was not looked up": {
			slices: []discoveryv1.EndpointSlice{slice(listing("fallback-shop", "gone"))}, ours: protection.OursOf("fallback-shop", ""),
		},
		"nor is one of another UID than that which was looked up": {
			slices: []discoveryv1.EndpointSlice{slice(listing("fallback-shop", "gone"))}, ours: protection.OursOf("fallback-shop", "other"),
		},
		"one that was looked up and belongs to another owner is": {
			slices: []discoveryv1.EndpointSlice{slice(listing("fallback-shop", "other"))}, ours: protection.OursOf("fallback-shop", "other"), own: 1,
		},
		"a known fallback is not, whatever its name": {
			slices: []discoveryv1.EndpointSlice{slice(listing("renamed", "known"))}, ours: protection.OursOf("fallback-shop", "", "known"),
		},
		"all slices count": {
			slices: []discoveryv1.EndpointSlice{slice(ready(false)), slice(standby(criticalv2.FallbackKindPage)), slice(listing("shop-2", "shop-2"))}, own: 1,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			service := test.service
			if service == nil {
				service = shop()
			}
			NewWithT(t).Expect(protection.OwnReady(service, test.slices, test.ours)).To(HaveLen(test.own))
		})
	}
}

func TestAServiceIsGovernedByTheFirstThatMatches(t *testing.T) {
	policy := func(name string, edits ...func(*criticalv2.CriticalService)) *criticalv2.CriticalService {
		made := &criticalv2.CriticalService{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}},
		}
		for _, edit := range edits {
			edit(made)
		}
		return made
	}
	deleted := func(p *criticalv2.CriticalService) { p.DeletionTimestamp = &metav1.Time{} }
	selecting := func(selector metav1.LabelSelector) func(*criticalv2.CriticalService) {
		return func(p *criticalv2.CriticalService) { p.Spec.ServiceSelector = selector }
	}
	inNamespacesOf := func(team string) func(*criticalv2.CriticalService) {
		return func(p *criticalv2.CriticalService) {
			p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": team}}
		}
	}
	type policies = []criticalv2.Policy
	for sentence, test := range map[string]struct {
		policies policies
		matching []string
	}{
		"none":                                  {},
		"the only one":                          {policies{policy("a")}, []string{"a"}},
		"the first by name, and not by order":   {policies{policy("c"), policy("a"), policy("b")}, []string{"a", "b", "c"}},
		"not one that is being deleted":         {policies{policy("a", deleted), policy("b")}, []string{"b"}},
		"not one that selects other labels":     {policies{policy("a", selecting(metav1.LabelSelector{MatchLabels: map[string]string{"tier": "back"}}))}, nil},
		"not one whose selector is empty":       {policies{policy("a", selecting(metav1.LabelSelector{}))}, nil},
		"not one that names other namespaces":   {policies{policy("a", func(p *criticalv2.CriticalService) { p.Spec.Namespaces = []string{"elsewhere"} })}, nil},
		"one that selects its namespace":        {policies{policy("a", inNamespacesOf("web"))}, []string{"a"}},
		"not one that selects other namespaces": {policies{policy("a", inNamespacesOf("data"))}, nil},
		"not one whose selector is not valid": {policies{policy("a", selecting(metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Like"}},
		}))}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			labels := map[string]string{"team": "web"}
			var names []string
			for _, matching := range protection.Matching(test.policies, shop(), labels) {
				names = append(names, matching.GetName())
			}
			g.Expect(names).To(Equal(test.matching))
			governor := protection.Governor(test.policies, shop(), labels)
			if len(test.matching) == 0 {
				g.Expect(governor).To(BeNil())
				return
			}
			g.Expect(governor.GetName()).To(Equal(test.matching[0]))
		})
	}
}

func TestAFallbackMeansAPodTemplate(t *testing.T) {
	templates := protection.Templates{Default: types.NamespacedName{Namespace: "defaults", Name: "standard"}, OperatorNamespace: "system"}
	for sentence, test := range map[string]struct {
		namespace, name string
		want            string
		allowed         bool
		reach           string
	}{
		"the default, where none is named, which every Service may use": {"", "", "defaults/standard", true, ""},
		"one of the operator's namespace, where no other is named":      {"", "sorry", "system/sorry", true, ""},
		"one that names the operator's namespace":                       {"system", "sorry", "system/sorry", true, ""},
		"one of the Service's own namespace":                            {"team", "sorry", "team/sorry", true, "team"},
		"one of another namespace, which is forbidden":                  {"elsewhere", "sorry", "elsewhere/sorry", false, "elsewhere"},
		"one beside the default, which is forbidden by its name":        {"defaults", "standard", "defaults/standard", false, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			fallback := &criticalv2.PodTemplateFallback{Namespace: test.namespace, Name: test.name}
			policy := &criticalv2.CriticalService{}
			policy.Spec.Fallback.PodTemplate = fallback
			g.Expect(templates.Named(policy).String()).To(Equal(test.want))
			g.Expect(templates.Allows(policy, "team")).To(Equal(test.allowed))
			g.Expect(templates.Reach(templates.Named(policy))).To(Equal(test.reach))

			policies := []criticalv2.Policy{&criticalv2.CriticalService{}, policy}
			g.Expect(templates.IsNamed(templates.Named(policy), policies)).To(BeTrue())
			g.Expect(templates.IsNamed(types.NamespacedName{Namespace: "team", Name: "other"}, policies)).To(BeFalse())
		})
	}
}

func TestAServiceFallbackMeansAPodTemplateOfItsNamespaceOnly(t *testing.T) {
	templates := protection.Templates{Default: types.NamespacedName{Namespace: "defaults", Name: "standard"}, OperatorNamespace: "system"}
	for sentence, test := range map[string]struct{ namespace, name, want string }{
		"the one that it names":                           {"", "sorry", "team/sorry"},
		"not one of the operator's namespace":             {"system", "sorry", "team/sorry"},
		"not the default, which is made for others":       {"", "", "team/"},
		"not one of another namespace, whatever it names": {"elsewhere", "sorry", "team/sorry"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			policy := &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}}
			policy.Spec.Fallback.PodTemplate = &criticalv2.PodTemplateFallback{Namespace: test.namespace, Name: test.name}
			g.Expect(templates.Named(policy).String()).To(Equal(test.want))
		})
	}
}
