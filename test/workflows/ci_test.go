package workflows

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const root = "../.."

func read(g Gomega, path string) string {
	data, err := os.ReadFile(filepath.Join(root, path))
	g.Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// phase is where .ci/run names one of its phases.
var phase = regexp.MustCompile(`(?m)^ {2}(?:tests|check) ([a-z0-9-]+) \d+ `)

func names(pattern *regexp.Regexp, text string) []string {
	var found []string
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

// needed are the programs that prepare looks for, but make, which the phases run here too.
func needed(g Gomega) []string {
	list := regexp.MustCompile(`(?m)^ +local -A package=\((.*)\)$`).FindStringSubmatch(read(g, ".ci/run"))
	g.Expect(list).To(HaveLen(2), "the list of packages in .ci/run")
	programs := names(regexp.MustCompile(`\[([\w-]+)\]=`), list[1])
	g.Expect(programs).To(ContainElements("make", "psql", "shellcheck", "chromium"))
	return slices.DeleteFunc(programs, func(program string) bool { return program == "make" })
}

// runCI runs .ci/run where each phase only says its name, and is what it printed and whether it succeeded.
func runCI(t *testing.T, files map[string]string, arguments ...string) (output string, isGreen bool) {
	t.Helper()
	return runCIWithin(t, "5100", files, arguments...)
}

func runCIWithin(t *testing.T, limit string, files map[string]string, arguments ...string) (output string, isGreen bool) {
	t.Helper()
	g := NewWithT(t)
	folder := t.TempDir()
	tree := map[string]string{
		".ci/run":               read(g, ".ci/run"),
		"Makefile":              "%: always\n\t@echo ran $@\nMakefile always: ;\n",
		"hack/vuln.sh":          "#!/bin/sh\necho ran vuln\n",
		"hack/prometheus.sh":    "#!/bin/sh\n",
		"test/mongodb/build.sh": "#!/bin/sh\n",
	}
	// Nothing is installed by this test: all that prepare looks for is there, and apt-get, which it would call, is ours.
	tree["path/apt-get"] = "#!/bin/sh\necho ran apt-get $*\n"
	for _, program := range needed(g) {
		tree["path/"+program] = "#!/bin/sh\n"
	}
	maps.Copy(tree, files)
	for name, content := range tree {
		path := filepath.Join(folder, name)
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(path, []byte(content), 0o755)).To(Succeed())
	}
	command := exec.CommandContext(t.Context(), ".ci/run", arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), "PATH="+filepath.Join(folder, "path")+":"+os.Getenv("PATH"), "CI_LIMIT="+limit)
	printed, err := command.CombinedOutput()
	return string(printed), err == nil
}

// ran are the phases that ran.
func ran(output string) (phases []string) {
	for line := range strings.Lines(output) {
		if name, isPhase := strings.CutPrefix(strings.TrimSpace(line), "ran "); isPhase {
			phases = append(phases, name)
		}
	}
	return phases
}

func TestOnlyThePhasesThatAreAskedForRun(t *testing.T) {
	g := NewWithT(t)
	output, isGreen := runCI(t, nil, "vuln", "lint")
	g.Expect(ran(output)).To(Equal([]string{"lint", "vuln"}), output)
	g.Expect(output).To(HaveSuffix("2 passed, 0 failed, 0 skipped\n"))
	g.Expect(isGreen).To(BeTrue())
}

func TestWithoutAQuestionAllPhasesRun(t *testing.T) {
	g := NewWithT(t)
	output, isGreen := runCI(t, nil)
	g.Expect(ran(output)).To(ConsistOf(names(phase, read(g, ".ci/run"))), output)
	// Those that count tests, and found no report.
	g.Expect(isGreen).To(BeFalse())
}

// What stands for timeout says for how long, and that the time is over.
func TestAPhaseThatHangsIsEndedWithTheTimeOfAll(t *testing.T) {
	g := NewWithT(t)
	const over = "#!/bin/sh\necho \"ran within $2 $4\"\nexit 124\n"
	output, isGreen := runCI(t, map[string]string{"path/timeout": over}, "lint")
	g.Expect(ran(output)).To(ConsistOf(MatchRegexp(`^within (5100|509\d)$`), MatchRegexp(`^within (5100|509\d) lint$`)), "what prepares it, and the phase: %s", output)
	g.Expect(output).To(ContainSubstring("ended: lint, as the 5100 s of all phases were over\nfailed: lint\n0 passed, 1 failed, 0 skipped\n"))
	g.Expect(isGreen).To(BeFalse())
}

func TestWhatDoesNotFitIsSkippedAloudAndFailsIfItWasAskedFor(t *testing.T) {
	g := NewWithT(t)
	output, isGreen := runCIWithin(t, "1", nil)
	g.Expect(ran(output)).To(BeEmpty(), output)
	g.Expect(output).To(ContainSubstring("\nskipped: lint, which would not end within 1 s; to run it: make lint\n"))
	g.Expect(isGreen).To(BeTrue())
	output, isGreen = runCIWithin(t, "1", nil, "lint")
	g.Expect(output).To(ContainSubstring("\nfailed: lint was asked for, and would not end within 1 s; to run it alone: make lint\n"))
	g.Expect(isGreen).To(BeFalse())
}

