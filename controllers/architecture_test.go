package controllers_test

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
)

const module = "github.com/critical-service/operator/"

// rule is one sentence about which package may import which. Folders are relative to
// the root of the repository; test files are not checked.
type rule struct {
	sentence string
	// in reports whether the rule is about a folder.
	in func(folder string) bool
	// forbids reports whether a file of that folder must not import a package.
	forbids func(folder, imported string) bool
}

// The programs: the operator, the responder and the kubectl plugin.
var (
	ofOperator  = anyOf(module+"controllers", module+"internal/operator", module+"internal/controller")
	ofResponder = anyOf(module+"internal/responder", module+"cmd/responder")
	ofPlugin    = anyOf(module + "cmd/kubectl-critsvc")
	apiClient   = anyOf("k8s.io/client-go", "sigs.k8s.io/controller-runtime")
)

var rules = []rule{
	{
		sentence: "api holds types and names: it imports no client and nothing of the operator",
		in:       under("api"),
		forbids: func(_, imported string) bool {
			return apiClient(imported) || strings.HasPrefix(imported, module) && !strings.HasPrefix(imported, module+"api/")
		},
	},
	{
		sentence: "decide, summary and render are pure: they import no client, no log and no I/O",
		in:       isPure,
		forbids: func(_, imported string) bool {
			return apiClient(imported) || anyOf("github.com/go-logr", "k8s.io/klog",
				"context", "os", "net", "io", "log", "sync", "math/rand")(imported)
		},
	},
	{
		sentence: "render knows nothing of decide: what is wanted does not depend on what is there",
		in:       func(folder string) bool { return strings.HasSuffix(folder, "/internal/render") },
		forbids:  func(_, imported string) bool { return strings.HasSuffix(imported, "/internal/decide") },
	},
	{
		sentence: "kinds never import each other: they talk through API objects",
		in:       func(folder string) bool { return kindOf(folder) != "" },
		forbids: func(folder, imported string) bool {
			other, isOurs := strings.CutPrefix(imported, module)
			return isOurs && kindOf(other) != "" && kindOf(other) != kindOf(folder)
		},
	},
	{
		sentence: "the mechanics of controllers know no kind: internal/controller imports nothing else of this module but text",
		in:       under("internal/controller"),
		forbids: func(_, imported string) bool {
			return strings.HasPrefix(imported, module) && !anyOf(module+"internal/controller", module+"internal/text")(imported)
		},
	},
	{
		sentence: "controllers know nothing of flags, logging set-up or the process: settings reach them as values",
		in:       under("controllers"),
		forbids: func(_, imported string) bool {
			return anyOf("github.com/spf13", "go.uber.org/zap", module+"internal/operator")(imported)
		},
	},
	{
		sentence: "what the process does for all kinds knows none of them: below internal/operator no controller is imported",
		in:       func(folder string) bool { return strings.HasPrefix(folder, "internal/operator/") },
		forbids:  func(_, imported string) bool { return anyOf(module + "controllers")(imported) },
	},
	{
		sentence: "the operator is built from nothing of the responder or the plugin",
		in:       func(folder string) bool { return ofOperator(module + folder) },
		forbids:  func(_, imported string) bool { return ofResponder(imported) || ofPlugin(imported) },
	},
	{
		sentence: "the plugin is a client of the API: it is built from nothing of the operator or the responder",
		in:       func(folder string) bool { return ofPlugin(module + folder) },
		forbids:  func(_, imported string) bool { return ofOperator(imported) || ofResponder(imported) },
	},
	{
		sentence: "the responder is no client of the API server: it reads mounted files and answers",
		in:       func(folder string) bool { return ofResponder(module + folder) },
		forbids: func(_, imported string) bool {
			return apiClient(imported) || ofPlugin(imported) || anyOf(module+"controllers", module+"internal/controller", module+"internal/protection")(imported)
		},
	},
	{
		sentence: "contracts, the rules of protection and diagnosis are pure: they import no client, no log and no I/O",
		in:       func(folder string) bool { return isContract(module + folder) },
		forbids: func(_, imported string) bool {
			return apiClient(imported) || anyOf("github.com/go-logr", "k8s.io/klog",
				"context", "os", "io", "log", "sync", "math/rand")(imported)
		},
	},
	{
		sentence: "contracts, the rules of protection and diagnosis import of this module only the API and each other",
		in:       func(folder string) bool { return isContract(module + folder) },
		forbids: func(_, imported string) bool {
			return strings.HasPrefix(imported, module) && !strings.HasPrefix(imported, module+"api/") && !isContract(imported)
		},
	},
	{
		sentence: "what judges objects as GitOps tools do is for tests: no program is built from it",
		in:       func(string) bool { return true },
		forbids: func(_, imported string) bool {
			return anyOf("github.com/fluxcd", "github.com/yuin/gopher-lua")(imported)
		},
	},
	{
		sentence: "what several programs are built from imports none of them",
		in:       func(folder string) bool { return isShared(module + folder) },
		forbids: func(_, imported string) bool {
			return ofOperator(imported) || ofResponder(imported) || ofPlugin(imported)
		},
	},
}

// isPure reports whether a folder under controllers holds decisions: values in, values
// out.
func isPure(folder string) bool {
	return under("controllers")(folder) && slices.Contains([]string{"decide", "summary", "render"}, filepath.Base(folder))
}

