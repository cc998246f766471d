package workflows

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// workflow is what these tests look at in a workflow, and in an action of the repository.
type workflow struct {
	Permissions *map[string]string `json:"permissions"`
	Concurrency *struct{}          `json:"concurrency"`
	On          map[string]any     `json:"true"` // YAML 1.1 reads on as true.
	Jobs        map[string]job     `json:"jobs"`
	Runs        struct {
		Steps []step `json:"steps"`
	} `json:"runs"`
}

type job struct {
	RunsOn         string             `json:"runs-on"`
	Permissions    *map[string]string `json:"permissions"`
	TimeoutMinutes int                `json:"timeout-minutes"`
	Strategy       struct {
		Matrix struct {
			Include []map[string]string `json:"include"`
		} `json:"matrix"`
	} `json:"strategy"`
	Steps []step `json:"steps"`
}

type step struct {
	Uses string         `json:"uses"`
	Run  string         `json:"run"`
	With map[string]any `json:"with"`
}

// automation are the workflows and actions, by path.
func automation(g Gomega) map[string]workflow {
	parsed := map[string]workflow{}
	for _, pattern := range []string{".github/workflows/*", ".github/actions/*/action.y*ml"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		g.Expect(err).NotTo(HaveOccurred())
		for _, path := range paths {
			path, err = filepath.Rel(root, path)
			g.Expect(err).NotTo(HaveOccurred())
			var w workflow
			g.Expect(yaml.Unmarshal([]byte(read(g, path)), &w)).To(Succeed(), path)
			parsed[path] = w
		}
	}
	g.Expect(len(parsed)).To(BeNumerically(">", 4))
	return parsed
}

func isAction(path string) bool { return strings.HasPrefix(path, ".github/actions/") }

// steps are all steps of a workflow or an action.
func (w workflow) steps() []step {
	all := w.Runs.Steps
	for _, job := range w.Jobs {
		all = append(all, job.Steps...)
	}
	return all
}

