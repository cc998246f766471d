// Package architecture holds the product code of a module to rules: who may import whom, as
// sentences, and what no code of a kind may do. Both operators are held to it, each with
// rules of its own besides.
package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// core is what the import path of every package of this repository begins with.
const core = "github.com/critical-service/operator/"

// Module is a Go module of this repository that is laid out as a project of Operator SDK.
type Module struct {
	// Path is what the import paths of its packages begin with; it ends with a slash.
	Path string
	// Folder is where it is, from the folder of the test.
	Folder string
	// Tops are the folders and files of its product code.
	Tops []string
}

// Rule is one sentence about which package may import which. Folders are relative to
// the module; test files are not checked.
type Rule struct {
	Sentence string
	// In reports whether the rule is about a folder.
	In func(folder string) bool
	// Forbids reports whether a file of that folder must not import a package.
	Forbids func(folder, imported string) bool
	// Offence is an import that the rule forbids, by which it is seen to bite.
	Offence Offence
}

// Offence is an import in a folder.
type Offence struct{ Folder, Imported string }

// APIClient reports whether a package talks to the API server, or is made for that.
var APIClient = AnyOf("k8s.io/client-go", "sigs.k8s.io/controller-runtime")

// InputOutput reports whether a package of the standard library, or of logs, reads or
// writes anything, or depends on more than its arguments.
var InputOutput = AnyOf("github.com/go-logr", "k8s.io/klog", "context", "os", "io", "log", "sync", "math/rand")

// Rules are those of every module.
func (m Module) Rules() []Rule {
	return []Rule{
		{
			Sentence: "api holds types and names: it imports no client and nothing of the operator",
			In:       Under("api"),
			Forbids: func(_, imported string) bool {
				return APIClient(imported) || strings.HasPrefix(imported, core) &&
					!strings.HasPrefix(imported, core+"api/") && !strings.HasPrefix(imported, m.Path+"api/")
			},
			Offence: Offence{Folder: "api/v1", Imported: "sigs.k8s.io/controller-runtime/pkg/client"},
		},
		{
			Sentence: "decide, summary and render are pure: they import no client, no log and no I/O",
			In:       IsPure,
			Forbids: func(_, imported string) bool {
				return APIClient(imported) || InputOutput(imported) || AnyOf("net")(imported)
			},
			Offence: Offence{Folder: "controllers/kind/internal/summary", Imported: "github.com/go-logr/logr"},
		},
		{
			Sentence: "render knows nothing of decide: what is wanted does not depend on what is there",
			In:       func(folder string) bool { return strings.HasSuffix(folder, "/internal/render") },
			Forbids:  func(_, imported string) bool { return strings.HasSuffix(imported, "/internal/decide") },
			Offence:  Offence{Folder: "controllers/kind/internal/render", Imported: m.Path + "controllers/kind/internal/decide"},
		},
		{
			Sentence: "kinds never import each other: they talk through API objects",
			In:       func(folder string) bool { return kindOf(folder) != "" },
			Forbids: func(folder, imported string) bool {
				other, isOurs := strings.CutPrefix(imported, m.Path)
				return isOurs && kindOf(other) != "" && kindOf(other) != kindOf(folder)
			},
			Offence: Offence{Folder: "controllers/kind/protect", Imported: m.Path + "controllers/another"},
		},
		{
			Sentence: "controllers know nothing of flags, logging set-up or the process: settings reach them as values",
			In:       Under("controllers"),
			Forbids: func(_, imported string) bool {
				return AnyOf("github.com/spf13", "go.uber.org/zap", core+"internal/operator",
					m.Path+"internal/operator", m.Path+"internal/settings")(imported)
			},
			Offence: Offence{Folder: "controllers/kind", Imported: core + "internal/operator/settings"},
		},
	}
}

// CheckImports holds every import to the rules.
func (m Module) CheckImports(t *testing.T, rules []Rule) {
	t.Helper()
	m.eachFile(t, func(path string, file *ast.File) {
		folder := filepath.ToSlash(filepath.Dir(path))
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			for _, rule := range rules {
				if rule.In(folder) && rule.Forbids(folder, imported) {
					t.Errorf("%s imports %s, but %s", path, imported, rule.Sentence)
				}
			}
		}
	})
}

// CheckOffences makes sure that every rule forbids something.
func CheckOffences(t *testing.T, rules []Rule) {
	t.Helper()
	for _, rule := range rules {
		if offence := rule.Offence; !rule.In(offence.Folder) || !rule.Forbids(offence.Folder, offence.Imported) {
			t.Errorf("%s may import %s, but %s", offence.Folder, offence.Imported, rule.Sentence)
		}
	}
}

// IsPure reports whether a folder under controllers holds decisions: values in, values
// out.
func IsPure(folder string) bool {
	return Under("controllers")(folder) && slices.Contains([]string{"decide", "render", "scale", "summary"}, filepath.Base(folder))
}

// Under reports whether a path is that of a folder, or below it.
func Under(folder string) func(string) bool {
	return func(path string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
}

// AnyOf reports whether a package is one of some, or below one.
func AnyOf(packages ...string) func(string) bool {
	return func(imported string) bool {
		return slices.ContainsFunc(packages, func(p string) bool { return Under(p)(imported) })
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

// eachFile calls f with every product file of the module: no test, nothing generated.
func (m Module) eachFile(t *testing.T, f func(path string, file *ast.File)) {
	t.Helper()
	for _, top := range m.Tops {
		err := fs.WalkDir(os.DirFS(m.Folder), top, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") ||
				strings.HasSuffix(path, "_test.go") || strings.HasPrefix(entry.Name(), "zz_generated") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(m.Folder, path), nil, parser.ParseComments)
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
