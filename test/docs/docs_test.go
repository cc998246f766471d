// Package docs_test holds the documentation against the code.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

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

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// picture is one that is written in HTML.
	picture = regexp.MustCompile(`\b(?:src|srcset)="([^"]+)"`)
	fence   = regexp.MustCompile("(?s)```.*?```")
)

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	g := NewWithT(t)
	links := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (path == "bin" || path == "dist" || path == ".git") {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		page := fence.ReplaceAllString(read(g, path), "")
		for _, match := range append(link.FindAllStringSubmatch(page, -1), picture.FindAllStringSubmatch(page, -1)...) {
			target, _, _ := strings.Cut(match[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			links++
			_, err := os.Stat(filepath.Join(root, filepath.Dir(path), target))
			g.Expect(err).NotTo(HaveOccurred(), "%s links to %s", path, match[1])
		}
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(links).To(BeNumerically(">", 20))
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

func TestTheSpecificationNamesEveryField(t *testing.T) {
	g := NewWithT(t)
	page := read(g, "docs/spec/criticalservice.md")
	fields := regexp.MustCompile(`json:"([a-zA-Z]+)`).FindAllStringSubmatch(read(g, "api/v2/criticalservice_types.go")+read(g, "api/v2/status_types.go")+read(g, "api/v1/criticalservice_types.go"), -1)
	g.Expect(len(fields)).To(BeNumerically(">", 30))
	for _, field := range fields {
		if field[1] != "items" && field[1] != "metadata" && field[1] != "spec" && field[1] != "status" {
			g.Expect(page).To(MatchRegexp("`([a-zA-Z]+(\\[\\])?)?[.]?"+field[1]+"[`.\\[]"), "docs/spec/criticalservice.md does not explain %s", field[1])
		}
	}
}

func TestTheSpecificationOfMaintenancesNamesEveryFieldAndWord(t *testing.T) {
	g := NewWithT(t)
	page := read(g, "docs/spec/maintenance.md")
	fields := regexp.MustCompile(`json:"([a-zA-Z]+)`).FindAllStringSubmatch(read(g, "api/v2/maintenance_types.go"), -1)
	g.Expect(len(fields)).To(BeNumerically(">", 20))
	for _, field := range fields {
		if field[1] != "items" && field[1] != "metadata" && field[1] != "spec" && field[1] != "status" {
			g.Expect(page).To(ContainSubstring("`"+field[1]+"`"), "docs/spec/maintenance.md does not explain %s", field[1])
		}
	}
	for _, word := range append(words(g, "api/v2", "Maintenance", "Restore", "Purpose"), words(g, "controllers/maintenance", "event")...) {
		g.Expect(page).To(ContainSubstring("`"+word+"`"), "docs/spec/maintenance.md does not explain %s", word)
	}
}