func TestEveryActionIsPinnedByTheDigestOfItsCommit(t *testing.T) {
	g := NewWithT(t)
	// The version stands in a comment, which the parser does not see.
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?uses: *(.*)$`)
	pinned := regexp.MustCompile(`^([\w.-]+/[\w.-]+)(?:/[\w./-]+)?@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$`)
	pins, found := map[string]string{}, 0
	for path, w := range automation(g) {
		lines := uses.FindAllStringSubmatch(read(g, path), -1)
		count := 0
		for _, step := range w.steps() {
			if step.Uses != "" {
				count++
			}
		}
		g.Expect(lines).To(HaveLen(count), "%s writes some uses: in a form that this test does not see", path)
		for _, line := range lines {
			found++
			if local, isLocal := strings.CutPrefix(line[1], "./"); isLocal {
				g.Expect(filepath.Join(root, local, "action.yaml")).To(BeAnExistingFile(), path)
				continue
			}
			parts := pinned.FindStringSubmatch(line[1])
			g.Expect(parts).To(HaveLen(4), "%s: %q is not OWNER/NAME@DIGEST # vX.Y.Z", path, line[1])
			pin := parts[2] + " " + parts[3]
			if earlier, isThere := pins[parts[1]]; isThere {
				g.Expect(pin).To(Equal(earlier), "%s takes another version of %s than others do", path, parts[1])
			}
			pins[parts[1]] = pin
		}
	}
	g.Expect(found).To(BeNumerically(">", 15))
}

// writers are the jobs that may write anything at all, and what.
var writers = map[string]map[string]string{
	".github/workflows/codeql.yaml analyze":  {"contents": "read", "security-events": "write"},
	".github/workflows/openssf.yaml analyze": {"contents": "read", "security-events": "write", "id-token": "write"},
	".github/workflows/release.yaml publish": {"contents": "write", "id-token": "write", "attestations": "write"},
}

func TestEveryJobHasTheLeastItNeeds(t *testing.T) {
	g := NewWithT(t)
	var seen []string
	for path, w := range automation(g) {
		if isAction(path) {
			continue
		}
		g.Expect(read(g, path)).To(MatchRegexp(`(?m)^permissions: \{\}$`), "%s: `permissions: {}` at the top", path)
		g.Expect(w.Concurrency).NotTo(BeNil(), "%s has no concurrency", path)
		g.Expect(w.On).NotTo(BeEmpty(), path)
		g.Expect(w.On).NotTo(Or(HaveKey("pull_request_target"), HaveKey("workflow_run")),
			"%s would run what strangers write with the rights of the repository", path)
		for name, job := range w.Jobs {
			seen = append(seen, path+" "+name)
			expected, isWriter := writers[path+" "+name]
			if !isWriter {
				expected = map[string]string{"contents": "read"}
			}
			g.Expect(job.Permissions).To(HaveValue(Equal(expected)), "permissions of job %s in %s", name, path)
			g.Expect(job.TimeoutMinutes).To(BeNumerically(">", 0), "job %s in %s has no timeout-minutes", name, path)
			g.Expect(job.RunsOn).To(MatchRegexp(`^ubuntu-\d+\.\d+$`), "job %s in %s", name, path)
		}
	}
	g.Expect(len(seen)).To(BeNumerically(">", 5))
	g.Expect(seen).To(ContainElements(slices.Collect(maps.Keys(writers))), "writers has a job that does not exist")
}

func TestNoCheckoutKeepsItsToken(t *testing.T) {
	g := NewWithT(t)
	checkouts := 0
	for path, w := range automation(g) {
		for _, step := range w.steps() {
			if strings.HasPrefix(step.Uses, "actions/checkout@") {
				checkouts++
				g.Expect(step.With).To(HaveKeyWithValue("persist-credentials", false), path)
			}
		}
	}
	g.Expect(checkouts).To(BeNumerically(">", 3))
}

func TestNoScriptContainsWhatStrangersWrite(t *testing.T) {
	g := NewWithT(t)
	expression := regexp.MustCompile(`\$\{\{\s*(\w+)`)
	for path, w := range automation(g) {
		for _, step := range w.steps() {
			for _, match := range expression.FindAllStringSubmatch(step.Run, -1) {
				g.Expect(match[1]).To(Equal("matrix"), "%s: %q; give it by env", path, step.Run)
			}
		}
	}
}

func TestAReleaseTakesNothingFromACache(t *testing.T) {
	g := NewWithT(t)
	for _, job := range automation(g)[".github/workflows/release.yaml"].Jobs {
		for _, step := range job.Steps {
			g.Expect(step.Uses).NotTo(HavePrefix("actions/cache"))
			g.Expect(step.With).NotTo(HaveKey("cache"))
		}
	}
}

// scripts are what the steps of a workflow run, and of each job in its matrix.
func (w workflow) scripts() []string {
	var scripts []string
	for _, step := range w.Runs.Steps {
		scripts = append(scripts, step.Run)
	}
	for _, job := range w.Jobs {
		for _, step := range job.Steps {
			variants := job.Strategy.Matrix.Include
			if len(variants) == 0 {
				variants = []map[string]string{nil}
			}
			for _, variant := range variants {
				script := step.Run
				for name, value := range variant {
					script = strings.ReplaceAll(script, "${{ matrix."+name+" }}", value)
				}
				scripts = append(scripts, script)
			}
		}
	}
	return scripts
}

var (
	target = regexp.MustCompile(`(?m)^([a-z0-9-]+):.*## `)
	// A command of the repository with its arguments, to the end of the line.
	command = regexp.MustCompile(`(?:^|[\s;&|(])(make|\.ci/run|hack/[\w./-]+|test/[\w./-]+)((?: +[^\s;&|]+)*)`)
)

// run are the arguments of each call of a program (make, .ci/run) in the automation at a path.
func (w workflow) run(program string) (arguments [][]string) {
	for _, script := range w.scripts() {
		for _, match := range command.FindAllStringSubmatch(script, -1) {
			if match[1] == program {
				arguments = append(arguments, strings.Fields(match[2]))
			}
		}
	}
	return arguments
}

func TestWorkflowsRunCommandsThatExist(t *testing.T) {
	g := NewWithT(t)
	phases := append(names(phase, read(g, ".ci/run")), "prepare")
	targets := names(target, read(g, "Makefile")+read(g, "hack/project.mk"))
	g.Expect(len(phases)).To(BeNumerically(">", 8))
	g.Expect(len(targets)).To(BeNumerically(">", 20))
	calls := 0
	for path, w := range automation(g) {
		for _, arguments := range w.run(".ci/run") {
			calls++
			g.Expect(phases).To(ContainElements(arguments), "%s: .ci/run has no such phase", path)
		}
		for _, arguments := range w.run("make") {
			calls++
			isVariable := func(word string) bool { return strings.Contains(word, "=") }
			g.Expect(targets).To(ContainElements(slices.DeleteFunc(arguments, isVariable)), "%s: make has no such target", path)
		}
		for _, script := range w.scripts() {
			for _, match := range command.FindAllStringSubmatch(script, -1) {
				if match[1] != "make" {
					g.Expect(filepath.Join(root, match[1])).To(BeAnExistingFile(), path)
				}
			}
		}
	}
	g.Expect(calls).To(BeNumerically(">", 8))
}

func TestCIRunsEveryPhaseOnce(t *testing.T) {
	g := NewWithT(t)
	ci := automation(g)[".github/workflows/ci.yaml"]
	g.Expect(slices.Concat(ci.run(".ci/run")...)).To(ConsistOf(names(phase, read(g, ".ci/run"))))
}

func TestTheNightRunsWhatTakesTooLongForAChange(t *testing.T) {
	g := NewWithT(t)
	nightly := automation(g)[".github/workflows/nightly.yaml"]
	var run []string
	for _, arguments := range nightly.run("make") {
		run = append(run, arguments[0])
	}
	long := []string{"fuzz", "consumers", "test-kind", "faults", "generated-objects", "mutants", "release-test", "test-repeated"}
	for _, name := range names(target, read(g, "Makefile")) {
		if strings.HasPrefix(name, "bench-") || name == "soak" {
			long = append(long, name)
		}
	}
	g.Expect(len(long)).To(BeNumerically(">", 3))
	g.Expect(run).To(ContainElements(long))
	g.Expect(nightly.run("make")).To(ContainElement([]string{"test", "workloads", "RACE=1"}))
	g.Expect(nightly.run(".ci/run")).To(ContainElement(BeEmpty()), "all phases, on a machine that has built nothing before")
}

// versionsBeside are those that hack/devcluster has beside the newest, which has no version in its name.
func versionsBeside(g Gomega) []string {
	modules, err := filepath.Glob(filepath.Join(root, "hack/devcluster/components/kubernetes-*"))
	g.Expect(err).NotTo(HaveOccurred())
	var versions []string
	for _, module := range modules {
		_, version, _ := strings.Cut(filepath.Base(module), "-")
		versions = append(versions, version)
	}
	return versions
}

func TestTheNightTestsEveryVersionOfKubernetes(t *testing.T) {
	g := NewWithT(t)
	var tested []string
	for _, arguments := range automation(g)[".github/workflows/nightly.yaml"].run("make") {
		if version, isGiven := strings.CutPrefix(arguments[len(arguments)-1], "KUBERNETES="); isGiven {
			g.Expect(arguments[0]).To(Equal("versions"))
			tested = append(tested, version)
		}
	}
	versions := versionsBeside(g)
	g.Expect(tested).To(ConsistOf(append([]string{""}, versions...)), "the newest has no version in its name")
	for i, definition := range []string{
		"config/manifests/bases/critical-service-operator.clusterserviceversion.yaml",
		"workloads/config/manifests/bases/critical-service-workloads.clusterserviceversion.yaml",
	} {
		g.Expect(read(g, definition)).To(ContainSubstring("\n  minKubeVersion: "+versions[i]+".0\n"), "the oldest version that is promised is tested")
	}
	g.Expect(read(g, "hack/versions.sh")).To(ContainSubstring("!= "+versions[0]+" ]] || targets=(test e2e consumers)"), "the second operator is not tested on what is older")
}

func TestEveryMachineHasTheGoOfTheModule(t *testing.T) {
	g := NewWithT(t)
	minor := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(g, "go.mod"))[1]
	g.Expect(read(g, ".github/actions/setup/action.yaml")).To(ContainSubstring("go-version: " + minor + ".x\n"))
	g.Expect(read(g, ".devcontainer/devcontainer.json")).To(ContainSubstring(`"docker.io/library/golang:` + minor + `-`))
}

func TestNoTokenIsInAWorkflowButInARelease(t *testing.T) {
	g := NewWithT(t)
	for path := range automation(g) {
		if path != ".github/workflows/release.yaml" {
			g.Expect(read(g, path)).NotTo(ContainSubstring("secrets."), path)
		}
	}
	document := read(g, "docs/maintainers/release.md")
	secrets := regexp.MustCompile(`(?:secrets|vars)\.(\w+)`).FindAllStringSubmatch(read(g, ".github/workflows/release.yaml"), -1)
	g.Expect(secrets).NotTo(BeEmpty())
	for _, secret := range secrets {
		g.Expect(document).To(ContainSubstring("`"+secret[1]+"`"), "docs/maintainers/release.md does not explain %s", secret[1])
	}
}
