package controllers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/critical-service/operator/test/architecture"
)

const module = "github.com/critical-service/operator/"

var code = architecture.Module{Path: module, Folder: "..", Tops: []string{"main.go", "api", "cmd", "controllers", "internal"}}

// The programs: the operator, the responder and the kubectl plugin.
var (
	ofOperator  = architecture.AnyOf(module+"controllers", module+"internal/operator", module+"internal/controller")
	ofResponder = architecture.AnyOf(module+"internal/responder", module+"cmd/responder")
	ofPlugin    = architecture.AnyOf(module + "cmd/kubectl-critsvc")
)

var rules = slices.Concat(code.Rules(), []architecture.Rule{
	{
		Sentence: "the mechanics of controllers know no kind: internal/controller imports nothing else of this module but text",
		In:       architecture.Under("internal/controller"),
		Forbids: func(_, imported string) bool {
			return strings.HasPrefix(imported, module) && !architecture.AnyOf(module+"internal/controller", module+"internal/text")(imported)
		},
		Offence: architecture.Offence{Folder: "internal/controller/fault", Imported: module + "api/v2"},
	},
	{
		Sentence: "what the process does for all kinds knows none of them: below internal/operator no controller is imported",
		In:       func(folder string) bool { return strings.HasPrefix(folder, "internal/operator/") },
		Forbids:  func(_, imported string) bool { return architecture.AnyOf(module + "controllers")(imported) },
		Offence:  architecture.Offence{Folder: "internal/operator/webhook", Imported: module + "controllers/criticalservice"},
	},
	{
		Sentence: "the process that every operator is made of knows nothing of one of them: neither kinds nor settings of its own",
		In:       func(folder string) bool { return isProcess(module + folder) },
		Forbids: func(_, imported string) bool {
			return strings.HasPrefix(imported, module) && !isProcess(imported) &&
				!architecture.AnyOf(module+"internal/connections", module+"internal/controller", module+"internal/version")(imported)
		},
		Offence: architecture.Offence{Folder: "internal/operator/storageversion", Imported: module + "api/v2"},
	},
	{
		Sentence: "the operator is built from nothing of the responder or the plugin",
		In:       func(folder string) bool { return ofOperator(module + folder) },
		Forbids:  func(_, imported string) bool { return ofResponder(imported) || ofPlugin(imported) },
		Offence:  architecture.Offence{Folder: "internal/operator", Imported: module + "internal/responder"},
	},
	{
		Sentence: "the plugin is a client of the API: it is built from nothing of the operator or the responder",
		In:       func(folder string) bool { return ofPlugin(module + folder) },
		Forbids:  func(_, imported string) bool { return ofOperator(imported) || ofResponder(imported) },
		Offence:  architecture.Offence{Folder: "cmd/kubectl-critsvc/internal/status", Imported: module + "internal/operator/settings"},
	},
	{
		Sentence: "the responder is no client of the API server: it reads mounted files and answers",
		In:       func(folder string) bool { return ofResponder(module + folder) },
		Forbids: func(_, imported string) bool {
			return architecture.APIClient(imported) || ofPlugin(imported) || architecture.AnyOf(module+"controllers", module+"internal/controller", module+"internal/protection")(imported)
		},
		Offence: architecture.Offence{Folder: "cmd/responder", Imported: "sigs.k8s.io/controller-runtime/pkg/log/zap"},
	},
	{
		Sentence: "contracts, the rules of protection and diagnosis are pure: they import no client, no log and no I/O",
		In:       func(folder string) bool { return isContract(module + folder) },
		Forbids: func(_, imported string) bool {
			return architecture.APIClient(imported) || architecture.InputOutput(imported)
		},
		Offence: architecture.Offence{Folder: "internal/protection", Imported: "k8s.io/client-go/kubernetes"},
	},
	{
		Sentence: "contracts, the rules of protection and diagnosis import of this module only the API and each other",
		In:       func(folder string) bool { return isContract(module + folder) },
		Forbids: func(_, imported string) bool {
			return strings.HasPrefix(imported, module) && !strings.HasPrefix(imported, module+"api/") && !isContract(imported)
		},
		Offence: architecture.Offence{Folder: "internal/contract/page", Imported: module + "internal/probe"},
	},
	{
		Sentence: "what judges objects as GitOps tools do is for tests: no program is built from it",
		In:       func(string) bool { return true },
		Forbids: func(_, imported string) bool {
			return architecture.AnyOf("github.com/fluxcd", "github.com/yuin/gopher-lua")(imported)
		},
		Offence: architecture.Offence{Folder: ".", Imported: "github.com/fluxcd/cli-utils/pkg/kstatus/status"},
	},
	{
		Sentence: "what several programs are built from imports none of them",
		In:       func(folder string) bool { return isShared(module + folder) },
		Forbids: func(_, imported string) bool {
			return ofOperator(imported) || ofResponder(imported) || ofPlugin(imported)
		},
		Offence: architecture.Offence{Folder: "internal/probe", Imported: module + "internal/responder/protocol"},
	},
})

// isProcess reports whether a package is one that every operator is made of.
func isProcess(imported string) bool {
	const of = module + "internal/operator/"
	return imported == of+"webhook" ||
		architecture.AnyOf(of+"await", of+"crdcache", of+"lease", of+"manager", of+"olm", of+"serving", of+"setting", of+"storageversion")(imported)
}

// isContract reports whether a package holds words and rules on which several programs
// agree.
func isContract(imported string) bool {
	return imported == module+"internal/diagnosis" ||
		architecture.AnyOf(module+"internal/contract", module+"internal/kubelet", module+"internal/protection", module+"internal/text")(imported)
}

// isShared reports whether a package is one from which several programs are built, and
// that reads, asks or serves something.
func isShared(imported string) bool {
	return architecture.AnyOf(module+"internal/connections", module+"internal/diagnosis/evidence", module+"internal/etcd", module+"internal/probe", module+"internal/version")(imported)
}

func TestArchitecture(t *testing.T) { code.CheckImports(t, rules) }

func TestTheRulesBite(t *testing.T) { architecture.CheckOffences(t, rules) }

// Contracts are pure as well.
func TestTimeIsAValue(t *testing.T) {
	code.CheckTimeIsAValue(t, func(folder string) bool { return architecture.IsPure(folder) || isContract(module+folder) })
}

// Only the texts of Kubernetes that have no other form are read, in one file.
func TestMessagesAreNotParsed(t *testing.T) {
	code.CheckMessagesAreNotParsed(t, "internal/diagnosis/words.go")
}

func TestControllersDoNotSleep(t *testing.T) { code.CheckControllersDoNotSleep(t) }

func TestEveryPackageHasAComment(t *testing.T) { code.CheckEveryPackageHasAComment(t) }
