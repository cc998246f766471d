package settings_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestIngressesAreLeftAloneByDefault(t *testing.T) {
	g := NewWithT(t)
	s, err := read(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.IngressAnnotations).To(BeEmpty())
	g.Expect(s.IngressStatus).To(BeFalse())
	g.Expect(s.IngressClasses).To(BeEmpty())
}

func TestSettingsOfIngresses(t *testing.T) {
	g := NewWithT(t)
	s, err := read(map[string]string{
		"INGRESS_ANNOTATIONS": "foo=bar, example.com/owner=team=shop,empty=", "INGRESS_STATUS": "true", "INGRESS_CLASSES": "nginx, internal",
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.IngressAnnotations).To(Equal(map[string]string{"foo": "bar", "example.com/owner": "team=shop", "empty": ""}))
	g.Expect(s.IngressStatus).To(BeTrue())
	g.Expect(s.IngressClasses).To(Equal([]string{"internal", "nginx"}))
}

func TestAnnotationsThatAreNotValidStopTheStart(t *testing.T) {
	var many []string
	for i := range 17 {
		many = append(many, fmt.Sprintf("k%d=v", i))
	}
	for sentence, c := range map[string]struct{ text, says string }{
		"a word alone":              {"foo", `"foo" is not KEY=VALUE`},
		"a key that no object has":  {"foo bar=x", `key "foo bar"`},
		"a key of this project":     {"mycrd.com/fallback=web", `key "mycrd.com/fallback" is reserved`},
		"a key of Kubernetes":       {"kubernetes.io/ingress.class=y", "is reserved"},
		"a key that is there twice": {"foo=a,foo=b", `key "foo" is there twice`},
		"a long value":              {"foo=" + strings.Repeat("x", 1025), "more than 1024 bytes"},
		"too many":                  {strings.Join(many, ","), "more than 16"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := read(map[string]string{"INGRESS_ANNOTATIONS": c.text})
			NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("INGRESS_ANNOTATIONS"), ContainSubstring(c.says))))
		})
	}
}
