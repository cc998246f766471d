package controllers_test

import (
	"strings"
	"testing"

	"github.com/critical-service/operator/test/architecture"
)

const (
	core   = "github.com/critical-service/operator/"
	module = core + "workloads/"
)

var code = architecture.Module{Path: module, Folder: "..", Tops: []string{"main.go", "api", "cmd", "controllers", "internal"}}

// ofCore reports whether a package is the core's: from another module of this repository.
func ofCore(imported string) bool {
	return strings.HasPrefix(imported, core) && !strings.HasPrefix(imported, module)
}

var rules = append(code.Rules(), []architecture.Rule{
	{
		Sentence: "the two operators talk through API objects: of the core this one takes the API, the mechanics of controllers, " +
			"the process and what is pure, and neither its kinds nor its programs",
		In: func(string) bool { return true },
		Forbids: func(_, imported string) bool {
			return ofCore(imported) && !architecture.AnyOf(core+"api", core+"internal/connections", core+"internal/controller", core+"internal/operator",
				core+"internal/contract", core+"internal/etcd", core+"internal/kubelet", core+"internal/text", core+"internal/version")(imported)
		},
		Offence: architecture.Offence{Folder: "controllers/database", Imported: core + "controllers/responder"},
	},
	{
		Sentence: "of the process this operator takes what every operator is made of, and nothing that is the core's alone",
		In:       func(string) bool { return true },
		Forbids: func(_, imported string) bool {
			return imported == core+"internal/operator" ||
				architecture.AnyOf(core+"internal/operator/settings", core+"internal/operator/webhook/policy")(imported)
		},
		Offence: architecture.Offence{Folder: "internal/operator", Imported: core + "internal/operator/settings"},
	},
	{
		Sentence: "the meter is in the Pods of users: it has no client of the API server, nor anything else of Kubernetes",
		In: func(folder string) bool {
			return architecture.AnyOf("internal/meter", "internal/metering", "cmd/meter")(folder)
		},
		Forbids: func(_, imported string) bool {
			return strings.Contains(imported, ".") && !architecture.AnyOf(module+"internal/meter", module+"internal/metering", core+"internal/connections")(imported)
		},
		Offence: architecture.Offence{Folder: "internal/meter", Imported: "k8s.io/client-go/rest"},
	},
	{
		Sentence: "what moves snapshots is in the Pods of users: it has nothing of Kubernetes",
		In: func(folder string) bool {
			return architecture.AnyOf("internal/transfer", "internal/etcdclient", "cmd/snapshot")(folder)
		},
		Forbids: func(_, imported string) bool { return strings.Contains(imported, "k8s.io/") },
		Offence: architecture.Offence{Folder: "internal/transfer", Imported: "k8s.io/client-go/rest"},
	},
	{
		Sentence: "the library of API servers is imported where APIs are served, and nowhere else",
		In:       func(folder string) bool { return !architecture.Under("internal/apiserver")(folder) },
		Forbids: func(_, imported string) bool {
			return architecture.AnyOf("k8s.io/apiserver/pkg/server", "k8s.io/apiserver/pkg/registry")(imported)
		},
		Offence: architecture.Offence{Folder: "controllers/database", Imported: "k8s.io/apiserver/pkg/server"},
	},
	{
		Sentence: "what kinds share knows none of them: below internal no controller is imported but by the operator",
		In: func(folder string) bool {
			return strings.HasPrefix(folder, "internal/") && folder != "internal/operator"
		},
		Forbids: func(_, imported string) bool { return architecture.AnyOf(module + "controllers")(imported) },
		Offence: architecture.Offence{Folder: "internal/core", Imported: module + "controllers/database"},
	},
}...)

func TestArchitecture(t *testing.T) { code.CheckImports(t, rules) }

func TestTheRulesBite(t *testing.T) { architecture.CheckOffences(t, rules) }

func TestTimeIsAValue(t *testing.T) { code.CheckTimeIsAValue(t, architecture.IsPure) }

func TestMessagesAreNotParsed(t *testing.T) { code.CheckMessagesAreNotParsed(t) }

func TestControllersDoNotSleep(t *testing.T) { code.CheckControllersDoNotSleep(t) }

func TestEveryPackageHasAComment(t *testing.T) { code.CheckEveryPackageHasAComment(t) }
