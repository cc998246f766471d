package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/protection"
)

// actions are the words that the code gives to events as their action: the fifth
// argument of every call of Emit.
func actions(g Gomega) []string {
	var found []string
	folder := filepath.Join(root, "controllers")
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, path), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, isCall := node.(*ast.CallExpr)
			if !isCall || len(call.Args) < 6 {
				return true
			}
			if method, isMethod := call.Fun.(*ast.SelectorExpr); isMethod && method.Sel.Name == "Emit" {
				literal, isLiteral := call.Args[4].(*ast.BasicLit)
				g.Expect(isLiteral).To(BeTrue(), "%s: the action of an event must be a plain word", path)
				action, _ := strconv.Unquote(literal.Value)
				found = append(found, action)
			}
			return true
		})
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	slices.Sort(found)
	return slices.Compact(found)
}

func TestTheTableOfEventsIsThatOfTheCode(t *testing.T) {
	g := NewWithT(t)
	_, table, _ := strings.Cut(read(g, "docs/events.md"), "## All of them")
	table, _, _ = strings.Cut(table, "\n## ")
	var own, reasons, documented []string
	for _, kind := range []string{"criticalservice/protect", "criticalservice/provision", "maintenance", "monitoring", "responder"} {
		own = append(own, words(g, "controllers/"+kind, "event")...)
	}
	reasons = append(slices.Clone(own), words(g, "api/v2", "Reason", "ConditionReason", "Cause")...)

	var listed []string
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| `") && len(cells) == 8 {
			documented = append(documented, regexp.MustCompile("[A-Za-z]+").FindAllString(cells[1], -1)...)
			listed = append(listed, strings.Trim(cells[5], " `"))
		}
	}
	g.Expect(own).NotTo(BeEmpty())
	for _, reason := range own {
		g.Expect(documented).To(ContainElement(reason), "docs/events.md does not list event %s", reason)
	}
	for _, reason := range documented {
		g.Expect(reasons).To(ContainElement(reason), "docs/events.md lists event %s, which the code does not have", reason)
	}
	slices.Sort(listed)
	g.Expect(slices.Compact(listed)).To(Equal(actions(g)), "the actions of docs/events.md and those of the code")
}

func TestEveryReasonToActIsInTheTableOfEvents(t *testing.T) {
	g := NewWithT(t)
	page := read(g, "docs/events.md")
	g.Expect(len(protection.ReasonsToAct)).To(BeNumerically(">", 10))
	for _, reason := range protection.ReasonsToAct {
		g.Expect(page).To(ContainSubstring("`"+reason+"`"), "docs/events.md does not list %s", reason)
	}
}

func TestTheSpecificationNamesEveryCause(t *testing.T) {
	g := NewWithT(t)
	page := read(g, "docs/spec/criticalservice.md")
	for _, cause := range words(g, "api/v2", "Cause") {
		g.Expect(page).To(ContainSubstring("`"+cause+"`"), "docs/spec/criticalservice.md does not name cause %s", cause)
	}
}

// The bounds that the page promises are those of the code.
func TestTheBoundsOfEventsAreThoseOfTheCode(t *testing.T) {
	g := NewWithT(t)
	page, source := read(g, "docs/events.md"), read(g, "internal/controller/events/series.go")
	for _, promise := range []struct{ inCode, inPage string }{
		{"AtOnce = 5\n", "at most 5 times at once"},
		{"Every = 5 * time.Minute\n", "once every 5 minutes"},
		{"seriesEnds = 10 * time.Minute\n", "a silence of 10 minutes"},
	} {
		g.Expect(source).To(ContainSubstring(promise.inCode))
		g.Expect(page).To(ContainSubstring(promise.inPage))
	}
}
