package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// A patch that does not apply any more mutates nothing.
func TestEveryPatchApplies(t *testing.T) {
	for _, p := range projects {
		g := NewWithT(t)
		mutants, err := load(filepath.Join("../..", p.patches), nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(len(mutants)).To(BeNumerically(">=", 10), p.patches)
		for _, m := range mutants {
			t.Run(m.name, func(t *testing.T) {
				g := NewWithT(t)
				g.Expect(m.sentence).To(MatchRegexp(`^[A-Z].*\.$`), "the first line says what goes wrong")
				root, folder := filepath.Join("../..", p.root), t.TempDir()
				_, err := m.seed(t.Context(), root, folder)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(m.files).NotTo(BeEmpty())
				for _, file := range m.files {
					original, err := os.ReadFile(filepath.Join(root, file))
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(os.ReadFile(filepath.Join(folder, file))).NotTo(Equal(original))
				}
			})
		}
	}
}

// A bug in a package whose tests do not run would survive.
func TestTheTestsOfEveryMutatedPackageRun(t *testing.T) {
	for _, p := range projects {
		g := NewWithT(t)
		mutants, err := load(filepath.Join("../..", p.patches), nil)
		g.Expect(err).NotTo(HaveOccurred())
		for _, m := range mutants {
			_, err := m.seed(t.Context(), filepath.Join("../..", p.root), t.TempDir())
			g.Expect(err).NotTo(HaveOccurred())
			for _, file := range m.files {
				runs := slices.ContainsFunc(slices.Concat(p.suite...), func(pattern string) bool {
					folder, isTree := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "/...")
					of := filepath.Dir(file)
					return of == folder || isTree && strings.HasPrefix(of, folder+"/")
				})
				g.Expect(runs).To(BeTrue(), "%s changes %s, whose tests are not in the suite", m.name, file)
			}
		}
	}
}

// module is a module of one function and its test.
var module = map[string]string{
	"go.mod":    "module example.com/m\n\ngo 1.26\n",
	"m.go":      "package m\n\nfunc Double(n int) int {\n\treturn 2 * n\n}\n",
	"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n\tif Double(3) != 6 {\n\t\tt.Fatal()\n\t}\n}\n",
}

// flaky is a test that fails the first time.
const flaky = `package m

import (
	"os"
	"testing"
)

func TestDouble(t *testing.T) {
	if os.Mkdir("ran", 0o700) == nil {
		t.Fatal()
	}
}
`

func patched(by string) string {
	return "It does not double.\n\n--- a/m.go\n+++ b/m.go\n@@ -1,5 +1,5 @@\n package m\n \n func Double(n int) int {\n-\treturn 2 * n\n+\treturn " + by + "\n }\n"
}

func TestABugIsCaughtOrSurvives(t *testing.T) {
	for sentence, c := range map[string]struct{ patch, test, other, says, fails string }{
		"by the test that fails": {
			patch: patched("3 * n"), test: module["m_test.go"], says: "bug                          caught by TestDouble in example.com/m",
		},
		"where no test looks": {
			patch: patched("n + 3"), test: module["m_test.go"], says: "0 of 1 bugs caught", fails: "bug survives: no test fails although: It does not double.",
		},
		"not by the compiler": {
			patch: patched("x"), test: module["m_test.go"], says: "0 of 1 bugs caught", fails: "it does not compile: ",
		},
		"not by a test that fails anyway": {
			patch: patched("3 * n"), test: strings.Replace(module["m_test.go"], "!= 6", "!= 7", 1),
			says: "bug                          left out: TestDouble in example.com/m fails without it as well\n0 of 1", fails: "bug survives",
		},
		"not by a test that fails now and then": {
			patch: patched("3 * n"), test: flaky, fails: "bug survives",
			says: "bug                          left out: TestDouble in example.com/m failed, and passes when it runs again\n0 of 1",
		},
		"by another test than the one that fails now and then": {
			patch: patched("3 * n"), test: flaky + strings.ReplaceAll(strings.TrimPrefix(module["m_test.go"], "package m\n\nimport \"testing\"\n"), "TestDouble", "TestThree"),
			says: "bug                          caught by TestThree in example.com/m",
		},
		"by a test of the same name in another package": {
			patch: patched("3 * n"), test: flaky, other: strings.NewReplacer("package m", "package other", "import \"testing\"", "import (\n\t\"testing\"\n\n\t. \"example.com/m\"\n)").Replace(module["m_test.go"]),
			says: "bug                          caught by TestDouble in example.com/m/other",
		},
		"not by a patch of other code": {
			patch: strings.Replace(patched("3 * n"), "-\treturn 2 * n", "-\treturn n + n", 1), test: module["m_test.go"],
			says: "0 of 1 bugs caught", fails: "the patch does not apply any more: change it with the code that it mutates",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			root, patches := t.TempDir(), t.TempDir()
			for name, content := range module {
				g.Expect(os.WriteFile(filepath.Join(root, name), []byte(content), 0o600)).To(Succeed())
			}
			g.Expect(os.WriteFile(filepath.Join(root, "m_test.go"), []byte(c.test), 0o600)).To(Succeed())
			g.Expect(os.WriteFile(filepath.Join(patches, "bug.patch"), []byte(c.patch), 0o600)).To(Succeed())
			if c.other != "" {
				g.Expect(os.Mkdir(filepath.Join(root, "other"), 0o700)).To(Succeed())
				g.Expect(os.WriteFile(filepath.Join(root, "other/other_test.go"), []byte(c.other), 0o600)).To(Succeed())
			}
			mutants, err := load(patches, []string{"bug"})
			g.Expect(err).NotTo(HaveOccurred())
			var said strings.Builder
			err = hunt(t.Context(), &said, root, [][]string{{"./..."}}, mutants)
			g.Expect(said.String()).To(ContainSubstring(c.says))
			if c.fails == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(said.String()).To(HaveSuffix("1 of 1 bugs caught\n"))
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(c.fails)))
			}
		})
	}
}
