package v1_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestWhatAV1ObjectMeans(t *testing.T) {
	for sentence, test := range map[string]struct{ v1, v2 string }{
		"The article's object: one namespace, one label, a Pod on demand that joins by its labels.": {
			v1: `{namespace: default, matchLabels: [{key: role, value: frontend}]}`,
			v2: `{namespaces: [default], serviceSelector: {matchLabels: {role: frontend}}, fallback: {podTemplate: {activation: OnDemand, publish: SelectorLabels}}}`,
		},
		"No namespace means every namespace.": {
			v1: `{matchLabels: [{key: role, value: frontend}]}`,
			v2: `{serviceSelector: {matchLabels: {role: frontend}}, fallback: {podTemplate: {activation: OnDemand, publish: SelectorLabels}}}`,
		},
		"An empty value matches a label that is present and empty.": {
			v1: `{matchLabels: [{key: a, value: ""}, {key: b, value: x}]}`,
			v2: `{serviceSelector: {matchLabels: {a: "", b: x}}, fallback: {podTemplate: {activation: OnDemand, publish: SelectorLabels}}}`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			hub := toV2(g, v1Object(g, test.v1))
			g.Expect(hub).To(Equal(v2Object(g, test.v2)), "and no annotation is needed")
			g.Expect(fromV2(g, hub)).To(Equal(v1Object(g, test.v1)))
		})
	}
}

func TestTwoValuesForOneKeyMatchNothingInV2Too(t *testing.T) {
	g := NewWithT(t)
	hub := toV2(g, v1Object(g, `{matchLabels: [{key: role, value: a}, {key: role, value: b}, {key: role, value: a}]}`))
	selector, err := metav1.LabelSelectorAsSelector(&hub.Spec.ServiceSelector)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(selector.String()).To(Equal("role=a,role in (b)"))
}

func TestWhatV1ShowsOfAV2Object(t *testing.T) {
	for sentence, test := range map[string]struct{ v2, v1 string }{
		"Of several namespaces it shows the first: never more than is meant.": {
			v2: `{namespaces: [till, shop], serviceSelector: {matchLabels: {role: frontend}}}`,
			v1: `{namespace: till, matchLabels: [{key: role, value: frontend}]}`,
		},
		"Labels are shown in sorted order.": {
			v2: `{serviceSelector: {matchLabels: {b: "1", a: "2"}}}`,
			v1: `{matchLabels: [{key: a, value: "2"}, {key: b, value: "1"}]}`,
		},
		"Expressions are not shown.": {
			v2: `{serviceSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}}`,
			v1: `{matchLabels: [{key: a, value: b}]}`,
		},
		"A selector of expressions only is shown as a label that no Service carries.": {
			v2: `{serviceSelector: {matchExpressions: [{key: c, operator: Exists}]}}`,
			v1: `{matchLabels: [{key: mycrd.com/v2-match-expressions, value: only}]}`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			object := v2Object(g, test.v2)
			spoke := fromV2(g, object)
			g.Expect(spoke.Spec).To(Equal(v1Object(g, test.v1).Spec))
			g.Expect(spoke.Annotations).To(HaveKey(criticalv1.AnnotationV2Spec), "the rest rides along")
			g.Expect(toV2(g, spoke)).To(Equal(object))
		})
	}
}

