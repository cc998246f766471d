package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/document"
)

const (
	webAppPage          = "docs/webapp.md"
	webAppSpecification = "docs/spec/webapp.md"
	webAppController    = "workloads/controllers/webapp"
)

// Some words of the conditions are those of every kind that runs something: what the code uses of them is said, too.
func TestTheSpecificationOfWebAppsNamesEveryWord(t *testing.T) {
	g := NewWithT(t)
	own := filepath.Join(root, "workloads/api/v1/webapp_conditions.go")
	said := append(wordsIn(g, []string{own}, "Condition", "Reason"), words(g, webAppController, "event")...)
	files, err := filepath.Glob(filepath.Join(root, webAppController, "internal/decide/*.go"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		for _, used := range regexp.MustCompile(`workloadsv1\.(?:Condition|Reason)(\w+)`).FindAllStringSubmatch(read(g, strings.TrimPrefix(file, root+"/")), -1) {
			said = append(said, used[1])
		}
	}
	g.Expect(len(said)).To(BeNumerically(">", 25))
	page := read(g, webAppSpecification)
	for _, word := range said {
		g.Expect(page).To(ContainSubstring("`"+word+"`"), "%s does not explain %s", webAppSpecification, word)
	}
}

// Each reason that needs a person has a remedy: a row whose last cell is not empty.
func TestEveryReasonOfAWebAppHasARemedy(t *testing.T) {
	g := NewWithT(t)
	rows := regexp.MustCompile("(?m)^\\| (?:True|False) \\| `(\\w+)` \\| [^|]+ \\| ([^|]+) \\|$").FindAllStringSubmatch(read(g, webAppSpecification), -1)
	var explained []string
	for _, row := range rows {
		explained = append(explained, row[1])
		g.Expect(strings.TrimSpace(row[2])).NotTo(BeEmpty(), row[1])
	}
	own := filepath.Join(root, "workloads/api/v1/webapp_conditions.go")
	g.Expect(explained).To(ContainElements(wordsIn(g, []string{own}, "Reason")))
}

// The figures that the pages promise are those of the code.
func TestTheFiguresOfWebAppsAreThoseOfTheCode(t *testing.T) {
	g := NewWithT(t)
	pages := read(g, webAppPage) + read(g, webAppSpecification)
	for file, promises := range map[string]map[string]string{
		webAppController + "/internal/scale/scale.go": {
			"tolerance = 0.1\n": "between 90 % and 110 %", "patience = 5 * time.Minute\n": "the last five minutes",
			"pace   = 15 * time.Second\n": "in 15 seconds", "stride = 4\n": "or four more",
		},
		webAppController + "/internal/traffic/watch.go": {
			"period, timeout = 5 * time.Second, 2 * time.Second\n": "every 5 seconds, for 2 seconds",
			"perWebApp, perNamespace, atOnce = 2, 4, 32\n":         "at most 32 at once, 4 of a namespace and 2 of a WebApp",
		},
		webAppController + "/internal/traffic/counter.go": {"maxBody, maxLine = 1 << 20,": "and 1 MiB at most"},
		webAppController + "/internal/traffic/series.go": {
			"window = 30 * time.Second\n": "over the last 30 seconds", "shortest = 2 * time.Second\n": "2 seconds apart",
			"stale = 15 * time.Second\n": "not older than 15 seconds",
		},
		webAppController + "/internal/render/pod.go": {
			"drain int64 = 15\n": "goes on serving for 15 seconds", "gracePeriod int64 = 60\n": "15 seconds after its Pod, and has 45 more",
			`resource.MustParse("32Mi")`: "32 MiB of memory",
		},
		"workloads/internal/meter/meter.go": {
			"maxInFlight = 1024\n": "takes 1,024 requests at once", "maxConnections = 1536\n": "more than 1,536 connections", "maxHTTP2 = 80\n": "or 80 of HTTP/2",
			"maxHeaderFields = 128\n": "at most 128 header fields", "maxHeaderBytes  = 16 << 10\n": "and 16 KiB of them",
			"bodyTimeout = 5 * time.Second\n": "within 5 seconds gets 408", "progressTimeout = 30 * time.Second\n": "for 30 seconds (but in gRPC)",
		},
		"workloads/internal/metering/metering.go": {"\tMemoryLimit = 512 << 20\n": "512 under attack", "\tPort = 18080\n": "18080", "MetricsPort = 18081\n": "18081"},
		"workloads/api/v1/webapp.go":              {"DefaultMaxReplicas = 10\n": "Absent means 10"},
	} {
		source := read(g, file)
		for inCode, inPages := range promises {
			g.Expect(source).To(ContainSubstring(inCode), file)
			g.Expect(pages).To(ContainSubstring(inPages))
		}
	}
}

// The exercise names seven fields with their types. The page begins with these alone, and so does its walk-through.
func TestTheExerciseOfWebAppsHasItsSevenFields(t *testing.T) {
	g := NewWithT(t)
	for section, language := range map[string]string{"Use it": "yaml", strings.TrimSpace(strings.TrimPrefix(exercise, "## ")): "sh"} {
		block, err := document.Block(filepath.Join(root, webAppPage), section, language, "trafficThreshold: 100")
		g.Expect(err).NotTo(HaveOccurred())
		_, manifest, shell := strings.Cut(block, "<<'END'\n")
		if !shell {
			manifest = block
		}
		var object struct {
			Kind string         `json:"kind"`
			Spec map[string]any `json:"spec"`
		}
		g.Expect(yaml.Unmarshal([]byte(strings.TrimSuffix(manifest, "END\n")), &object)).To(Succeed())
		g.Expect(object.Kind).To(Equal("WebApp"))
		types := map[string]any{
			"appName": "", "image": "", "dbImage": "", "replicas": 0., "dbSize": "", "autoScaleEnabled": true, "trafficThreshold": 0.,
		}
		g.Expect(object.Spec).To(HaveLen(len(types)), section)
		for field, like := range types {
			g.Expect(object.Spec[field]).To(BeAssignableToTypeOf(like), "%s: %s", section, field)
		}
	}
}

// A test types the commands of the exercise as they stand on the page: it names a part of each block.
func TestTheExerciseOfWebAppsIsTested(t *testing.T) {
	g := NewWithT(t)
	test := read(g, "workloads/test/e2e/webapp_document_test.go")
	quoted := regexp.MustCompile(`"([^"\n]+)"`).FindAllStringSubmatch(test, -1)
	steps := strings.Split(walkthrough(g, webAppPage), "```sh\n")[1:]
	g.Expect(len(steps)).To(BeNumerically(">", 5))
	for _, step := range steps {
		commands, _, _ := strings.Cut(step, "```")
		g.Expect(slices.ContainsFunc(quoted, func(text []string) bool {
			return len(text[1]) > len("kubectl get") && strings.Contains(commands, text[1])
		})).To(BeTrue(), "no test types\n%s", commands)
	}
}