// isContract reports whether a package holds words and rules on which several programs
// agree.
func isContract(imported string) bool {
	return imported == module+"internal/diagnosis" || anyOf(module+"internal/contract", module+"internal/protection", module+"internal/text")(imported)
}

// isShared reports whether a package is one from which several programs are built, and
// that reads or asks something.
func isShared(imported string) bool {
	return anyOf(module+"internal/diagnosis/evidence", module+"internal/probe", module+"internal/version")(imported)
}

// testenv is shared by the tests of all kinds, and starts what production runs.
const testenv = "test/testenv"

func TestArchitecture(t *testing.T) {
	eachFile(t, func(path string, file *ast.File) {
		folder := filepath.ToSlash(filepath.Dir(path))
		if folder == testenv {
			return
		}
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			for _, rule := range rules {
				if rule.in(folder) && rule.forbids(folder, imported) {
					t.Errorf("%s imports %s, but %s", path, imported, rule.sentence)
				}
			}
		}
	})
}

// TestTimeIsAValue keeps the clock out of decisions: time reaches them in the
// Snapshot.
func TestTimeIsAValue(t *testing.T) {
	eachFile(t, func(path string, file *ast.File) {
		folder := filepath.ToSlash(filepath.Dir(path))
		if !isPure(folder) && !isContract(module+folder) {
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

// TestMessagesAreNotParsed keeps code from reading facts out of sentences: what another
// part has to know is a field. Only the texts of Kubernetes that have no other form are
// read, in one file; and api validates the messages that users write.
func TestMessagesAreNotParsed(t *testing.T) {
	const texts = "internal/diagnosis/words.go"
	parsers := regexp.MustCompile(`^(Has(Prefix|Suffix)|Contains|ContainsAny|Cut(Prefix|Suffix)?|Trim(Prefix|Suffix)|Split|SplitN|Fields|Index|EqualFold|` +
		`(Match|Find|FindAll|ReplaceAll)String\w*)$`)
	eachFile(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			call, isCall := node.(*ast.CallExpr)
			if !isCall || path == texts || under("api")(path) {
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

// TestControllersDoNotSleep keeps sleeps and blind requeues out of controllers: a watch
// or a reasoned RequeueAfter wakes them.
func TestControllersDoNotSleep(t *testing.T) {
	eachFile(t, func(path string, file *ast.File) {
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

// TestEveryPackageHasAComment checks that each package says what it is for.
func TestEveryPackageHasAComment(t *testing.T) {
	documented := map[string]bool{}
	eachFile(t, func(path string, file *ast.File) {
		folder := filepath.Dir(path)
		documented[folder] = documented[folder] || file.Doc.Text() != ""
	})
	for folder, hasDoc := range documented {
		if !hasDoc {
			t.Errorf("package %s has no package comment that says what it is for", folder)
		}
	}
}

// TestTheRulesBite makes sure that every rule forbids something: the offences are in
// the order of the rules.
func TestTheRulesBite(t *testing.T) {
	offences := []struct{ folder, imported string }{
		{"api/v1", "sigs.k8s.io/controller-runtime/pkg/client"},
		{"controllers/criticalservice/internal/summary", "github.com/go-logr/logr"},
		{"controllers/criticalservice/internal/render", module + "controllers/criticalservice/internal/decide"},
		{"controllers/criticalservice/protect", module + "controllers/responder"},
		{"internal/controller/fault", module + "api/v2"},
		{"controllers/criticalservice", module + "internal/operator/settings"},
		{"internal/operator/webhook", module + "controllers/criticalservice"},
		{"internal/operator", module + "internal/responder"},
		{"cmd/kubectl-critsvc/internal/status", module + "internal/operator/settings"},
		{"cmd/responder", "sigs.k8s.io/controller-runtime/pkg/log/zap"},
		{"internal/protection", "k8s.io/client-go/kubernetes"},
		{"internal/contract/page", module + "internal/probe"},
		{".", "github.com/fluxcd/cli-utils/pkg/kstatus/status"},
		{"internal/probe", module + "internal/responder/protocol"},
	}
	for i, offence := range offences {
		if rule := rules[i]; !rule.in(offence.folder) || !rule.forbids(offence.folder, offence.imported) {
			t.Errorf("%s may import %s, but %s", offence.folder, offence.imported, rule.sentence)
		}
	}
	if len(offences) != len(rules) {
		t.Errorf("%d offences for %d rules", len(offences), len(rules))
	}
}

// eachFile calls f with every product file of the main module: no test, nothing
// generated.
func eachFile(t *testing.T, f func(path string, file *ast.File)) {
	t.Helper()
	for _, top := range []string{"main.go", "api", "cmd", "controllers", "internal"} {
		err := fs.WalkDir(os.DirFS(".."), top, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") ||
				strings.HasSuffix(path, "_test.go") || strings.HasPrefix(entry.Name(), "zz_generated") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", path), nil, parser.ParseComments)
			if err == nil {
				f(path, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func under(folder string) func(string) bool {
	return func(path string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
}

func anyOf(packages ...string) func(string) bool {
	return func(imported string) bool {
		return slices.ContainsFunc(packages, func(p string) bool { return under(p)(imported) })
	}
}

// kindOf is the kind that a folder under controllers belongs to, or empty.
func kindOf(folder string) string {
	rest, found := strings.CutPrefix(folder, "controllers/")
	if !found {
		return ""
	}
	kind, _, _ := strings.Cut(rest, "/")
	if kind == "internal" {
		return ""
	}
	return kind
}