func TestEditsOfTheV1View(t *testing.T) {
	const before = `{namespaces: [shop, till], activationDelay: 5s, serviceSelector: {matchLabels: {role: frontend, tier: web}, matchExpressions: [{key: app, operator: Exists}]}, fallback: {service: {name: backup}}}`
	for sentence, test := range map[string]struct {
		edit func(*criticalv1.CriticalServiceSpec)
		want string
	}{
		"No edit changes nothing.": {
			edit: func(*criticalv1.CriticalServiceSpec) {},
			want: before,
		},
		"Another order of the labels changes nothing but the order.": {
			edit: func(s *criticalv1.CriticalServiceSpec) {
				s.MatchLabels = []criticalv1.LabelMatch{s.MatchLabels[1], s.MatchLabels[0]}
			},
			want: before,
		},
		"Another namespace takes the place of all namespaces.": {
			edit: func(s *criticalv1.CriticalServiceSpec) { s.Namespace = "till" },
			want: strings.Replace(before, "[shop, till]", "[till]", 1),
		},
		"No namespace any more means every namespace.": {
			edit: func(s *criticalv1.CriticalServiceSpec) { s.Namespace = "" },
			want: strings.Replace(before, "namespaces: [shop, till], ", "", 1),
		},
		"One more label is one more label; expressions stay.": {
			edit: func(s *criticalv1.CriticalServiceSpec) {
				s.MatchLabels = append(s.MatchLabels, criticalv1.LabelMatch{Key: "x", Value: "z"})
			},
			want: strings.Replace(before, "tier: web", "tier: web, x: z", 1),
		},
		"A label with another value is that label.": {
			edit: func(s *criticalv1.CriticalServiceSpec) { s.MatchLabels[0].Value = "backend" },
			want: strings.Replace(before, "role: frontend", "role: backend", 1),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			spoke := fromV2(g, v2Object(g, before))
			test.edit(&spoke.Spec)
			hub := toV2(g, spoke)
			g.Expect(hub.Spec).To(Equal(v2Object(g, test.want).Spec))
			g.Expect(fromV2(g, hub).Spec).To(Equal(spoke.Spec), "who edits v1 sees in v1 what they wrote")
		})
	}
}

func TestALabelBesideTheOneThatStandsForExpressionsTakesItsPlace(t *testing.T) {
	g := NewWithT(t)
	spoke := fromV2(g, v2Object(g, `{serviceSelector: {matchExpressions: [{key: c, operator: Exists}]}}`))
	spoke.Spec.MatchLabels = append(spoke.Spec.MatchLabels, criticalv1.LabelMatch{Key: "role", Value: "frontend"})
	g.Expect(toV2(g, spoke).Spec).To(Equal(v2Object(g, `{serviceSelector: {matchLabels: {role: frontend}, matchExpressions: [{key: c, operator: Exists}]}}`).Spec))
}

func TestWithoutItsAnnotationAV1ViewNeverMeansMoreServices(t *testing.T) {
	g := NewWithT(t)
	spoke := fromV2(g, v2Object(g, `{namespaces: [till, shop], serviceSelector: {matchExpressions: [{key: c, operator: Exists}]}}`))
	spoke.Annotations = nil
	hub := toV2(g, spoke)
	g.Expect(hub.Spec.Namespaces).To(Equal([]string{"till"}))
	g.Expect(hub.Spec.ServiceSelector.MatchLabels).NotTo(BeEmpty())
}

// The schema has defaults for lists that are absent.
func TestAListThatIsEmptyDoesNotComeBackAbsent(t *testing.T) {
	g := NewWithT(t)
	const spec = `{serviceSelector: {matchLabels: {a: b}}, precedence: Default, fallback: {page: {probes: {paths: [], userAgents: []}}}}`
	back := toV2(g, decode[criticalv1.CriticalService](g, encode(g, fromV2(g, v2Object(g, spec)))))
	g.Expect(encode(g, back.Spec)).To(MatchYAML(spec))
}

func TestTheOrderOfLabels(t *testing.T) {
	const labels = `{serviceSelector: {matchLabels: {a: "1", b: "2", c: "3"}}}`
	for sentence, test := range map[string]struct{ annotation, want string }{
		"is the one that was written":                               {`["c","a","b"]`, "cab"},
		"is sorted where no order is given":                         {"", "abc"},
		"ends with labels that came later, sorted":                  {`["c"]`, "cab"},
		"leaves out labels that have gone":                          {`["c","gone","b"]`, "cba"},
		"names a label once":                                        {`["c","c","b","c"]`, "cba"},
		"is sorted where the annotation is no JSON":                 {`c,a,b`, "abc"},
		"is sorted where the annotation is no list":                 {`{"c": 1}`, "abc"},
		"is sorted where the annotation is no list of strings":      {`["c", 1]`, "abc"},
		"is sorted where the annotation is null":                    {`null`, "abc"},
		"is sorted where the annotation goes on behind a list":      {`["c"] ["b"]`, "abc"},
		"is sorted where the annotation is deeper than JSON may be": {strings.Repeat("[", 20000), "abc"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			object := v2Object(g, labels)
			metav1.SetMetaDataAnnotation(&object.ObjectMeta, criticalv1.AnnotationMatchLabelsOrder, test.annotation)
			spoke := fromV2(g, object)
			got := ""
			for _, label := range spoke.Spec.MatchLabels {
				got += label.Key
			}
			g.Expect(got).To(Equal(test.want))
			g.Expect(spoke.Annotations).NotTo(HaveKey(criticalv1.AnnotationMatchLabelsOrder))
		})
	}
}

