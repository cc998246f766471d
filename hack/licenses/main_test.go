package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
)

var host = []string{"GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH}

func TestTheOperatorsLicensesAreThoseOfAllItsModules(t *testing.T) {
	g := NewWithT(t)
	output := filepath.Join(t.TempDir(), "THIRD_PARTY_LICENSES")
	g.Expect(run(t.Context(), "../..", host, []string{output, ".", "./cmd/responder"})).To(Succeed())
	written, err := os.ReadFile(output)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(written)).To(And(
		ContainSubstring("\nGo's standard library "+runtime.Version()+": LICENSE\n"),
		ContainSubstring("Redistribution and use in source and binary forms"),
		ContainSubstring("Apache License"),
		// Code that a module has from elsewhere.
		MatchRegexp(`(?m)^k8s\.io/apimachinery v\S+: third_party/forked/golang/LICENSE$`),
		Not(ContainSubstring(own)),
	))

	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", ".", "./cmd/responder")
	list.Dir = "../.."
	modules, err := list.Output()
	g.Expect(err).NotTo(HaveOccurred())
	compiled := regexp.MustCompile(`\S+ v\S+`).FindAllString(string(modules), -1)
	g.Expect(len(compiled)).To(BeNumerically(">", 50))
	for _, module := range compiled {
		g.Expect(string(written)).To(ContainSubstring("\n" + module + ": "))
	}
}

// module is the files of a module with a dependency, which has these files.
func module(t *testing.T, dependency map[string]string) string {
	t.Helper()
	files := map[string]string{
		"go.mod":                "module example.com/main\n\ngo 1.26\n\nrequire example.com/dependency v1.2.3\n\nreplace example.com/dependency => ./dependency\n",
		"main.go":               "package main\n\nimport _ \"example.com/dependency/inner\"\n\nfunc main() {}\n",
		"dependency/go.mod":     "module example.com/dependency\n",
		"dependency/inner/a.go": "package inner\n",
	}
	for name, content := range dependency {
		files["dependency/"+name] = content
	}
	folder := t.TempDir()
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestWhatHasToGoWithACopyIsFound(t *testing.T) {
	for sentence, c := range map[string]struct {
		dependency map[string]string
		names      []string
		refused    bool
	}{
		"a licence and a notice": {
			map[string]string{"LICENSE.md": "One", "NOTICE": "Two", "README.md": "Three"},
			[]string{"LICENSE.md", "NOTICE"}, false,
		},
		"in British English, and of a folder": {
			map[string]string{"Licence.txt": "One", "inner/COPYING": "Two", "other/LICENSE": "Three"},
			[]string{"Licence.txt", "inner/COPYING"}, false,
		},
		"not a file of Go with such a name": {map[string]string{"inner/license.go": "package inner\n"}, nil, true},
		"without any it is refused":         {nil, nil, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			output := filepath.Join(t.TempDir(), "out")
			err := run(t.Context(), module(t, c.dependency), host, []string{output, "."})
			if c.refused {
				g.Expect(err).To(MatchError(ContainSubstring("example.com/dependency v1.2.3 has no licence")))
				g.Expect(output).NotTo(BeAnExistingFile())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			written, err := os.ReadFile(output)
			g.Expect(err).NotTo(HaveOccurred())
			var names []string
			for _, found := range regexp.MustCompile(`(?m)^example\.com/dependency v1\.2\.3: (\S+)$`).FindAllStringSubmatch(string(written), -1) {
				names = append(names, found[1])
			}
			g.Expect(names).To(ConsistOf(c.names))
		})
	}
}