func TestAMachineCanBePreparedWithoutAPhase(t *testing.T) {
	g := NewWithT(t)
	output, isGreen := runCI(t, nil, "prepare")
	g.Expect(ran(output)).To(BeEmpty(), output)
	g.Expect(output).To(HaveSuffix("0 passed, 0 failed, 0 skipped\n"))
	g.Expect(isGreen).To(BeTrue())
}

func TestAPhaseThatDoesNotExistFails(t *testing.T) {
	g := NewWithT(t)
	output, isGreen := runCI(t, nil, "lint", "lnit")
	g.Expect(output).To(ContainSubstring("failed: there is no phase lnit, only: prepare test workloads lint verify"))
	g.Expect(output).To(HaveSuffix("1 passed, 1 failed, 0 skipped\n"))
	g.Expect(isGreen).To(BeFalse())
}

func TestAClusterThatWasThereOutlivesSomePhases(t *testing.T) {
	g := NewWithT(t)
	const running = "#!/bin/sh\n[ $1 = status ] || echo ran devcluster $1\n"
	const stopped = "#!/bin/sh\n[ $1 = status ] && exit 1\necho ran devcluster $1\n"
	output, _ := runCI(t, map[string]string{"bin/devcluster": running}, "lint")
	g.Expect(ran(output)).To(Equal([]string{"lint"}))
	output, _ = runCI(t, map[string]string{"bin/devcluster": stopped}, "lint")
	g.Expect(ran(output)).To(Equal([]string{"lint", "devcluster down"}))
	output, _ = runCI(t, map[string]string{"bin/devcluster": running})
	g.Expect(ran(output)).To(ContainElement("devcluster down"))
}

// junit is the Makefile of a phase `workloads` that writes these reports and ends with a status.
func junit(status string, reports map[string]string) map[string]string {
	files := map[string]string{}
	recipe := "%: always\n\t@mkdir -p bin/reports && cp junit/* bin/reports/ && exit " + status + "\nMakefile always: ;\n"
	for name, cases := range reports {
		files["junit/"+name] = "<testsuites>\n<testsuite name=\"p\">\n" + cases + "</testsuite>\n</testsuites>\n"
	}
	files["Makefile"] = recipe
	return files
}

const (
	passes = `<testcase classname="p" name="TestA"></testcase>` + "\n"
	fails  = `<testcase classname="p" name="TestA">` + "\n" +
		`<failure message="Failed" type="">=== RUN TestA&#xA;    a_test.go:7: &#xA;        Expected &lt;int&gt;: 1&#xA;</failure></testcase>` + "\n"
	why = "\n---- p TestA (whole in bin/reports/workloads.xml)\n    a_test.go:7: \n        Expected <int>: 1\n" +
		"---- in a line each:\np TestA: a_test.go:7: Expected <int>: 1\n"
)

// What is lost from a long log is at its end.
func TestAFailureSaysWhyAtTheEnd(t *testing.T) {
	for sentence, c := range map[string]struct {
		status  string
		reports map[string]string
		ends    string
	}{
		"one that fails": {
			"1", map[string]string{"workloads.xml": fails}, why + "failed: p TestA\n0 passed, 1 failed, 0 skipped\n",
		},
		"one that passes when it runs again": {
			"0", map[string]string{"workloads.xml": fails, "workloads.retry.xml": passes},
			why + "flaky: p TestA failed, and passed when it ran again: to be fixed\n1 passed, 0 failed, 0 skipped\n",
		},
		"a package that does not compile": {
			"1", map[string]string{"workloads.xml": passes + `<testcase classname="" name="TestMain">` + "\n<failure message=\"Failed\" type=\"\">FAIL p [build failed]</failure></testcase>\n"},
			"\n---- p TestMain (whole in bin/reports/workloads.xml)\nFAIL p [build failed]\n---- in a line each:\np TestMain: FAIL p [build failed]\nfailed: p TestMain\n1 passed, 1 failed, 0 skipped\n",
		},
		"none": {"0", map[string]string{"workloads.xml": passes}, " s\n1 passed, 0 failed, 0 skipped\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			files := junit(c.status, c.reports)
			for _, name := range []string{"go.mod", "hack/reports/main.go", "hack/reports/junit.go", "hack/reports/excerpt.go", "hack/reports/retries.go", "hack/reports/matrix.go"} {
				files[name] = read(g, name)
			}
			output, isGreen := runCI(t, files, "workloads")
			g.Expect(output).To(HaveSuffix(c.ends))
			g.Expect(isGreen).To(Equal(c.status == "0"))
		})
	}
}