func TestTheOrderIsNotedOnlyWhereItWouldGetLost(t *testing.T) {
	g := NewWithT(t)
	sorted := toV2(g, v1Object(g, `{matchLabels: [{key: a, value: x}, {key: b, value: x}]}`))
	g.Expect(sorted.Annotations).To(BeNil())
	unsorted := toV2(g, v1Object(g, `{matchLabels: [{key: b, value: x}, {key: a, value: x}]}`))
	g.Expect(unsorted.Annotations).To(Equal(map[string]string{criticalv1.AnnotationMatchLabelsOrder: `["b","a"]`}))
}

// hostileSpecs are annotations that must be ignored as a whole.
var hostileSpecs = map[string]string{
	"nothing":                             ``,
	"no JSON":                             `namespaces: [shop]`,
	"half of it":                          `{"serviceSelector":{"matchLabels":{"role":`,
	"null":                                `null`,
	"a list":                              `[]`,
	"a number":                            `1e999`,
	"two specs":                           `{"serviceSelector":{"matchLabels":{"a":"b"}}} {}`,
	"another type":                        `{"serviceSelector":{"matchLabels":["a"]}}`,
	"deeper than JSON may be":             strings.Repeat(`{"fallback":`, 20000),
	"no selector":                         `{"fallback":{"page":{}}}`,
	"an empty selector":                   `{"serviceSelector":{}}`,
	"an unknown operator":                 `{"serviceSelector":{"matchExpressions":[{"key":"a","operator":"Like"}]}}`,
	"In without values":                   `{"serviceSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}}`,
	"Exists with values":                  `{"serviceSelector":{"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]}}`,
	"a label without a key":               `{"serviceSelector":{"matchLabels":{"":"b"}}}`,
	"a label value too long":              `{"serviceSelector":{"matchLabels":{"a":"` + strings.Repeat("v", 64) + `"}}}`,
	"a namespace twice":                   `{"namespaces":["a","a"],"serviceSelector":{"matchLabels":{"a":"b"}}}`,
	"a namespace in upper case":           `{"namespaces":["A"],"serviceSelector":{"matchLabels":{"a":"b"}}}`,
	"namespaces and a selector":           `{"namespaces":["a"],"namespaceSelector":{},"serviceSelector":{"matchLabels":{"a":"b"}}}`,
	"two fallbacks":                       `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"page":{},"service":{"name":"b"}}}`,
	"a status code out of bounds":         `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"page":{"statusCode":99}}}`,
	"a negative Retry-After":              `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"page":{"retryAfterSeconds":-1}}}`,
	"a message of two lines":              `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"page":{"message":"a\r\nX-Evil: b"}}}`,
	"a message too long":                  `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"page":{"message":"` + strings.Repeat("m", 1025) + `"}}}`,
	"a path as ConfigMap":                 `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"page":{"configMapName":"../etc"}}}`,
	"a thousand replicas":                 `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"page":{"replicas":1000}}}`,
	"a user agent that every request has": `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"page":{"probes":{"userAgents":[""]}}}}`,
	"a probe path with a query":           `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"page":{"probes":{"paths":["/a?b"]}}}}`,
	"a namespace without a name":          `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"podTemplate":{"namespace":"kube-system"}}}`,
	"an unknown activation":               `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"podTemplate":{"activation":"Never"}}}`,
	"labels on a standby Pod":             `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"podTemplate":{"activation":"Standby","publish":"SelectorLabels"}}}`,
	"a backup without a name":             `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"service":{}}}`,
	"a delay of a day":                    `{"activationDelay":"24h","serviceSelector":{"matchLabels":{"a":"b"}}}`,
	"a negative delay":                    `{"deactivationDelay":"-1s","serviceSelector":{"matchLabels":{"a":"b"}}}`,
	"a delay that is no duration":         `{"activationDelay":"soon","serviceSelector":{"matchLabels":{"a":"b"}}}`,
}

