package architecture

import (
	"go/ast"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// CheckTimeIsAValue keeps the clock out of the folders that are pure: time reaches
// decisions in the Snapshot.
func (m Module) CheckTimeIsAValue(t *testing.T, isPure func(folder string) bool) {
	t.Helper()
	m.eachFile(t, func(path string, file *ast.File) {
		if !isPure(filepath.ToSlash(filepath.Dir(path))) {
			return
		}
		ast.Inspect(file, func(node ast.Node) bool {
			selector, isSelector := node.(*ast.SelectorExpr)
			if !isSelector {
				return true
			}
			if name, isName := selector.X.(*ast.Ident); isName && (name.Name == "time" || name.Name == "metav1") &&
				slices.Contains([]string{"Now", "Since", "Until", "After", "Sleep"}, selector.Sel.Name) {
				t.Errorf("%s calls %s.%s, but time is a value of the Snapshot", path, name.Name, selector.Sel.Name)
			}
			return true
		})
	})
}

var parsers = regexp.MustCompile(`^(Has(Prefix|Suffix)|Contains|ContainsAny|Cut(Prefix|Suffix)?|Trim(Prefix|Suffix)|Split|SplitN|Fields|Index|EqualFold|` +
	`(Match|Find|FindAll|ReplaceAll)String\w*)$`)

// CheckMessagesAreNotParsed keeps code from reading facts out of sentences: what another
// part has to know is a field. api validates the messages that users write, and may.
func (m Module) CheckMessagesAreNotParsed(t *testing.T, mayParse ...string) {
	t.Helper()
	m.eachFile(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			call, isCall := node.(*ast.CallExpr)
			if !isCall || slices.Contains(mayParse, path) || Under("api")(path) {
				return true
			}
			function, isSelector := call.Fun.(*ast.SelectorExpr)
			if !isSelector || !parsers.MatchString(function.Sel.Name) {
				return true
			}
			for _, argument := range call.Args {
				if field, isField := argument.(*ast.SelectorExpr); isField && field.Sel.Name == "Message" {
					t.Errorf("%s calls %s of a message, but facts are fields", path, function.Sel.Name)
				}
			}
			return true
		})
	})
}

// CheckControllersDoNotSleep keeps sleeps and blind requeues out of controllers: a watch
// or a reasoned RequeueAfter wakes them.
func (m Module) CheckControllersDoNotSleep(t *testing.T) {
	t.Helper()
	m.eachFile(t, func(path string, file *ast.File) {
		if !strings.HasPrefix(path, "controllers/") {
			return
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.SelectorExpr:
				if name, isName := node.X.(*ast.Ident); isName && name.Name == "time" && node.Sel.Name == "Sleep" {
					t.Errorf("%s sleeps, but a controller is woken", path)
				}
			case *ast.KeyValueExpr:
				if key, isName := node.Key.(*ast.Ident); isName && key.Name == "Requeue" {
					t.Errorf("%s sets Requeue, but says not when: use RequeueAfter, or a watch", path)
				}
			}
			return true
		})
	})
}

// CheckEveryPackageHasAComment checks that each package says what it is for.
func (m Module) CheckEveryPackageHasAComment(t *testing.T) {
	t.Helper()
	documented := map[string]bool{}
	m.eachFile(t, func(path string, file *ast.File) {
		folder := filepath.Dir(path)
		documented[folder] = documented[folder] || file.Doc.Text() != ""
	})
	for folder, hasDoc := range documented {
		if !hasDoc {
			t.Errorf("package %s has no package comment that says what it is for", folder)
		}
	}
}
