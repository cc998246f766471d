package gitops

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// kstatus judges as Flux and Helm do where they have no other rule.
func kstatus(t *testing.T, object *unstructured.Unstructured) (verdict, message string) {
	t.Helper()
	result, err := status.Compute(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(result.Status), result.Message
}

// flux judges by the expressions of the page, as the kustomize-controller does.
func (p page) flux(t *testing.T, kind string) judge {
	t.Helper()
	for _, text := range p.blocks() {
		var kustomization struct {
			Spec struct {
				HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(text), &kustomization); err != nil {
			t.Fatal(err)
		}
		for _, check := range kustomization.Spec.HealthCheckExprs {
			if check.Kind != kind {
				continue
			}
			evaluator, err := cel.NewStatusEvaluator(&check.HealthCheckExpressions)
			if err != nil {
				t.Fatal(err)
			}
			return func(t *testing.T, object *unstructured.Unstructured) (verdict, message string) {
				t.Helper()
				if object.GetAPIVersion() != check.APIVersion {
					t.Fatalf("the expressions are for %s", check.APIVersion)
				}
				result, err := evaluator.Evaluate(t.Context(), object)
				if err != nil {
					t.Fatal(err)
				}
				return string(result.Status), ""
			}
		}
	}
	t.Fatalf("docs/gitops.md has no expressions for %s", kind)
	return nil
}

// argo judges by the Lua of the page, as Argo CD does: with its libraries, of which it has
// only these.
func (p page) argo(t *testing.T, kind string) judge {
	t.Helper()
	script := p.script(t, "resource.customizations.health.mycrd.com_"+kind)
	return func(t *testing.T, object *unstructured.Unstructured) (verdict, message string) {
		t.Helper()
		state := lua.NewState(lua.Options{SkipOpenLibs: true})
		defer state.Close()
		for name, open := range map[string]lua.LGFunction{
			lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
		} {
			if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
				t.Fatal(err)
			}
		}
		state.SetContext(t.Context())
		state.SetGlobal("obj", value(state, object.Object))
		if err := state.DoString(script); err != nil {
			t.Fatal(err)
		}
		health, isTable := state.Get(-1).(*lua.LTable)
		if !isTable {
			t.Fatalf("the script returned %s", state.Get(-1).Type())
		}
		return lua.LVAsString(health.RawGetString("status")), lua.LVAsString(health.RawGetString("message"))
	}
}

// script is the value of a key of argocd-cm.
func (p page) script(t *testing.T, key string) string {
	t.Helper()
	for _, text := range p.blocks() {
		var settings struct {
			Data map[string]string `json:"data"`
		}
		if err := yaml.Unmarshal([]byte(text), &settings); err != nil {
			t.Fatal(err)
		}
		if script, found := settings.Data[key]; found {
			return script
		}
	}
	t.Fatalf("docs/gitops.md has no %s", key)
	return ""
}

// value is a value of JSON in Lua.
func value(state *lua.LState, of any) lua.LValue {
	switch of := of.(type) {
	case string:
		return lua.LString(of)
	case bool:
		return lua.LBool(of)
	case int64:
		return lua.LNumber(of)
	case float64:
		return lua.LNumber(of)
	case []any:
		list := state.CreateTable(len(of), 0)
		for _, item := range of {
			list.Append(value(state, item))
		}
		return list
	case map[string]any:
		table := state.CreateTable(0, len(of))
		for key, item := range of {
			table.RawSetString(key, value(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}