var hostileOrders = []string{"", "null", "{", `["c","a","b"]`, `["c","c","x",""]`, `[["a"]]`, strings.Repeat("[", 20000)}

func TestAnAnnotationThatIsNoValidV2SpecIsIgnored(t *testing.T) {
	for what, annotation := range hostileSpecs {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			object := v1Object(g, `{namespace: shop, matchLabels: [{key: role, value: frontend}]}`)
			want := toV2(g, object)
			metav1.SetMetaDataAnnotation(&object.ObjectMeta, criticalv1.AnnotationV2Spec, annotation)
			g.Expect(toV2(g, object)).To(Equal(want))
		})
	}
}

func TestAnAnnotationOfOneVersionMeansNothingOnTheOther(t *testing.T) {
	g := NewWithT(t)
	hub := v2Object(g, `{serviceSelector: {matchLabels: {a: b}}, fallback: {podTemplate: {activation: OnDemand, publish: SelectorLabels}}}`)
	metav1.SetMetaDataAnnotation(&hub.ObjectMeta, criticalv1.AnnotationV2Spec, `{"serviceSelector":{"matchLabels":{"a":"b"}},"fallback":{"page":{}}}`)
	spoke := fromV2(g, hub)
	g.Expect(spoke.Annotations).To(BeNil())

	metav1.SetMetaDataAnnotation(&spoke.ObjectMeta, criticalv1.AnnotationMatchLabelsOrder, `["z"]`)
	g.Expect(toV2(g, spoke).Annotations).To(BeNil())
}

// The API server refuses a converted object whose annotations are too large, and
// with it every list that holds the object.
func TestAnAnnotationIsLeftOutWhereItWouldHideTheObject(t *testing.T) {
	g := NewWithT(t)
	hub := v2Object(g, `{serviceSelector: {matchLabels: {a: b}}, fallback: {page: {}}}`)
	metav1.SetMetaDataAnnotation(&hub.ObjectMeta, "example.com/notes", strings.Repeat("x", 256<<10-len("example.com/notes")))
	spoke := fromV2(g, hub)
	g.Expect(spoke.Annotations).To(Equal(hub.Annotations))
	g.Expect(spoke.Spec.MatchLabels).To(Equal([]criticalv1.LabelMatch{{Key: "a", Value: "b"}}))
}

func TestStatusAndMetadataAreTheSameInBothVersions(t *testing.T) {
	g := NewWithT(t)
	hub := v2Object(g, `{serviceSelector: {matchLabels: {a: b}}}`)
	hub.Name, hub.Finalizers, hub.Generation = "storefront", []string{"example.com/hold"}, 7
	hub.Status = criticalv2.ProtectionStatus{
		ObservedGeneration: 7,
		Conditions:         []metav1.Condition{{Type: criticalv2.ConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Unix(0, 0))}},
		Services:           criticalv2.ServiceCounts{Total: 1, Armed: 1},
	}
	spoke := fromV2(g, hub)
	g.Expect(spoke.Status).To(Equal(hub.Status))
	g.Expect(spoke.Finalizers).To(Equal(hub.Finalizers))
	g.Expect(spoke.Generation).To(Equal(hub.Generation))

	again := toV2(g, spoke)
	g.Expect(again).To(Equal(hub))
	again.Status.Conditions[0].Reason, again.Finalizers[0] = "Changed", "changed"
	g.Expect(spoke.Status).To(Equal(hub.Status), "what is converted shares no memory with what it came from")
	spoke.Status.Conditions[0].Reason, spoke.Finalizers[0] = "Changed", "changed"
	g.Expect(hub.Status.Conditions[0].Reason).To(BeEmpty())
	g.Expect(hub.Finalizers[0]).To(Equal("example.com/hold"))
}

func v1Object(g Gomega, spec string) *criticalv1.CriticalService {
	object := &criticalv1.CriticalService{}
	g.Expect(yaml.UnmarshalStrict([]byte(spec), &object.Spec)).To(Succeed())
	return object
}

func v2Object(g Gomega, spec string) *criticalv2.CriticalService {
	object := &criticalv2.CriticalService{}
	object.Spec.Precedence = criticalv2.PrecedenceDefault // As the API server stores it.
	g.Expect(yaml.UnmarshalStrict([]byte(spec), &object.Spec)).To(Succeed())
	return object
}
