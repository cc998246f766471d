package settings

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/critical-service/operator/internal/operator/setting"
)

const (
	// maxAnnotations is how many annotations are kept on an Ingress, and maxValue how many bytes
	// one of them has.
	maxAnnotations, maxValue = 16, 1024
)

// isReserved reports whether a key is one of this project, or has a meaning to Kubernetes itself.
// Those of ingress controllers, for example below nginx.ingress.kubernetes.io, are for users.
func isReserved(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return slices.Contains([]string{"mycrd.com", "kubernetes.io", "k8s.io"}, domain) || strings.HasSuffix(domain, ".mycrd.com")
}

func ofIngresses(s *Settings) []setting.Setting {
	return []setting.Setting{
		{
			Flag: "ingress-annotations", Variable: "INGRESS_ANNOTATIONS",
			Usage: "annotations that every Ingress keeps, as KEY=VALUE,...; empty is none", Allowed: "at most 16 pairs KEY=VALUE, separated by commas, of keys that do not begin with mycrd.com/, kubernetes.io/ or k8s.io/",
			Parse: func(text string) (err error) {
				s.IngressAnnotations, err = pairs(text)
				return err
			},
		},
		{
			Flag: "ingress-status", Variable: "INGRESS_STATUS", Preset: "false",
			Usage: "say on each Ingress which of its Services are on their fallback", Allowed: "true or false",
			Parse: setting.Switch(&s.IngressStatus),
		},
		{
			Flag: "ingress-classes", Variable: "INGRESS_CLASSES",
			Usage: "IngressClasses of the Ingresses that the other two are for, separated by commas; empty is all", Allowed: "names of IngressClasses",
			Parse: func(text string) (err error) {
				s.IngressClasses, err = setting.Names(text, "the name of an IngressClass", validation.IsDNS1123Subdomain)
				return err
			},
		},
	}
}

// pairs reads annotations. A value has no comma, which separates them.
func pairs(text string) (map[string]string, error) {
	found := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		pair = strings.TrimSpace(pair)
		if pair == "" {
			continue
		}
		key, value, isPair := strings.Cut(pair, "=")
		if !isPair {
			return nil, fmt.Errorf("%q is not KEY=VALUE", pair)
		}
		if err := setting.Valid(validation.IsQualifiedName(key)); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		if isReserved(key) {
			return nil, fmt.Errorf("key %q is reserved", key)
		}
		if _, twice := found[key]; twice {
			return nil, fmt.Errorf("key %q is there twice", key)
		}
		if len(value) > maxValue {
			return nil, fmt.Errorf("the value of %q has more than %d bytes", key, maxValue)
		}
		found[key] = value
	}
	if len(found) > maxAnnotations {
		return nil, fmt.Errorf("more than %d annotations", maxAnnotations)
	}
	return found, nil
}
