// Package docs_test holds the documentation against the code.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/settings"
	"github.com/critical-service/operator/internal/protection"
)

const root = "../.."

func read(g Gomega, path string) string {
	data, err := os.ReadFile(filepath.Join(root, path))
	g.Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// words are the values of the string constants of a package whose names begin
// with one of the prefixes.
func words(g Gomega, folder string, prefixes ...string) []string {
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	g.Expect(err).NotTo(HaveOccurred())
	return wordsIn(g, files, prefixes...)
}

// wordsIn are those of some files.
func wordsIn(g Gomega, files []string, prefixes ...string) []string {
	var values []string
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		g.Expect(err).NotTo(HaveOccurred())
		ast.Inspect(file, func(node ast.Node) bool {
			spec, isValue := node.(*ast.ValueSpec)
			if !isValue || len(spec.Values) != 1 {
				return true
			}
			literal, isLiteral := spec.Values[0].(*ast.BasicLit)
			for _, prefix := range prefixes {
				if isLiteral && literal.Kind == token.STRING && strings.HasPrefix(spec.Names[0].Name, prefix) {
					value, _ := strconv.Unquote(literal.Value)
					values = append(values, value)
				}
			}
			return true
		})
	}
	g.Expect(values).NotTo(BeEmpty())
	return values
}

func TestTheSpecificationNamesEveryWordOfTheStatus(t *testing.T) {
	g := NewWithT(t)
	page := read(g, "docs/spec/criticalservice.md")
	for _, word := range words(g, "api/v2", "State", "Reason", "Condition") {
		g.Expect(page).To(ContainSubstring("`"+word+"`"), "docs/spec/criticalservice.md does not explain %s", word)
	}
}

func TestTheSpecificationNamesEveryEvent(t *testing.T) {
	g := NewWithT(t)
	page := read(g, "docs/spec/criticalservice.md")
	for _, word := range append(words(g, "controllers/criticalservice/protect", "event"), words(g, "controllers/responder", "event")...) {
		g.Expect(page).To(ContainSubstring("`"+word+"`"), "docs/spec/criticalservice.md does not explain event %s", word)
	}
}

func TestEveryReasonToActHasARunbook(t *testing.T) {
	g := NewWithT(t)
	index := read(g, "docs/runbooks/README.md")
	for _, reason := range append([]string{"Exposed"}, protection.ReasonsToAct...) {
		g.Expect(index).To(ContainSubstring(reason + ".md"))
		g.Expect(read(g, "docs/runbooks/"+reason+".md")).To(ContainSubstring(reason))
	}
}

func TestTheSpecificationListsWhatNoWaitingEnds(t *testing.T) {
	g := NewWithT(t)
	row := regexp.MustCompile("(?m)^\\| `Stalled` \\| True \\| (.*?) \\|").FindStringSubmatch(read(g, "docs/spec/criticalservice.md"))
	g.Expect(row).NotTo(BeNil())
	var documented []string
	for _, match := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(row[1], -1) {
		documented = append(documented, match[1])
	}
	var listed []string
	for _, reason := range append([]string{"SelectorInvalid", "TooMany", "TurnedOff", "NamespaceNotWatched"}, protection.ReasonsToAct...) {
		// Content that is not valid leaves no Service without a fallback.
		if protection.NeedsChange(reason) && reason != "PageContentInvalid" {
			listed = append(listed, reason)
		}
	}
	g.Expect(documented).To(Equal(listed))
	for _, reason := range words(g, "api/v2", "Maintenance", "Restore") {
		if protection.NeedsChange(reason) {
			g.Expect(read(g, "docs/spec/maintenance.md")).To(MatchRegexp("(?m)^`Stalled` .*`"+reason+"`"), "docs/spec/maintenance.md does not say that %s is Stalled", reason)
		}
	}
}

func TestEverySettingIsDocumented(t *testing.T) {
	g := NewWithT(t)
	page := read(g, "docs/settings.md")
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	settings.Bind(flags, func(string) (string, bool) { return "", false })
	usage := regexp.MustCompile(`\(env ([A-Z_]+)(?:, default (.*))?\)$`)
	flags.VisitAll(func(flag *pflag.Flag) {
		parts := usage.FindStringSubmatch(flag.Usage)
		g.Expect(parts).To(HaveLen(3), flag.Usage)
		g.Expect(page).To(ContainSubstring("--"+flag.Name), "docs/settings.md does not explain --%s", flag.Name)
		g.Expect(page).To(ContainSubstring(parts[1]), "docs/settings.md does not explain %s", parts[1])
		g.Expect(page).To(ContainSubstring("`"+parts[2]+"`"), "docs/settings.md does not give the default of %s", parts[1])
	})
}

