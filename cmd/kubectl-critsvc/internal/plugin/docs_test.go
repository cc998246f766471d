package plugin_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/explain"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/history"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/plugin"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/status"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/versions"
)

// chapters are the parts of docs/plugin.md by their headings.
func chapters(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "plugin.md"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	found := map[string]string{}
	for _, chapter := range strings.Split(string(content), "\n## ")[1:] {
		heading, text, _ := strings.Cut(chapter, "\n")
		found[heading] = text
	}
	return found
}

func TestEveryCommandAndFlagIsDocumented(t *testing.T) {
	found := chapters(t)
	for _, command := range plugin.Command(genericiooptions.NewTestIOStreamsDiscard()).Commands() {
		t.Run(command.Name(), func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(found).To(HaveKey(command.Name()))
			eachFlag(command, func(flag *pflag.Flag) {
				name := "--" + flag.Name
				if flag.Shorthand != "" {
					name = "(" + name + "|-" + flag.Shorthand + ")"
				}
				g.Expect(found[command.Name()]).To(MatchRegexp(name+`\b`), "flag --%s", flag.Name)
			})
		})
	}
}

// eachFlag visits the flags of a command and of those below it.
func eachFlag(command *cobra.Command, visit func(*pflag.Flag)) {
	command.LocalNonPersistentFlags().VisitAll(visit)
	for _, below := range command.Commands() {
		eachFlag(below, visit)
	}
}

func TestEveryFieldOfADocumentIsDocumented(t *testing.T) {
	found := chapters(t)
	for name, view := range map[string]any{
		"status": status.View{}, "explain": explain.View{}, "history": history.View{}, "version": versions.View{},
	} {
		t.Run(name, func(t *testing.T) {
			for _, field := range fields(reflect.TypeOf(view)) {
				NewWithT(t).Expect(found[name]).To(MatchRegexp("[`.]"+field+`(\[\])?[.`+"`"+`]`), "field %s", field)
			}
		})
	}
}

// fields are the names of the fields in the JSON of a type, at any depth.
func fields(of reflect.Type) []string {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return fields(of.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	if of.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1" {
		return nil // A time is a text.
	}
	var names []string
	for field := range of.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
		names = append(names, fields(field.Type)...)
	}
	return names
}

func TestTheExamplesOfTheDocumentationAreWhatTheCommandsPrint(t *testing.T) {
	found := chapters(t)
	for name, file := range map[string]string{
		"status": "../status/testdata/namespace.golden.txt", "explain": "../explain/testdata/covered.golden.txt", "history": "../history/testdata/all-namespaces.golden.txt",
	} {
		g := NewWithT(t)
		printed, err := os.ReadFile(filepath.FromSlash(file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found[name]).To(ContainSubstring(string(printed)), file)
	}
}
