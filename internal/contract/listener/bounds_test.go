package listener_test

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
)

// repeated is a table of many elements, with the page of the quadratic attack.
func repeated(page, element string, count int) string {
	elements := strings.TrimSuffix(strings.Repeat(element+",", count), ",")
	return fmt.Sprintf(`{"pages":[%s],"listeners":[%s]}`, page, elements)
}

// Users of any namespace may write a table. Parsing it costs no more than its text.
func TestParsingIsBounded(t *testing.T) {
	const most = 32 << 20
	paths := `{"probes":{"paths":[` + strings.TrimSuffix(strings.Repeat(`"",`, 12_000), ",") + `]}}`
	for name, text := range map[string]string{
		"72 kB, quadratic":        repeated(paths, "{}", 12_000),
		"1 MiB of listeners":      repeated("{}", "{}", 350_000),
		"1 MiB of pages":          `{"pages":[` + strings.TrimSuffix(strings.Repeat(`{},`, 350_000), ",") + `],"listeners":[]}`,
		"1 MiB of lists of pages": `{` + strings.Repeat(`"pages":[{},{},{},{}],`, 47_000) + `"listeners":[]}`,
		"1 MiB of paths":          repeated(`{"probes":{"paths":[`+strings.TrimSuffix(strings.Repeat(`"",`, 350_000), ",")+`]}}`, "{}", 1),
		"1 MiB of brackets":       `{"pages":` + strings.Repeat("[", 1<<20) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			data := []byte(text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := listener.Parse(data)
			runtime.ReadMemStats(&after)
			g.Expect(err).To(HaveOccurred())
			g.Expect(after.TotalAlloc - before.TotalAlloc).To(BeNumerically("<", most))
		})
	}
}

func TestATableOutOfBoundsIsNotValid(t *testing.T) {
	page := func(change func(*criticalv2.PageFallback)) string {
		made := criticalv2.DefaultPage()
		change(made)
		data, _ := json.Marshal(made)
		return repeated(string(data), `{"port":20000}`, 1)
	}
	tests := map[string]struct{ text, want string }{
		"too many listeners":       {repeated("{}", "{}", 12769), "more than 12768"},
		"more pages than users":    {`{"pages":[{},{}],"listeners":[{"port":20000}]}`, "2 pages"},
		"a page that is not there": {`{"listeners":[{"port":20000}]}`, "no page 0"},
		"a page before the first":  {repeated("{}", `{"port":20000,"page":-1}`, 1), "no page -1"},
		"a port given twice":       {repeated("{}", `{"port":20000,"service":"a"}`, 2), `port 20000 is given to the Services "a" and "a"`},
		"a port before the first":  {repeated("{}", `{"port":19999}`, 1), "port 19999"},
		"a port after the last":    {repeated("{}", `{"port":32768}`, 1), "port 32768"},
		"a Service's long name":    {repeated("{}", `{"port":20000,"service":"`+strings.Repeat("a", 64)+`"}`, 1), "service has more than 63"},
		"a port's long name":       {repeated("{}", `{"port":20000,"portName":"`+strings.Repeat("a", 64)+`"}`, 1), "portName"},
		"a long protocol":          {repeated("{}", `{"port":20000,"appProtocol":"`+strings.Repeat("a", 318)+`"}`, 1), "appProtocol"},
		"a long announcement":      {repeated("{}", `{"port":20000,"maintenance":{"message":"`+strings.Repeat("a", 1025)+`"}}`, 1), "maintenance.message"},
		"a long message":           {page(func(p *criticalv2.PageFallback) { p.Message = strings.Repeat("é", 1025) }), "message has more than 1024"},
		"a long name of content":   {page(func(p *criticalv2.PageFallback) { p.ConfigMapName = strings.Repeat("a", 254) }), "configMapName"},
		"too low a status":         {page(func(p *criticalv2.PageFallback) { p.StatusCode = 399 }), "statusCode 399"},
		"too high a status":        {page(func(p *criticalv2.PageFallback) { p.StatusCode = 600 }), "statusCode 600"},
		"to be retried too late":   {page(func(p *criticalv2.PageFallback) { p.RetryAfterSeconds = new(int32(86401)) }), "retryAfterSeconds"},
		"too many paths":           {page(func(p *criticalv2.PageFallback) { p.Probes.Paths = make([]string, 33) }), "probes.paths"},
		"a long path":              {page(func(p *criticalv2.PageFallback) { p.Probes.Paths = []string{strings.Repeat("a", 257)} }), "probes.paths"},
		"a long user agent":        {page(func(p *criticalv2.PageFallback) { p.Probes.UserAgents = []string{strings.Repeat("a", 129)} }), "probes.userAgents"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := listener.Parse([]byte(test.text))
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
	g := NewWithT(t)
	_, err := listener.Parse([]byte(page(func(p *criticalv2.PageFallback) { p.Message = strings.Repeat("é", 1024) })))
	g.Expect(err).NotTo(HaveOccurred(), "characters count, not bytes")
}

// What the API server accepts of a page is accepted in a table, and nothing longer.
func TestTheBoundsOfAPageAreTheSchemas(t *testing.T) {
	g := NewWithT(t)
	data, err := os.ReadFile("../../../config/crd/bases/mycrd.com_criticalservices.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var crd apiextensionsv1.CustomResourceDefinition
	g.Expect(yaml.Unmarshal(data, &crd)).To(Succeed())
	for _, version := range crd.Spec.Versions {
		if version.Name != criticalv2.GroupVersion.Version {
			continue
		}
		page := version.Schema.OpenAPIV3Schema.Properties["spec"].Properties["fallback"].Properties["page"].Properties
		probes := page["probes"].Properties
		fits := func(message, configMap, paths, path, agents, agent int64, status, retry float64) error {
			return listener.CheckPage(&criticalv2.PageFallback{
				StatusCode: int32(status), RetryAfterSeconds: new(int32(retry)),
				Message: strings.Repeat("a", int(message)), ConfigMapName: strings.Repeat("a", int(configMap)),
				Probes: &criticalv2.Probes{
					Paths:      append(make([]string, paths-1), strings.Repeat("a", int(path))),
					UserAgents: append(make([]string, agents-1), strings.Repeat("a", int(agent))),
				},
			})
		}
		length := func(schema apiextensionsv1.JSONSchemaProps) int64 { return ptr.Deref(schema.MaxLength, 0) }
		check := func(more int64) error {
			return fits(length(page["message"])+more, length(page["configMapName"])+more,
				*probes["paths"].MaxItems+more, length(*probes["paths"].Items.Schema)+more,
				*probes["userAgents"].MaxItems+more, length(*probes["userAgents"].Items.Schema)+more,
				*page["statusCode"].Maximum+float64(more), *page["retryAfterSeconds"].Maximum+float64(more))
		}
		g.Expect(check(0)).To(Succeed())
		g.Expect(strings.Split(check(1).Error(), "\n")).To(HaveLen(6), "each bound is that of the schema")
		return
	}
	t.Fatal("the CRD has no such version")
}