func TestTheSpecificationNamesEveryAnnotationAndLabel(t *testing.T) {
	g := NewWithT(t)
	page := read(g, "docs/spec/criticalservice.md")
	source := read(g, "api/v2/names.go") + read(g, "api/v1/conversion.go")
	names := regexp.MustCompile(`ReservedPrefix \+ "([^"]+)"`).FindAllStringSubmatch(source, -1)
	g.Expect(len(names)).To(BeNumerically(">", 10))
	for _, name := range names {
		g.Expect(page).To(ContainSubstring("mycrd.com/"+name[1]), "docs/spec/criticalservice.md does not explain %s", name[1])
	}
}

// specified are, by page of the specification, the files whose fields it names.
var specified = map[string][]string{
	"docs/spec/criticalservice.md": {
		"api/v1/criticalservice_types.go", "api/v2/criticalservice_types.go", "api/v2/protection_types.go", "api/v2/status_types.go", "api/v2/causes.go",
	},
	"docs/spec/servicefallback.md": {"api/v2/servicefallback_types.go"},
	"docs/spec/maintenance.md":     {"api/v2/maintenance_types.go"},
	"docs/spec/database.md": {
		"workloads/api/v1/database_types.go", "workloads/api/v1/pod_types.go", "workloads/api/v1/protection_types.go",
	},
	"docs/spec/webapp.md": {"workloads/api/v1/webapp_types.go"},
}

// standard are the fields that every object has.
var standard = []string{"items", "metadata", "spec", "status"}

// fieldsOf are the fields of the types in some files, as users write them.
func fieldsOf(g Gomega, files []string) []string {
	var fields []string
	for _, file := range files {
		found := regexp.MustCompile(`json:"([a-zA-Z]+)`).FindAllStringSubmatch(read(g, file), -1)
		g.Expect(found).NotTo(BeEmpty(), file)
		for _, field := range found {
			if !slices.Contains(standard, field[1]) {
				fields = append(fields, field[1])
			}
		}
	}
	return fields
}

func TestTheSpecificationNamesEveryField(t *testing.T) {
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join(root, "api/*/*_types.go"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	named := slices.Concat(slices.Collect(maps.Values(specified))...)
	for _, file := range files {
		g.Expect(named).To(ContainElement(strings.TrimPrefix(filepath.ToSlash(file), root+"/")), "a file of types belongs to a page")
	}
	for page, files := range specified {
		text := read(g, page)
		for _, field := range fieldsOf(g, files) {
			g.Expect(text).To(MatchRegexp("`([a-zA-Z]+(\\[\\])?[.])*[.]?"+field+"[`.\\[]"), "%s does not explain %s", page, field)
		}
	}
}

// A ServiceFallback has the fields of a CriticalService besides its own, and its page has a row for each.
func TestTheSpecificationOfServiceFallbacksHasARowForEveryField(t *testing.T) {
	g := NewWithT(t)
	page := read(g, "docs/spec/servicefallback.md")
	fields := 0
	for _, field := range reflect.VisibleFields(reflect.TypeFor[criticalv2.ServiceFallbackSpec]()) {
		if field.Anonymous {
			continue
		}
		fields++
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		g.Expect(page).To(MatchRegexp("(?m)^\\|[^|]*`"+name+"`[^|]*\\|"), "docs/spec/servicefallback.md has no row for %s", name)
	}
	g.Expect(fields).To(BeNumerically(">=", 5))
}

func TestTheSpecificationOfMaintenancesNamesEveryWord(t *testing.T) {
	g := NewWithT(t)
	page := read(g, "docs/spec/maintenance.md")
	for _, word := range append(words(g, "api/v2", "Maintenance", "Restore", "Purpose"), words(g, "controllers/maintenance", "event")...) {
		g.Expect(page).To(ContainSubstring("`"+word+"`"), "docs/spec/maintenance.md does not explain %s", word)
	}
}

func TestTheSpecificationOfDatabasesNamesEveryWord(t *testing.T) {
	g := NewWithT(t)
	page := read(g, "docs/spec/database.md")
	shared := filepath.Join(root, "workloads/api/v1/conditions.go")
	own := slices.Concat(wordsIn(g, []string{shared}, "Condition", "Reason"), words(g, "workloads/api/v1", "Database", "Deletion"),
		words(g, "workloads/controllers/database", "event"))
	for _, word := range own {
		g.Expect(page).To(ContainSubstring("`"+word+"`"), "docs/spec/database.md does not explain %s", word)
	}
}

func TestThePolicyThatRestrictsTeamsIsTheSample(t *testing.T) {
	g := NewWithT(t)
	sample := "config/samples/admission/teams.yaml"
	g.Expect(read(g, "docs/spec/servicefallback.md")).To(ContainSubstring("```yaml\n"+read(g, sample)+"```\n"), "the page shows %s as it is", sample)
}
